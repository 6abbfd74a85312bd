"""What the startup file for modules tells, on the CPU and to a sink of our own: hooks.py STARTUP MODULES

Names without wrappers; forward, backward by parts of the model, what a checkpoint computes again; nothing after a
backward pass that failed, in a child, or once a hook has failed; nothing that is kept alive.
"""

import contextlib
import gc
import io
import os
import sys
import warnings
import weakref

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

# Without what waits for torch to be imported.
exec(open(sys.argv[1]).read().rsplit("sys.meta_path.insert", 1)[0])
exec(open(sys.argv[2]).read())
warnings.simplefilter("ignore")


class Sink:
    def __init__(self):
        self.names, self.log = [None], []

    def number(self, name, role):
        self.names.append((name, role))
        return len(self.names) - 1

    def enter(self, number):
        if not self.log or self.log[-1] != self.names[number]:
            self.log.append(self.names[number])

    def label(self, device, blocks):
        raise AssertionError("nothing is on a GPU")

    def taken(self):
        log, self.log = self.log, []
        return log


class Net(nn.Module):
    def __init__(self, recompute=None):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(2)])
        self.head, self.recompute = nn.Linear(4, 2), recompute

    def forward(self, x):
        for layer in self.layers:
            reentrant = self.recompute == "reentrant"
            x = checkpoint(layer, x, use_reentrant=reentrant) if self.recompute else layer(x)
        return self.head(x)


class DistributedDataParallel(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


def loss_of(model):
    return model(torch.randn(3, 4, requires_grad=True)).sum()


sink = Sink()
modules = Modules(torch, sink)
modules.install()

model = DistributedDataParallel(Net())
loss = loss_of(model)
forward = [entry for entry in sink.taken() if entry]
assert forward[0] == ("Net", FORWARD) and forward[-1] == ("Net", FORWARD), forward
assert ("Net.layers.1.0", FORWARD) in forward and ("Net.head", FORWARD) in forward, forward
loss.backward()
parts = [("Net.head", BACKWARD), ("Net.layers.1", BACKWARD), ("Net.layers.0", BACKWARD)]
assert sink.taken() == [*parts, None]

for recompute in ("plain", "reentrant"):
    model = Net(recompute)
    loss = loss_of(model)
    sink.taken()
    loss.backward()
    log = sink.taken()
    root = log[0][0].split(".")[0]
    for index in (0, 1):
        own = log.index((f"{root}.layers.{index}.0", RECOMPUTE))
        assert (f"{root}.layers.{index}", BACKWARD) in log[own:], (recompute, log)
    assert log[-1] is None and all(entry is None or entry[1] != FORWARD for entry in log), log

# A backward pass that fails in the middle leaves nothing behind.
loss = loss_of(model := Net())
model.layers[0][0].weight.register_hook(lambda _: 1 / 0)
with contextlib.suppress(ZeroDivisionError):
    loss.backward()
sink.taken()
model(torch.randn(3, 4))
assert sink.taken()[-1] is None

# What a forward raises ends its modules.
with contextlib.suppress(RuntimeError):
    model(torch.randn(3, 5))
assert sink.taken()[-1] is None and not modules.thread.modules

# Nothing is kept alive, and a name is free again once its model is gone.
gone = weakref.ref(model.layers[0])
del model, loss
gc.collect()
assert gone() is None

# A child knows nothing of its parent's numbers.
pid = os.fork()
if pid == 0:
    os._exit(0 if not modules.known and not modules.thread.modules else 1)
assert os.waitpid(pid, 0)[1] == 0

# What goes wrong ends it, in one line, and is not the program's trouble.
sink.enter = None
said = io.StringIO()
with contextlib.redirect_stderr(said):
    Net()(torch.randn(3, 4))
assert len(said.getvalue().splitlines()) == 1 and "not recorded from here on" in said.getvalue()
before = len(torch.nn.modules.module._global_forward_hooks)
assert before == 0, "hooks are left"
print("modules: names, forward, backward, recomputation, failures, forks: as they should be")
