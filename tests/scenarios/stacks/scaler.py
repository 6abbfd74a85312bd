"""Trains in float16 with a gradient scaler, which reads back whether gradients are finite, from memory that held other
values before: how often did the optimizer step?"""

import json

import torch

model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
for _ in range(4):
    before = [torch.tensor(1.0).cuda() for _ in range(512)]
    del before
    with torch.autocast("cuda", torch.float16):
        loss = model(torch.zeros(16, 256, device="cuda")).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
states = optimizer.state.values()
print(json.dumps({"steps": sorted(int(state["step"]) for state in states)}))
