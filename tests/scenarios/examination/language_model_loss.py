"""One step of a language model with a vocabulary of 128,256 words: small layers, and a head whose
scores for every place of every sequence are made at once, in 32 bits for the loss.
True: everything that is live is needed as the program is written; the scores are most of it."""

import argparse
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

WORDS, WIDTH = 128_256, 1024


def report(_device, asked, _total, free):
    print(json.dumps({"bytes": asked - free}), flush=True)


def loss_of(hidden, head, targets, chunk):
    total = 0.0
    for part, wanted in zip(hidden.split(chunk), targets.split(chunk)):
        scores = F.linear(part, head)
        loss = F.cross_entropy(scores.float(), wanted, reduction="sum")
        (loss / len(targets)).backward(retain_graph=len(targets) > chunk)
        total += loss.item()
        del scores, loss
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--chunk", type=int, default=1 << 20, help="places scored at once")
    args = parser.parse_args()
    torch._C._cuda_attach_out_of_memory_observer(report)
    words = nn.Embedding(WORDS, WIDTH, dtype=torch.bfloat16).cuda()
    body = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, dtype=torch.bfloat16) for _ in range(4))).cuda()
    optimizer = torch.optim.SGD([*words.parameters(), *body.parameters()], lr=1e-3)
    for _ in range(2):
        tokens = torch.randint(WORDS, (args.batch * args.length,)).cuda()
        loss_of(body(words(tokens)), words.weight, tokens, args.chunk)
        optimizer.step()
        optimizer.zero_grad()
    print("two steps done,", torch.cuda.max_memory_allocated() >> 20, "MiB at the peak")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
