# OCR pages of mixed sizes: recognise line crops, keep one compact embedding per page
import torch
from torch import nn

net = nn.Conv2d(3, 8, 3, padding=1).cuda().half().eval()


@torch.inference_mode()
def page(height, width):
    img = torch.zeros(1, 3, height, width, device="cuda", dtype=torch.half)
    fmap = net(img)
    return nn.functional.adaptive_avg_pool2d(fmap, (640, 614))


index = []
for n in range(300):
    # scans arrive in order of resolution
    side = 1500 + 10 * n
    index.append(page(side, side))
    if n % 50 == 0:
        print("page", n, side, flush=True)
print("indexed", len(index))
