"""Loads a model layer by layer; the feed-forward weights are brought into a new layout, those of
the attention stay as they come. True: the latter sit in the holes that raw feed-forward weights
left, and pin them; and the setting that would help is overridden by the older variable, which is
set too."""

import torch

FEED_FORWARD, ATTENTION = (5 * 8192, 4096), (3 * 8192, 4096)


def load(shape):
    return torch.empty(shape, dtype=torch.uint8, device="cuda")


def feed_forward():
    return load(FEED_FORWARD).transpose(0, 1).contiguous()


def main():
    layers = []
    for number in range(9):
        layers.append((feed_forward(), load(ATTENTION)))
        print("layer", number, torch.cuda.memory_reserved() >> 20, "MiB reserved", flush=True)


if __name__ == "__main__":
    main()
