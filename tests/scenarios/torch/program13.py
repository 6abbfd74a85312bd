"""A 10000 x 10000 float64 product on a 1 GiB device. True: two such arrays of 763 MiB
do not fit together; blocks of the host's source do."""

import torch

from models import GIB, report

ROWS = 10_000
BYTES = ROWS * ROWS * 8


def product(source: torch.Tensor) -> tuple[int, str]:
    """How many of the two arrays were on the device when it failed, and the text."""
    arrays = 0
    try:
        matrix = source.to("cuda")
        arrays = 1
        _ = matrix @ matrix
        arrays = 2
    except torch.OutOfMemoryError as error:
        return arrays, str(error)
    return arrays, ""


def largest_block(free: int) -> int:
    """Rows r such that r rows, r columns and their r x r product fit in `free`."""
    rows = ROWS
    while 8 * (2 * rows * ROWS + rows * rows) > free:
        rows -= 100
    return rows


def main() -> None:
    _, total = torch.cuda.mem_get_info()
    assert BYTES < total < 2 * BYTES, f"run on a 1 GiB device, not one of {total} bytes"
    source = torch.zeros(ROWS, ROWS, dtype=torch.float64)
    arrays, text = product(source)
    print(text)
    assert arrays == 1, f"{arrays} of the two arrays were granted, expected one"
    # 800,000,000 bytes, rounded up to the allocator's 2 MiB.
    assert "Tried to allocate 764.00 MiB" in text, f"the request is not the array: {text}"

    torch.cuda.empty_cache()
    # A sixteenth is left alone for the workspace of the product.
    rows = largest_block(torch.cuda.mem_get_info()[0] - total // 16)
    block = source[:rows].to("cuda") @ source[:, :rows].to("cuda")
    assert block.shape == (rows, rows), f"the block has shape {tuple(block.shape)}"
    report(
        {
            "cause": "working-set",
            "total": total,
            "array_bytes": BYTES,
            "arrays_on_device_at_failure": arrays,
            "block_rows_that_fit": rows,
            "peak_allocated": torch.cuda.max_memory_allocated(),
            "under_one_gib": torch.cuda.max_memory_reserved() < GIB,
        }
    )


if __name__ == "__main__":
    main()
