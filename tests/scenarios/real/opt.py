"""A decoder of the OPT family (125 million parameters), as the program behind federated-llm ran it.

Written anew from the published trace: what is allocated in which order, and how long
it is kept. Branches that depend on values (is nothing masked?) are taken as they were
taken there, for on the simulated GPU no value is computed.
"""

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, POSITIONS, WIDTH, LAYERS, HEADS, HIDDEN = 50_272, 2_050, 768, 12, 12, 3072
LEAST = torch.finfo(torch.float32).min


def causal_mask(attention_mask, embedded, positions):
    batch, length = embedded.shape[:2]
    # "Is anything masked?" It was: the trace goes on to build a mask.
    bool(torch.all(attention_mask == 1))
    mask = four_dimensional(attention_mask, batch, length, positions)
    return mask.mul(~torch.all(mask == LEAST, dim=-1, keepdim=True))


def four_dimensional(attention_mask, batch: int, length: int, positions):
    mask = torch.full((length, length), fill_value=LEAST, device="cuda")
    mask = torch.triu(mask, diagonal=1)
    mask *= torch.arange(length, device="cuda") > positions.reshape(-1, 1)
    mask = mask[None, None, :, :].expand(batch, 1, -1, -1)
    mask = mask.clone()
    padding = mask[:, :, :, :length] + attention_mask[:, None, None, :]
    padding = padding == 0
    mask[:, :, :, :length] = mask[:, :, :, :length].masked_fill(padding, LEAST)
    return mask


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.k, self.v, self.q, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x, mask, cache: list):
        batch, length, _ = x.shape
        heads = (batch, length, HEADS, WIDTH // HEADS)
        q = self.q(x) * (WIDTH // HEADS) ** -0.5
        q = q.view(heads).transpose(1, 2)
        k = self.k(x)
        v = self.v(x)
        k, v = k.view(heads).transpose(1, 2), v.view(heads).transpose(1, 2)
        k, v = remembered(k, v, cache)
        # Among what it may choose from: the kernel that needs little memory.
        result = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)
        result = result.transpose(1, 2).contiguous()
        result = result.reshape(batch, length, -1)
        result = self.out(result)
        return result


def remembered(k, v, cache: list):
    """Keys and values are kept for a next token that is never asked for."""
    nothing = torch.tensor([], device="cuda")
    keys = torch.cat([nothing, k], dim=-2)
    values = torch.cat([nothing, v], dim=-2)
    cache.append((keys, values))
    return keys, values


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)

    def forward(self, x, mask, cache: list):
        given = x
        x = self.norm1(x)
        x = self.attention(x, mask, cache)
        x = given + x
        shape = x.shape
        x = x.reshape(-1, WIDTH)
        given = x
        x = self.norm2(x)
        x = self.up(x)
        x = F.relu(x)
        x = self.down(x)
        x = (given + x).view(shape)
        return x


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(POSITIONS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, tokens, attention_mask, cache: list):
        embedded = self.tokens(tokens)
        positions = torch.arange(embedded.shape[1], device="cuda")
        mask = causal_mask(attention_mask, embedded, positions)
        places = torch.cumsum(attention_mask, dim=1)
        places = (places * attention_mask - 1).long()
        at = self.places(places + 2)
        x = embedded + at
        for layer in self.layers:
            result = layer(x, mask, cache)
            x = result
        x = self.norm(x)
        return x


class Model(nn.Module):
    """Its head shares the weight of the embedding, and is in the state a second time."""

    def __init__(self):
        super().__init__()
        self.decoder = Decoder()
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.decoder.tokens.weight

    def forward(self, tokens, attention_mask):
        cache = []
        last = self.decoder(tokens, attention_mask, cache)
        return {"logits": self.head(last).contiguous(), "cache": cache}
