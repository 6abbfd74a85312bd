"""A small training, a CUDA graph and a copy to another GPU, as far as there is one."""

import torch

model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(4):
    loss = model(torch.ones(1024, 512, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
print("trained", sum(parameter.numel() for parameter in model.parameters()))

counter = torch.zeros(1024, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    counter.add_(1)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    counter.add_(1)
graph.replay()
torch.cuda.synchronize()
print("graph", counter.cpu().sum().item())

if torch.cuda.device_count() > 1:
    print("copied", counter.to("cuda:1").cpu().sum().item())
