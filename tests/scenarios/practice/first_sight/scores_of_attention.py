import torch
from torch import nn


class SelfAttn(nn.Module):
    def __init__(self, ch, heads):
        super().__init__()
        self.h = heads
        self.norm = nn.GroupNorm(8, ch)
        self.qkv = nn.Conv2d(ch, 3 * ch, 1)
        self.proj = nn.Conv2d(ch, ch, 1)

    def forward(self, x):
        b, c, hh, ww = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, 3, self.h, c // self.h, hh * ww).unbind(1)
        w = torch.einsum("bhcq,bhck->bhqk", q, k) * (c // self.h) ** -0.5
        w = w.softmax(dim=-1)
        o = torch.einsum("bhqk,bhck->bhcq", w, v).reshape(b, c, hh, ww)
        return x + self.proj(o)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Conv2d(4, 128, 3, padding=1)
        self.attn = SelfAttn(128, 8)
        self.out = nn.Conv2d(128, 4, 3, padding=1)

    def forward(self, x):
        return self.out(self.attn(self.inp(x)))


@torch.inference_mode()
def sample(net, n, size, steps=20):
    x = torch.randn(n, 4, size, size, device="cuda")
    for i in range(steps):
        cond, uncond = net(torch.cat([x, x])).chunk(2)      # classifier-free guidance
        x = x - 0.05 * (uncond + 7.5 * (cond - uncond))
    return x


net = UNet().cuda().eval()
for size in (32, 48, 56, 64, 72):
    img = sample(net, 2, size)
    print("latents", tuple(img.shape), flush=True)
