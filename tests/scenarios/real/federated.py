"""The program behind federated-llm: two rounds of one client, without backward.

A gradient is estimated from two forward passes, the second with every parameter
moved in a random direction. Written anew from the published trace (see opt.py).
"""

from copy import deepcopy

import torch
from torch.nn import functional as F

from opt import Model

BATCH, LENGTHS = 8, (31, 25)  # of the longest text in the batch of each round
STEP, RATE, SMOOTH = 1e-3, 1e-4, 0.95
VERBALIZER = [362, 1_099]


class Estimator:
    """Random directions, one parameter at a time, scaled by what was seen of the curvature."""

    def __init__(self, parameters):
        self.parameters = [p for p in parameters if p.requires_grad]
        self.curvature = [torch.ones(p.shape, device="cuda") for p in self.parameters]

    def generator(self):
        return torch.Generator(device="cuda").manual_seed(17)

    def direction(self, index: int, generator):
        shape, curvature = self.parameters[index].shape, self.curvature[index]
        return torch.randn(*shape, device="cuda", generator=generator).div_(torch.sqrt(curvature))

    def move(self, by: float) -> None:
        generator = self.generator()
        for index, parameter in enumerate(self.parameters):
            direction = self.direction(index, generator)
            parameter.data.add_(direction, alpha=by)
            del direction

    def slope(self, loss_of) -> torch.Tensor:
        before = loss_of()
        self.move(STEP)
        after = loss_of()
        self.move(-STEP)
        slope = (after - before) / STEP
        return torch.tensor([slope], device="cuda")

    def descend(self, slopes) -> None:
        for slope in slopes:
            self.move(-RATE * float(slope))

    def learn(self, slopes) -> None:
        for slope in slopes:
            generator = self.generator()
            for index in range(len(self.parameters)):
                direction = self.direction(index, generator)
                square = direction.square_() * (slope / len(slopes)) ** 2
                self.curvature[index] = SMOOTH * self.curvature[index] + (1 - SMOOTH) * square
                del direction


class Client:
    def __init__(self):
        self.model = Model().to("cuda")
        self.estimator = Estimator(self.model.parameters())
        self.pulled = self.screenshot()
        self.batches = batches()

    def screenshot(self) -> dict:
        return {name: deepcopy(value).cpu() for name, value in self.model.state_dict().items()}

    def pull(self, rounds: list) -> None:
        self.model.cpu()
        self.model.load_state_dict(self.pulled)
        self.model.to("cuda")
        for slopes in rounds:
            self.estimator.descend(slopes)
            self.estimator.learn(slopes)
        self.pulled = None
        self.pulled = self.screenshot()

    def update(self) -> torch.Tensor:
        batch, labels = next(self.batches)
        batch["tokens"] = batch["tokens"].to("cuda")
        batch["mask"] = batch["mask"].to("cuda")
        labels = labels.to("cuda")
        slopes = self.estimator.slope(lambda: loss(self.infer(batch), labels))
        self.estimator.descend(slopes)
        predicted = self.infer(batch)
        float(loss(predicted, labels))
        float(accuracy(predicted, labels))
        return slopes

    def infer(self, batch: dict) -> dict:
        return self.model(batch["tokens"], batch["mask"])


def batches():
    """Holds on to each batch until the next one is asked for."""
    for length in LENGTHS:
        texts = [torch.ones(BATCH, length, dtype=torch.int64) for _ in range(3)]
        batch = {"tokens": texts[0], "mask": texts[1]}, texts[2]
        del texts
        yield batch


def last_token(predicted: dict, labels):
    logits = predicted["logits"]
    last = logits[:, -1, VERBALIZER].view(-1, len(VERBALIZER))
    wanted = (labels[:, -1] == VERBALIZER[1]).to(int)
    return last, wanted


def loss(predicted: dict, labels):
    last, wanted = last_token(predicted, labels)
    result = F.cross_entropy(last, wanted)
    return result


def accuracy(predicted: dict, labels):
    last, wanted = last_token(predicted, labels)
    chosen = last.max(1, keepdim=True)[1]
    return chosen.eq(wanted.view_as(chosen)).cpu().float().mean()


def rounds(record) -> None:
    record.start()
    client = Client()
    known = []
    with torch.no_grad():
        for _ in LENGTHS:
            client.pull(known)
            of_clients = [client.update()]
            known = [sum(of_clients).div_(len(of_clients))]
            del of_clients
    record.stop()
