"""An evaluation that collects the model's outputs on the GPU to score them at the end: they should
have been moved to the host, batch by batch."""

import torch
import training

STEPS = 60


@torch.no_grad()
def main() -> None:
    model = training.model()
    collected = []
    for _ in range(STEPS):
        inputs, _ = training.batch()
        logits = model(inputs)  # what grows
        collected.append(logits)
    print("outputs collected:", len(collected))


if __name__ == "__main__":
    main()
