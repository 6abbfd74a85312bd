"""The driver API, called by a client that is not ours: cuda-bindings from PyPI.

What is expected here comes from NVIDIA's reference of the driver API (the same text is in the
docstrings of cuda-bindings). Where that leaves a result open, a comment says so and nothing, or
only what all readings share, is asserted. Prints one JSON line; exits with 1 when a check failed.

    driver_api.py [FAMILY ...]
"""

import json
import sys

from driver_suite import (
    contexts, devices, execution, graphs, host_memory, ipc, memory, pools, virtual_memory,
)
from driver_suite.checks import Checks

# Devices come first: they include what holds before anything has been initialized.
FAMILIES = [
    devices, contexts, memory, pools, virtual_memory, host_memory, execution, graphs, ipc,
]


def main(wanted: list[str]) -> int:
    checks = Checks()
    for module in FAMILIES:
        name = module.__name__.rpartition(".")[2]
        # The first family initializes the driver, so it always runs.
        if module is devices or not wanted or name in wanted:
            checks.family(name, module.FAMILY)
    print(json.dumps({"suite": "driver_api", **checks.summary()}))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
