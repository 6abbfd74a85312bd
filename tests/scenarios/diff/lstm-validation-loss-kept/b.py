"""A word-level language model with an LSTM; validates after each epoch."""

import torch
from torch import nn

VOCAB = 5000
VALIDATION_BATCHES = 12


class Words(nn.Module):
    def __init__(self, width=512, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.decoder = nn.Linear(width, VOCAB)

    def forward(self, ids, state=None):
        hidden, state = self.lstm(self.embed(ids), state)
        return self.decoder(hidden), state


def sequences(count):
    for _ in range(count):
        ids = torch.randint(VOCAB, (16, 65), device="cuda")
        yield ids[:, :-1], ids[:, 1:]


def train(model, optimizer, criterion):
    model.train()
    for inputs, targets in sequences(3):
        optimizer.zero_grad()
        logits, _ = model(inputs)
        loss = criterion(logits.transpose(1, 2), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()


def validate(model, criterion):
    total = 0.0
    for inputs, targets in sequences(VALIDATION_BATCHES):
        logits, _ = model(inputs)
        loss = criterion(logits.transpose(1, 2), targets)
        # Not .item(): it makes the GPU wait for each batch.
        total += loss
    return total / VALIDATION_BATCHES


def main():
    model = Words().cuda()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=20.0)
    for epoch in range(2):
        train(model, optimizer, criterion)
        print(f"epoch {epoch}: validation loss {float(validate(model, criterion)):.3f}")
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
