"""A recommender with one large table of embeddings, as large as the GPU allows, and a small
network on top. True: cuBLAS finds no room for its handle; the table has taken it all."""

import torch
from torch import nn

WIDTH = 128
LEFT = 6 << 20  # bytes, for the rest


def main():
    torch.cuda.init()
    free, _ = torch.cuda.mem_get_info()
    rows = (free - LEFT) // (4 * WIDTH)
    table = torch.empty(rows, WIDTH, device="cuda")
    tower = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
    print("rows:", len(table), "free:", torch.cuda.mem_get_info()[0], flush=True)
    with torch.no_grad():
        users = table[:256]
        scores = tower(users)
    print("scored", tuple(scores.shape))


if __name__ == "__main__":
    main()
