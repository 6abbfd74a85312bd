"""Trains a small perceptron with JAX."""

import argparse
import json

import jax
import jax.numpy as jnp

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=8192)
parser.add_argument("--batch", type=int, default=4096)
parser.add_argument("--steps", type=int, default=3)
arguments = parser.parse_args()

assert jax.default_backend() == "gpu", f"JAX runs on {jax.default_backend()}"
weights = jnp.ones((4, arguments.width, arguments.width), jnp.bfloat16)
x = jnp.ones((arguments.batch, arguments.width), jnp.bfloat16)


def loss(weights, x):
    for weight in weights:
        x = jax.nn.relu(x @ weight)
    return x.mean()


step = jax.jit(jax.grad(loss))
for _ in range(arguments.steps):
    weights = weights - step(weights, x)
weights.block_until_ready()
print(json.dumps({"peak": jax.devices()[0].memory_stats()["peak_bytes_in_use"]}))
