"""Amounts as the command writes them."""


def size(amount: int) -> str:
    """Bytes: 1.50 GiB."""
    if amount < 1 << 10:
        return f"{amount} B"
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        # What would be rounded up to 1024.00 of a unit is 1.00 of the next.
        if amount + (1 << power) // 204_800 >= 1 << power:
            break
    return f"{amount / (1 << power):.2f} {unit}"


def duration(nanoseconds: int) -> str:
    """Time: 3.2 s."""
    seconds = nanoseconds / 1e9
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
