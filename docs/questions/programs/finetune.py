"""Fine-tunes a language model, one example at a time: finetune.py [FROZEN_LAYERS]"""

import sys

import torch
from torch import nn

WIDTH, LAYERS, VOCABULARY = 1024, 28, 32_000

layer = nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, 0, batch_first=True, device="cuda")
words = nn.Embedding(VOCABULARY, WIDTH, device="cuda")
layers = nn.TransformerEncoder(layer, LAYERS)
scores = nn.Linear(WIDTH, VOCABULARY, device="cuda")
model = nn.Sequential(words, layers, scores)

frozen = int(sys.argv[1]) if len(sys.argv) > 1 else 0
for weight in nn.ModuleList([words, *layers.layers])[: frozen + 1].parameters():
    weight.requires_grad_(frozen == 0)
trained = [weight for weight in model.parameters() if weight.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-5)
millions = sum(weight.numel() for weight in trained) / 1e6
print(f"{millions:.0f} million parameters are trained", flush=True)

for step in range(5):
    torch.cuda.empty_cache()
    tokens = torch.randint(VOCABULARY, (1, 129)).cuda()
    guess = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(guess.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("5 steps done", flush=True)
