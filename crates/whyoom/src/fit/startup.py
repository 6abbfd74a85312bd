"""Runs first in every Python program that `whyoom fit` starts (`crates/whyoom/src/startup.py` before it).

Lets PyTorch record its own allocations from the first one on, and ends the program once its steps
repeat: the peak is known then. A step ends where an optimizer has stepped; in a program without
optimizers, where an outermost module has been called. The program itself is not changed.

Written into the folder that WHYOOM_FIT names, for each process that used a GPU:
PID.pickle, PyTorch's snapshot, and then PID.json, what is known beside it.
"""

import json
import os
import sys

FOLDER = os.environ.get("WHYOOM_FIT")
# Ends the program after so many steps, however they are; 0 where the steps themselves decide.
STEPS = int(os.environ.get("WHYOOM_FIT_STEPS", "0"))
# Steps may come in groups: several optimizers, several micro-batches.
LONGEST_GROUP = 8
# The first steps make what later ones have: optimizer state, workspaces.
WARM_UP = 2
# Outermost modules are also called before training begins, so that more of the same is asked for.
EQUAL_CALLS = 8
# Where steps never repeat, so many without a higher peak are taken for all there is to see.
STEPS_WITHOUT_RISE = 50
# Where steps differ, memory that rises over so many in a row grows.
RISING_STEPS = 16
# A longer history is kept from its end.
MAX_EVENTS = 1_000_000


def repeating(changes, length):
    """How many of the last steps are groups of that length, all the same."""
    run = length
    while run < len(changes) and changes[-run - 1] == changes[-run - 1 + length]:
        run += 1
    return run


def others(changes, group):
    """How many steps asked for something else than any of the group: sizes that vary repeat by chance, too."""
    asked = {change[:2] for change in group}
    return sum(change[:2] not in asked for change in changes)


class Observer:
    """Watches one process from its first use of a GPU."""

    def __init__(self, torch):
        self.torch = torch
        self.pid = None
        self.depth = 0
        self.optimizer_steps = False
        self.marks = []
        self.currents = []
        self.highest = (0, 0)
        self.last_rise = 0
        self.recorded = False
        self.ended = None

    def install(self):
        from torch.nn.modules import module
        from torch.optim import optimizer

        self.torch.cuda._lazy_call(harmless(self.start))
        optimizer.register_optimizer_step_post_hook(lambda *_: self.optimizer_stepped())
        module.register_module_forward_pre_hook(lambda *_: self.enter())
        module.register_module_forward_hook(lambda *_: self.leave(), always_call=True)

    def start(self):
        import atexit

        self.pid = os.getpid()
        make_private(os.path.join(FOLDER, f"{self.pid}.started"))
        atexit.register(harmless(self.finish), "end")
        self.finish_before(os._exit)
        memory = self.torch.cuda.memory
        memory._record_memory_history(
            "all", context="alloc", stacks="python", max_entries=MAX_EVENTS
        )
        self.recorded = True
        # The program's own wishes for a history would cut this one short.
        memory._record_memory_history = lambda *_, **__: None

    def finish_before(self, leave):
        """Who leaves by os._exit passes by what is registered for the end."""

        def finish_and_leave(status):
            harmless(self.finish)("end")
            leave(status)

        os._exit = finish_and_leave

    def enter(self):
        # A compiler looks at hooks, too; they are not part of what it compiles.
        if not self.torch.compiler.is_compiling():
            self.depth += 1

    def leave(self):
        if self.torch.compiler.is_compiling():
            return
        self.depth = max(self.depth - 1, 0)
        if self.depth == 0 and not self.optimizer_steps:
            self.step(EQUAL_CALLS)

    def optimizer_stepped(self):
        if not self.optimizer_steps:
            # What was called until now was part of the first step.
            self.optimizer_steps = True
            del self.marks[:], self.currents[:]
            self.last_rise = 0
        self.step(1)

    @harmless
    def step(self, repetitions):
        # A worker that was forked for the data has the hooks and no GPU.
        if self.pid != os.getpid():
            return
        stats = [self.torch.cuda.memory_stats(device) for device in self.devices()]
        self.note(stats)
        if STEPS:
            if len(self.marks) >= STEPS and not self.awaits_optimizer():
                self.stop("steps")
        elif self.repeats(repetitions) and not self.awaits_optimizer():
            self.stop("repeated")
        elif self.settled() and not self.awaits_optimizer():
            self.stop("settled")

    def note(self, stats):
        def total(name):
            return sum(one.get(name, 0) for one in stats)

        # What was asked for, not what it cost: that depends on which cached block was at hand.
        mark = (total("allocation.all.allocated"), total("requested_bytes.all.allocated"))
        before = self.marks[-1][0] if self.marks else (0, 0)
        change = tuple(now - then for now, then in zip(mark, before))
        self.marks.append((mark, change + (total("reserved_bytes.all.current"),)))
        self.currents.append(total("allocated_bytes.all.current"))
        now = (total("allocated_bytes.all.peak"), total("reserved_bytes.all.peak"))
        # The program may set its counters back: only what is higher than ever counts.
        highest = tuple(map(max, now, self.highest))
        if highest != self.highest:
            self.highest, self.last_rise = highest, len(self.marks)

    def repeats(self, repetitions):
        """Whether the last group of steps did what the groups before it did, and not by chance."""
        changes = [change for _, change in self.marks[1:]]
        for length in range(1, LONGEST_GROUP + 1):
            needed = length * (repetitions + 1)
            last = changes[-length:]
            if len(changes) >= needed and changes[-needed:] == last * (repetitions + 1):
                run = repeating(changes, length)
                return run >= needed + LONGEST_GROUP * others(changes[WARM_UP:-run], last)
        return False

    def settled(self):
        return len(self.marks) - self.last_rise >= STEPS_WITHOUT_RISE

    def awaits_optimizer(self):
        """Whether there is an optimizer that has not stepped: gradients are being accumulated."""
        if self.optimizer_steps:
            return False
        import gc

        kind = self.torch.optim.Optimizer
        return any(issubclass(type(one), kind) for one in gc.get_objects())

    def growth(self):
        """Bytes that each of the last steps left behind."""
        # A few sizes that vary rise by chance; steps that are alike do not.
        least, most = (2, 3) if self.ended == "repeated" else (RISING_STEPS // 2, RISING_STEPS)
        last = self.currents[-most - 1 :]
        steps = [later - earlier for earlier, later in zip(last, last[1:])]
        return min(steps) if len(steps) >= least and min(steps) > 0 else 0

    def devices(self):
        return range(self.torch.cuda.device_count())

    def stop(self, why):
        self.finish(why)
        import multiprocessing

        for child in multiprocessing.active_children():
            child.terminate()
        sys.stdout.flush()
        sys.stderr.flush()
        # What the program would do at its end was not asked for, and might take long.
        os._exit(0)

    def finish(self, why):
        if self.pid != os.getpid() or self.ended:
            return
        self.ended = why
        path = os.path.join(FOLDER, str(self.pid))
        memory = self.torch.cuda.memory
        if self.recorded:
            memory._dump_snapshot(make_private(path + ".pickle"))
        devices = []
        for device in self.devices():
            peak = memory.memory_stats(device).get("reserved_bytes.all.peak", 0)
            identity = getattr(self.torch.cuda.get_device_properties(device), "uuid", None)
            devices.append(
                {"device": device, "uuid": str(identity), "peak_reserved": peak}
            )
        facts = {
            "pid": self.pid,
            "rank": os.environ.get("RANK"),
            "torch": self.torch.__version__,
            "recorded": self.recorded,
            "ended": why,
            "steps": len(self.marks),
            "steps_of": "optimizer" if self.optimizer_steps else "calls",
            "last_rise": self.last_rise,
            "growth_per_step": self.growth(),
            "devices": devices,
        }
        # Written under another name first: a file with the right name is whole.
        with open(make_private(path + ".part"), "w") as file:
            json.dump(facts, file)
        os.rename(path + ".part", path + ".json")


def install(torch):
    if FOLDER and hasattr(torch, "cuda"):
        Observer(torch).install()


run_the_other_sitecustomize()
