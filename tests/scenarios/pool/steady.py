"""A training loop under the pool: what it asks of the driver, step by step.

    steady.py LOG      LOG is the lab's own log of driver calls, for a second opinion

First batches of changing length, then of one: the transition and the steady state.
"""

import json
import random
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "workloads"), str(HERE.parent / "torch")]
import statistics_of_pool  # noqa: E402
from models import report  # noqa: E402
from training import full_precision_step, language_model  # noqa: E402

CHANGING, SETTLING, STEADY = 8, 3, 20
COUNTED = ("creates", "releases", "maps", "unmaps", "access", "reserves", "events", "waits")
# In the log, and no call that takes, gives or moves memory.
QUIET = "synchronize"


def logged(path: str) -> int:
    """Calls in the lab's log that take, give or move memory."""
    with open(path, encoding="utf-8") as lines:
        actions = [json.loads(line)["event"]["action"] for line in lines]
    return sum(QUIET not in action for action in actions)  # an action is a name, or a name's fields


def main(log: str) -> None:
    random.seed(7)
    model, optimizer = language_model()
    for _ in range(CHANGING):
        full_precision_step(model, optimizer, 8, random.randint(64, 480))
    for _ in range(SETTLING):
        full_precision_step(model, optimizer, 8, 256)
    torch.cuda.synchronize()
    before, calls = statistics_of_pool.read(), logged(log)
    for _ in range(STEADY):
        full_precision_step(model, optimizer, 8, 256)
    torch.cuda.synchronize()
    after = statistics_of_pool.read()
    report(
        {
            "steps": STEADY,
            "allocations": after["allocations"] - before["allocations"],
            "steady_calls": after["driver_calls"] - before["driver_calls"],
            "steady_calls_logged": logged(log) - calls,
            "transition_steps": CHANGING + SETTLING,
            "transition_allocations": before["allocations"],
            "transition_calls": before["driver_calls"],
            "transition_calls_logged": calls,
            "transition": {name: before[name] for name in COUNTED},
        }
    )


if __name__ == "__main__":
    main(sys.argv[1])
