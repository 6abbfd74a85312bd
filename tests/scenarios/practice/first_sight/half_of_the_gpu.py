import torch
from torch import nn


def setup_gpu(share=0.5):
    """Two people share this card (lab agreement of last spring)."""
    torch.cuda.set_device(0)
    torch.cuda.set_per_process_memory_fraction(share)
    torch.backends.cuda.matmul.allow_tf32 = True


def backbone():
    layers = [nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU()]
    for _ in range(5):
        layers += [nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 200))


def main(batch=60, epochs=2):
    setup_gpu()
    model = backbone().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    for epoch in range(epochs):
        for it in range(8):
            x = torch.randn(batch, 3, 224, 224, device="cuda")
            y = torch.zeros(batch, dtype=torch.long, device="cuda")
            opt.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        print("epoch", epoch, flush=True)


if __name__ == "__main__":
    main()
