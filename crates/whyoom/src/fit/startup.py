"""Runs first in every Python program that `whyoom fit` starts (`crates/whyoom/src/startup.py` before it).

Lets PyTorch record its own allocations from the first one on, and ends the program once its steps
repeat: the peak is known then. A step ends where an optimizer has stepped; in a program without
optimizers, where an outermost module has been called. The program itself is not changed.

An inference server calls its model before it knows how much memory is left for its KV cache. Until it is ready, the
program is not ended because its steps repeat.

A generation by transformers tells where it will end. While it runs, the program is not ended because its steps
repeat; it is ended once enough tokens were seen to continue the run to that end.

Written into the folder that WHYOOM_FIT names, for each process that used a GPU:
PID.pickle, PyTorch's snapshot, and then PID.json, what is known beside it.
"""

import functools
import json
import os
import sys
import time

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
# So many tokens of a generation are seen before the rest is computed from them: what an attention kernel pads
# repeats after 16 tokens, and three of such groups are compared.
TOKENS_SEEN = 3 * 16 + 4
# Fewer than these are not worth computing.
TOKENS_LEFT = 128
# Whether generations are to be run to their end.
WHOLE = os.environ.get("WHYOOM_FIT_WHOLE") == "1"
# Ends the program at its first step after this time, in seconds since 1970.
UNTIL = float(os.environ.get("WHYOOM_FIT_UNTIL", "inf"))
# A model may be called so often for one token: by an assistant that proposes some.
CALLS_OF_TOKEN = 64
# No generation is longer: what stands for "no limit" may be any number.
LONGEST = 1 << 40
# Where servers make themselves ready: the module, the class, and the method that returns when they are.
SERVERS = [("vllm.v1.worker.gpu_worker", "Worker", "compile_or_warm_up_model")]
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
        self.generation = None
        # Whether a server makes itself ready.
        self.loading = False

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
        stats = self.stats()
        self.note(stats)
        if self.generation:
            self.generation.calls += 1
        if time.time() > UNTIL:
            self.stop("time-limit")
        elif self.loading:
            pass
        elif self.generation and self.generation.goes_on() and not STEPS:
            # It tells itself when enough was seen.
            pass
        elif STEPS:
            if len(self.marks) >= STEPS and not self.awaits_optimizer():
                self.stop("steps")
        elif self.repeats(repetitions) and not self.awaits_optimizer():
            self.stop("repeated")
        elif self.settled() and not self.awaits_optimizer():
            self.stop("settled")

    def loaded(self):
        """A server is ready: what it serves is what counts."""
        self.loading = False
        del self.marks[:], self.currents[:]
        self.last_rise = 0

    def stats(self):
        return [self.torch.cuda.memory_stats(device) for device in self.devices()]

    @harmless
    def token(self, length, end, sequences):
        """A generation has so many tokens of each sequence now, and ends at another number of them."""
        if self.pid != os.getpid():
            return
        end = min(end, LONGEST)
        if self.generation is None or not self.generation.is_next(length, end, sequences):
            self.generation = Generation(length, end, sequences)
        self.generation.token(length, [one.get("allocation.all.allocated", 0) for one in self.stats()])
        if STEPS or WHOLE or not self.generation.seen_enough():
            return
        # What a training generates is only a part of its step.
        if not self.optimizer_steps and not self.awaits_optimizer():
            self.stop("generation")

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
        make_private(os.path.join(FOLDER, f"{self.pid}.stopped"))
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
            "generation": self.generation and self.generation.facts(),
            "awaits_optimizer": why == "time-limit" and self.awaits_optimizer(),
            "devices": devices,
        }
        # Written under another name first: a file with the right name is whole.
        with open(make_private(path + ".part"), "w") as file:
            json.dump(facts, file)
        os.rename(path + ".part", path + ".json")


class Generation:
    """Tokens that one call of generate() made."""

    def __init__(self, length, end, sequences):
        self.first, self.end, self.sequences = length, end, sequences
        self.length = length
        # How many allocations each device had seen when a token was there.
        self.allocations = []
        # Calls of an outermost module since then.
        self.calls = 0
        self.bends = None

    def is_next(self, length, end, sequences):
        """Whether this is the next token of the same call: one may end early, and another begin."""
        return (length, end, sequences) == (self.length + 1, self.end, self.sequences)

    def token(self, length, allocations):
        self.length, self.calls = length, 0
        self.allocations.append(allocations)

    def goes_on(self):
        return self.length < self.end and self.calls <= CALLS_OF_TOKEN

    def seen_enough(self):
        enough = len(self.allocations) >= TOKENS_SEEN and self.end - self.length >= TOKENS_LEFT
        return enough and not self.bends_later()

    def bends_later(self):
        """Whether a cache grows otherwise on the way to the end, or did lately: what was seen says nothing of that."""
        if self.bends is None:
            self.bends = bends_of_caches()
        quantizes = LONGEST in self.bends
        return quantizes or any(self.length - TOKENS_SEEN <= bend < self.end for bend in self.bends)

    def facts(self):
        return {
            "prompt": self.first - 1,
            "length": self.length,
            "end": self.end,
            "sequences": self.sequences,
            "allocations": self.allocations,
        }


def bends_of_caches():
    """The lengths at which a cache of transformers grows otherwise: a window is full, or it begins to quantize."""
    import gc

    caches = sys.modules.get("transformers.cache_utils")
    kind = getattr(caches, "Cache", None)
    bends = set()
    for cache in gc.get_objects() if kind else ():
        if issubclass(type(cache), kind):
            for layer in getattr(cache, "layers", ()):
                # What is quantized in groups never grows evenly.
                quantizes = getattr(layer, "residual_length", None)
                bends.add(LONGEST if quantizes else getattr(layer, "sliding_window", None) or -1)
    return {bend for bend in bends if bend > 0}


class TransformersFinder(ModuleFinder):
    """Waits for the part of transformers that decides whether a generation has its length."""

    name = "transformers.generation.stopping_criteria"

    def __init__(self, observer):
        super().__init__()
        self.observer = observer

    def imported(self, module):
        criteria = module.MaxLengthCriteria
        call = criteria.__call__

        @functools.wraps(call)
        def called(criterion, input_ids, *arguments, **named):
            answer = call(criterion, input_ids, *arguments, **named)
            self.observer.token(input_ids.shape[1], criterion.max_length, input_ids.shape[0])
            return answer

        criteria.__call__ = called


class ServerFinder(ModuleFinder):
    """Waits for the part of a server that makes it ready."""

    def __init__(self, observer, name, owner, method):
        super().__init__()
        self.observer, self.name, self.owner, self.method = observer, name, owner, method

    def imported(self, module):
        owner = getattr(module, self.owner, None)
        makes_ready = getattr(owner, self.method, None)
        if makes_ready is None:
            return

        @functools.wraps(makes_ready)
        def ready(*arguments, **named):
            answer = makes_ready(*arguments, **named)
            self.observer.loaded()
            return answer

        setattr(owner, self.method, ready)
        self.observer.loading = True


def install(torch):
    if FOLDER and hasattr(torch, "cuda"):
        observer = Observer(torch)
        observer.install()
        if supports(torch) and hasattr(torch._C, "_cuda_setMemoryMetadata"):
            Modules(torch, HistorySink(torch)).install()
        sys.meta_path.insert(0, TransformersFinder(observer))
        for server in SERVERS:
            sys.meta_path.insert(0, ServerFinder(observer, *server))


run_the_other_sitecustomize()
