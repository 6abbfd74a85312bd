"""Tokens as one-hot rows of int64, whose marks are kept. True: the last batch is long, and its 16 x 1024 x 50,257 x 8
bytes are 6.1 GiB, more than the device; that 400 MiB of marks have gathered by then is the smaller trouble."""

import torch
import torch.nn.functional as F

VOCABULARY = 50_257
LENGTHS = [8] * 40 + [1024]


def main() -> None:
    seen = []
    for length in LENGTHS:
        tokens = torch.randint(VOCABULARY, (16, length)).cuda()
        rows = F.one_hot(tokens, VOCABULARY)
        seen.append(torch.zeros(10 << 20, dtype=torch.uint8, device="cuda"))
    print(rows.shape, len(seen))


if __name__ == "__main__":
    main()
