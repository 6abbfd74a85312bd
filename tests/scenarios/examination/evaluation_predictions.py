"""Evaluates a token classifier the way an early trainer did: predictions are gathered in one
tensor on the GPU until the end of the data set.
True: that tensor grows with every batch; the model is small."""

import json

import torch
from torch import nn

LABELS = 4200


class Tagger(nn.Module):
    def __init__(self, width=384):
        super().__init__()
        self.words = nn.Embedding(30_000, width)
        self.mix = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, LABELS)

    def forward(self, tokens):
        mixed, _ = self.mix(self.words(tokens))
        return self.head(mixed)


@torch.no_grad()
def predict(model, batches):
    predictions = None
    for number in range(batches):
        if predictions is not None:
            print(json.dumps({"bytes": predictions.untyped_storage().nbytes()}), flush=True)
        tokens = torch.randint(30_000, (32, 128), device="cuda")
        logits = model(tokens)
        predictions = logits if predictions is None else torch.cat((predictions, logits))
    return predictions.argmax(dim=-1)


def main():
    model = Tagger().cuda().eval()
    found = predict(model, batches=60)
    print("predicted", tuple(found.shape))


if __name__ == "__main__":
    main()
