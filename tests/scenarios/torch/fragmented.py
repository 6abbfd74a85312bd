"""A chat server dies although enough is free: fragmented.py [SNAPSHOT]

    --gpu rtx-4090 --memory 3650MiB                                     status 3, SNAPSHOT written
    PYTORCH_ALLOC_CONF=expandable_segments:True, and the same flags     status 0, its peaks

It scores what each turn of a conversation says, and keeps the keys and values of the
conversations it saw last, up to a budget in tokens. What is live is bounded; its sizes
are all different, and each conversation that grows leaves a hole. PyTorch's segments end
up with a kept conversation in each, and the scores of a long turn find no room.

A recording ends where the run fails. For the whole run's peak to be in it, the peak under
expandable segments must come before: `peak_at_turn` is less than the turn that fails.
"""

import random
import sys
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention.bias import causal_lower_right

from models import Block, report

WIDTH, HEADS, LAYERS, VOCABULARY = 1024, 16, 8, 32000
KIND = {"dtype": torch.bfloat16, "device": "cuda"}
TURNS = 80
CONVERSATIONS = 40
CONTEXT = 4096  # tokens of one conversation
BUDGET = 32 * 1024  # tokens of all that are kept
SEED = 12  # of those tried, the one with the most room between the two outcomes


class CachedBlock(Block):
    """A layer that takes the keys and values of earlier turns, and gives them back grown."""

    def forward(self, x: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        new = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        kept = torch.cat((past, new[1:]), dim=3)
        mask = causal_lower_right(new.shape[3], kept.shape[3])
        mixed = F.scaled_dot_product_attention(new[0], kept[0], kept[1], attn_mask=mask)
        x = x + self.out(mixed.transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.norm2(x)))), kept


class Chat(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(CachedBlock(WIDTH, HEADS) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        x, kept = self.tokens(tokens), []
        for block, past in zip(self.blocks, cache):
            x, layer = block(x, past)
            kept.append(layer)
        return self.head(self.norm(x)).float(), torch.stack(kept)


class Server:
    def __init__(self):
        self.model = Chat().to(**KIND)
        self.kept: OrderedDict[int, Tensor] = OrderedDict()  # the oldest first

    @torch.inference_mode()
    def turn(self, conversation: int, length: int) -> None:
        cache = self.kept.pop(conversation, None)
        if cache is None or cache.shape[4] + length > CONTEXT:
            cache = torch.empty(LAYERS, 2, 1, HEADS, 0, WIDTH // HEADS, **KIND)
        tokens = torch.randint(VOCABULARY, (1, length)).to("cuda")
        logits, cache = self.model(tokens, cache)
        F.cross_entropy(logits[0, :-1], tokens[0, 1:]).cpu()
        self.kept[conversation] = cache
        while sum(cache.shape[4] for cache in self.kept.values()) > BUDGET:
            self.kept.popitem(last=False)


def fail(turn: int, error: torch.OutOfMemoryError) -> None:
    """Called while the failed turn's tensors are alive, so that the snapshot has them."""
    if len(sys.argv) > 1:
        torch.cuda.memory._dump_snapshot(sys.argv[1])
    print(f"turn {turn}: {error}", file=sys.stderr)
    sys.exit(3)


def main() -> None:
    random.seed(SEED)
    torch.cuda.memory._record_memory_history(stacks="python", max_entries=200_000)
    server, peaks = Server(), []
    for turn in range(TURNS):
        length = min(CONTEXT, int(random.lognormvariate(6.6, 0.8)) + 16)
        try:
            server.turn(random.randrange(CONVERSATIONS), length)
        except torch.OutOfMemoryError as error:
            fail(turn, error)
        peaks.append(torch.cuda.max_memory_reserved())
    report(
        {
            "peak_reserved": peaks[-1],
            "peak_allocated": torch.cuda.max_memory_allocated(),
            "peak_at_turn": peaks.index(peaks[-1]),
            "retries": torch.cuda.memory_stats()["num_alloc_retries"],
            "free": torch.cuda.mem_get_info()[0],
        }
    )


if __name__ == "__main__":
    main()
