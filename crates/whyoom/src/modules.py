"""Which module of a model is at work, and what its blocks are (`crates/whyoom/src/startup.py` before this).

Hooks that PyTorch has for all modules tell when a module's forward begins and ends; those for all optimizers, when
gradients and optimizer state are there. Where backward enters and leaves a part of the model, a hook of the autograd
node there tells: a part is a member of the model's outermost lists (`layers.3`), or else a child of the model. A hook
for each module would cost several times as much. Parameters, buffers, gradients and optimizer state are told by their
addresses, after they were made. The program itself is not changed, and nothing of it is kept alive.

Who is told is a sink: `number(name, role)` gives a number to a module in a role, `enter(number)` says that it is at
work in this thread, 0 for none, `label(device, blocks)` what blocks are: size and number by address.
"""

import array
import contextlib
import operator
import os
import sys
import threading
import weakref

# What wraps a model, and the name that the model has in it.
WRAPPERS = {
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "DeepSpeedEngine": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "OptimizedModule": "_orig_mod",
    "CheckpointWrapper": "_checkpoint_wrapped_module",
}
# These wrap modules inside a model, too.
WRAPPED = {name for name in WRAPPERS.values() if name.startswith("_")}
# The roles, as recordings number them.
FORWARD, BACKWARD, RECOMPUTE, PARAMETER, BUFFER, GRADIENT, OPTIMIZER_STATE = range(1, 8)


class RecorderSink:
    """The recorder of `whyoom run`, in this process."""

    def __init__(self):
        import ctypes

        library = ctypes.CDLL(None)
        self.module = library.whyoom_recorder_module
        self.module.argtypes = [ctypes.c_char_p, ctypes.c_uint32]
        self.cell = library.whyoom_recorder_module_cell
        self.cell.restype = ctypes.c_void_p
        self.tell = library.whyoom_recorder_label
        self.tell.argtypes = [ctypes.c_uint32] * 2 + [ctypes.c_void_p] * 3
        self.at = ctypes.c_uint32.from_address
        self.local = threading.local()

    def number(self, name, role):
        return self.module(name.encode("utf-8", "replace"), role)

    def enter(self, number):
        try:
            self.local.cell.value = number
        except AttributeError:
            # The cell lives as long as the thread.
            self.local.cell = self.at(self.cell())
            self.local.cell.value = number

    def label(self, device, blocks):
        addresses = array.array("Q", blocks)
        sizes = array.array("Q", [size for size, _ in blocks.values()])
        numbers = array.array("I", [number for _, number in blocks.values()])
        arrays = [one.buffer_info()[0] for one in (addresses, sizes, numbers)]
        self.tell(device, len(blocks), *arrays)


class HistorySink:
    """PyTorch's own history, in the versions whose entries carry a text of the program's."""

    WORDS = "whyoom module: "

    def __init__(self, torch):
        self.texts, self.annotate = [""], None
        # Its allocator cannot be told anything before there is one.
        self.set = lambda _: None
        torch.cuda._lazy_call(lambda: self.begin(torch))

    def begin(self, torch):
        self.set = torch._C._cuda_setMemoryMetadata
        # Newer by a few versions.
        self.annotate = getattr(torch._C, "_cuda_annotateMemory", None)

    def number(self, name, role):
        self.texts.append(f"{self.WORDS}{role} {name}")
        return len(self.texts) - 1

    def enter(self, number):
        self.set(self.texts[number])

    def label(self, _, blocks):
        for address, (_, number) in blocks.items() if self.annotate else ():
            self.annotate(address, self.texts[number])


class Module:
    """A module by its name, and its numbers by role."""

    __slots__ = ("name", "numbers", "is_part", "prehook", "reference")

    def __init__(self, name):
        self.name, self.numbers, self.reference = name, [0] * 8, None
        # What autograd nodes at its borders call: one for all of them.
        self.prehook = None
        inside = name.split(".")[1:]
        indices = [place for place, one in enumerate(inside) if one.isdigit()]
        # The last word of its name is the first index in it; of a module without any, it is a child of the model.
        self.is_part = indices[0] == len(inside) - 1 if indices else len(inside) <= 1


class Thread(threading.local):
    """Where one thread is: the modules whose forward has not ended, what was told of each, and the parts among them."""

    def __init__(self):
        self.modules, self.told, self.parts = [], [0], []
        # The backward pass that it was last seen in.
        self.task = -1


class Modules:
    """All modules that were called in this process, and what is theirs."""

    def __init__(self, torch, sink):
        self.torch, self.sink = torch, sink
        self.in_backward = torch._C._current_graph_task_id
        self.handles = []
        self.forget()

    def forget(self):
        """Nothing is known: at first, and in a child, whose recording is another."""
        self.thread = Thread()
        # By the id of the module, which is dropped with it; of outermost ones also how often they were called.
        self.known, self.roots = {}, {}
        # Modules that stand for several, by name.
        self.others = {}
        # For each optimizer, by its id: what is told at its steps.
        self.plans = {}

    def install(self):
        from torch.nn.modules import module
        from torch.optim import optimizer

        self.handles += [
            module.register_module_forward_pre_hook(self.guarded(self.enter)),
            module.register_module_forward_hook(self.guarded(self.leave), always_call=True),
            optimizer.register_optimizer_step_pre_hook(self.guarded(lambda one, *_: self.will_step(one))),
            optimizer.register_optimizer_step_post_hook(self.guarded(lambda one, *_: self.has_stepped(one))),
        ]
        self.torch.cuda._lazy_call(self.watch_failures)
        os.register_at_fork(after_in_child=self.forget)

    def guarded(self, hook):
        """What goes wrong here ends it, and is not the program's trouble. What a hook returned would be taken for
        other arguments."""
        # A compiler looks at hooks, too; they are not part of what it compiles.
        is_compiling = self.torch.compiler.is_compiling

        def guarded(*arguments):
            if is_compiling():
                return
            try:
                hook(*arguments)
            except Exception as error:  # noqa: BLE001
                self.give_up(error)

        return guarded

    def give_up(self, error):
        handles, self.handles = self.handles, []
        if handles:
            print(f"whyoom: modules are not recorded from here on: {error!r}", file=sys.stderr)
        for handle in handles:
            handle.remove()
        with contextlib.suppress(Exception):
            self.sink.enter(0)

    def watch_failures(self):
        try:
            failed = self.guarded(lambda *_: self.failed())
            self.torch._C._cuda_attach_out_of_memory_observer(failed)
        except RuntimeError:
            # An allocator that is not PyTorch's tells of no failure.
            pass

    def enter(self, module, arguments):
        thread = self.thread
        found = self.known.get(id(module)) or self.meet(module, thread)
        if not thread.modules:
            self.begins(module)
            if self.in_backward() < 0:
                # A backward pass that failed did not end.
                thread.told[0] = 0
        if found.is_part:
            if thread.parts:
                # What comes in was made by the part around it, if not by another part.
                self.tag(arguments, thread.parts[-1])
            thread.parts.append(found)
        # What forward makes again in backward was not kept by a checkpoint.
        role = FORWARD if self.in_backward() < 0 else RECOMPUTE
        number = found.numbers[role] or self.number(found, role)
        thread.modules.append(found)
        thread.told.append(number)
        self.sink.enter(number)

    def leave(self, _, __, output):
        thread = self.thread
        if not thread.modules:
            return
        found = thread.modules.pop()
        thread.told.pop()
        if found.is_part:
            thread.parts.pop()
            self.tag(output, found)
        self.sink.enter(thread.told[-1])

    def tag(self, tensors, part):
        """Has backward tell that it is in a part, from the node on that made these tensors."""
        for tensor in tensors if isinstance(tensors, (tuple, list)) else (tensors,):
            node = getattr(tensor, "grad_fn", None)
            if node is None or "whyoom" in node.metadata:
                continue
            # The first to tell is the innermost.
            node.metadata["whyoom"] = True
            if part.prehook is None:
                number = self.number(part, BACKWARD)
                part.prehook = self.guarded(lambda _: self.in_part(number))
            node.register_prehook(part.prehook)

    def in_part(self, number):
        """Backward is in a part of the model. At its end it is in none."""
        thread, task = self.thread, self.in_backward()
        if thread.task != task:
            thread.task = task
            engine = self.torch.autograd.Variable._execution_engine
            engine.queue_callback(self.backward_ended)
        # What forward makes again in between ends with this.
        thread.told[0] = number
        self.sink.enter(number)

    def backward_ended(self):
        self.thread.told[0] = 0
        self.sink.enter(0)

    def number(self, module, role):
        number = module.numbers[role] = self.sink.number(module.name, role)
        return number

    def meet(self, module, thread):
        """Names a module that was never called, and those inside it."""
        if thread.modules:
            # Made on the way, or not a child of the module that calls it.
            return self.know(module, f"{thread.modules[-1].name}.{type(module).__name__}")
        root = self.unused(type(unwrapped(module)).__name__)
        for name, one in module.named_modules():
            if id(one) not in self.known:
                self.know(one, ".".join([root, *own_parts(name, type(module).__name__)]))
        self.roots[id(module)] = 0
        return self.known[id(module)]

    def unused(self, name):
        """Two models of one class that live at once are two."""
        used = {self.known[root].name for root in self.roots if root in self.known}
        number = 1
        while (unused := name if number == 1 else f"{name}#{number}") in used:
            number += 1
        return unused

    def know(self, module, name):
        key, known, roots = id(module), self.known, self.roots

        def gone(_):
            known.pop(key, None)
            roots.pop(key, None)

        found = known[key] = Module(name)
        found.reference = weakref.ref(module, gone)
        return found

    def standing_for(self, name):
        return self.others.setdefault(name, Module(name))

    def begins(self, module):
        """An outermost module is called. What it has is told now and then: a model may be moved or converted."""
        calls = self.roots.get(id(module))
        if calls is not None:
            self.roots[id(module)] = calls = calls + 1
            if calls & (calls - 1) == 0:
                self.label(self.owned(module))

    def live_roots(self):
        roots = [self.known[root].reference() for root in list(self.roots) if root in self.known]
        return [root for root in roots if root is not None]

    def owned(self, module, gradients=False):
        """Tensors of a module and of those inside it, each with its owner and its role. What is tied has the first."""
        seen = set()
        for one in module.modules():
            owner = self.known.get(id(one))
            if owner is None:
                continue
            for parameter in filter(exists, one._parameters.values()):
                if id(parameter) in seen:
                    continue
                seen.add(id(parameter))
                yield parameter, owner, PARAMETER
                if gradients and parameter.grad is not None:
                    yield parameter.grad, owner, GRADIENT
            for buffer in filter(exists, one._buffers.values()):
                yield buffer, owner, BUFFER

    def owners(self):
        """Whose parameters are, by their ids: for no longer than a call."""
        owners = {}
        for root in self.live_roots():
            for tensor, owner, role in self.owned(root):
                if role == PARAMETER:
                    owners.setdefault(id(tensor), owner)
        return owners

    def label(self, tensors):
        """Tells whose the blocks of tensors are. A block of several is that of the innermost module around them."""
        devices = {}
        for tensor, owner, role in tensors:
            for address, size, device in blocks_of(tensor):
                blocks = devices.setdefault(device, {})
                _, before, _ = blocks.setdefault(address, (size, owner, role))
                if before is not owner:
                    blocks[address] = (size, self.around(before, owner), role)
        for device, blocks in devices.items():
            numbered = {
                address: (size, owner.numbers[role] or self.number(owner, role))
                for address, (size, owner, role) in blocks.items()
            }
            self.sink.label(device, numbered)

    def around(self, one, other):
        common = os.path.commonprefix([one.name.split("."), other.name.split(".")])
        return self.standing_for(".".join(common) or "several models")

    def failed(self):
        """Memory ran out: gradients may have been made that no optimizer has seen."""
        for root in self.live_roots():
            self.label(self.owned(root, gradients=True))

    def will_step(self, optimizer):
        plan, parameters = self.plan(optimizer)
        blocks, others = {}, []
        for parameter, owner, has_block in zip(parameters, plan.owners, plan.have_blocks):
            gradient = parameter.grad
            if gradient is None:
                continue
            if has_block:
                number = owner.numbers[GRADIENT] or self.number(owner, GRADIENT)
                blocks[gradient.data_ptr()] = (gradient.nbytes, number)
            else:
                others.append((gradient, owner, GRADIENT))
        if blocks:
            self.sink.label(plan.device, blocks)
        self.label(others)

    def has_stepped(self, optimizer):
        plan, parameters = self.plan(optimizer)
        plan.steps += 1
        # State is made once, and kept; what replaces it is told later.
        if plan.steps & (plan.steps - 1) and len(optimizer.state) == plan.states:
            return
        plan.states = len(optimizer.state)
        for parameter, owner in zip(parameters, plan.owners):
            state = optimizer.state.get(parameter)
            tensors = state.values() if isinstance(state, dict) else ()
            kept = [one for one in tensors if isinstance(one, self.torch.Tensor)]
            self.label((one, owner, OPTIMIZER_STATE) for one in kept)

    def plan(self, optimizer):
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        plan = self.plans.get(id(optimizer))
        if plan is None or plan.is_of != Plan.signature(parameters):
            plan = self.plans[id(optimizer)] = Plan(self, optimizer, parameters)
        return plan, parameters


class Plan:
    """What is told at each step of one optimizer."""

    def __init__(self, modules, optimizer, parameters):
        key, plans = id(optimizer), modules.plans
        self.reference = weakref.ref(optimizer, lambda _: plans.pop(key, None))
        self.is_of = self.signature(parameters)
        self.steps = self.states = 0
        owners, nobody = modules.owners(), modules.standing_for(type(optimizer).__name__)
        # Parameters of no module are the optimizer's.
        self.owners = [owners.get(id(one), nobody) for one in parameters]
        # Which gradients have a block of their own, on the first device: others, of buckets, shards and recurrent
        # layers, are found one by one.
        self.device = parameters[0].device.index or 0 if parameters else 0
        self.have_blocks = [self.has_block(modules.torch, one.grad) for one in parameters]

    def has_block(self, torch, gradient):
        return (
            type(gradient) is torch.Tensor
            and gradient.is_cuda
            and (gradient.device.index or 0) == self.device
            and gradient.layout is torch.strided
            and gradient.untyped_storage().nbytes() == gradient.nbytes
        )

    @staticmethod
    def signature(parameters):
        """Tells one list of parameters from another, without keeping them."""
        return (len(parameters), id(parameters[0]), id(parameters[-1])) if parameters else ()


def supports(torch):
    """Whether PyTorch has what is used here: 2.1 and newer do."""
    needed = [(torch, "compiler.is_compiling"), (torch, "_C._current_graph_task_id")]
    try:
        return all(operator.attrgetter(name)(one) for one, name in needed)
    except AttributeError:
        return False


def unwrapped(module):
    """The model that is wrapped, for training on several GPUs or by a compiler."""
    while (inside := getattr(module, wrapper_of(type(module).__name__) or "", None)) is not None:
        module = inside
    return module


def wrapper_of(kind):
    """Under which name a wrapper has what it wraps."""
    for wrapper, name in WRAPPERS.items():
        if kind.startswith(wrapper):
            return name
    return None


def own_parts(name, root):
    """A qualified name without the wrappers in it."""
    parts = name.split(".") if name else []
    if parts and wrapper_of(root) == parts[0]:
        parts = parts[1:]
    return [part for part in parts if part not in WRAPPED]


def exists(tensor):
    return tensor is not None


def blocks_of(tensor):
    """Where the blocks of a tensor begin, their sizes, and on which devices they are. Some tensors are made of others."""
    local = getattr(tensor, "_local_tensor", None)
    if local is not None:
        return blocks_of(local)
    if hasattr(type(tensor), "__tensor_flatten__"):
        names, _ = tensor.__tensor_flatten__()
        return [block for name in names for block in blocks_of(getattr(tensor, name))]
    try:
        storage = tensor.untyped_storage() if tensor.is_cuda else None
        address, size = (storage.data_ptr(), storage.nbytes()) if storage is not None else (0, 0)
    except (NotImplementedError, RuntimeError):
        # Sparse, or without memory so far.
        return []
    return [(address, size, tensor.device.index or 0)] if address else []
