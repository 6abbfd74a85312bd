"""Sentences are sorted by length within each of six chunks: memory climbs through a chunk, and falls
at the beginning of the next."""

import os
import random
import sys

import torch
from torch import nn

random.seed(5)
VOCABULARY = 8000
embed = nn.Embedding(VOCABULARY, 256).cuda()
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 3).cuda()
head = nn.Linear(256, VOCABULARY).cuda()
parts = nn.ModuleList([embed, model, head])
optimizer = torch.optim.Adam(parts.parameters())
for chunk in range(6):
    for length in sorted(random.randrange(16, 320) for _ in range(15)):
        tokens = torch.randint(VOCABULARY, (8, length)).cuda()
        loss = nn.functional.cross_entropy(head(model(embed(tokens))).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("chunk", chunk, loss.item())
sys.stdout.flush()
os._exit(0)
