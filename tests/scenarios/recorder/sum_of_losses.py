"""A training loop that adds up the held-out loss for its report. Each of these losses keeps its
whole graph, and so the sum keeps every step's activations: `total += loss` should have been
`total += loss.item()`, or the evaluation should have been without gradients."""

import torch
import training

STEPS = 60


def main() -> None:
    model = training.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total = 0
    for _ in range(STEPS):
        inputs, targets = training.batch()
        training.loss_of(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        inputs, targets = training.batch()
        outputs = model(inputs)  # what grows
        loss = training.loss_of(outputs, targets)
        total += loss
    print("steps done:", STEPS)
    training.settle()


if __name__ == "__main__":
    main()
