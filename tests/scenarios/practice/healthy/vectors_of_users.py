"""Each user's vector is computed at the first visit and kept on the GPU. There are 400 users and many
more visits: the dictionary grows ever more slowly, and stops when everybody has been here."""

import random

import torch
from torch import nn

random.seed(2)
USERS, VISITS = 400, 4000


@torch.no_grad()
def main() -> None:
    encode = nn.Linear(1024, 65536).cuda()
    vectors: dict[int, torch.Tensor] = {}
    for _ in range(VISITS):
        user = random.randrange(USERS)
        if user not in vectors:
            vectors[user] = encode(torch.randn(1, 1024, device="cuda"))
        vectors[user].sum()
    print("users", len(vectors))


main()
