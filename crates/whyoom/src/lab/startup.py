"""Runs first in every Python program that `whyoom lab run` or `whyoom fit` starts (`crates/whyoom/src/startup.py`
before it).

Kernels of the lab compute nothing, but programs decide by small values that they read back: whether a sequence has
ended, how many were sampled, where something is not zero. Operators on integers and booleans therefore run twice: on
the simulated GPU, so that allocations are what they are, and on the processor, on the same memory. What is chosen by
values that were never computed, such as a token by its logits, is always the same valid index.

Training seldom decides by such values: from the first backward pass on, operators run once, until a module is called
without gradients. It does decide whether gradients are finite; those that were never computed are.
"""

import ctypes
import os
import sys
import threading

# More is data, and not what a program decides by.
LARGEST = 64 << 10

# A program that trains and evaluates in turn changes between the two so often at most: each time takes a while.
MOST_CHANGES = 100

# Operators of aten that make integers or booleans of such, with all their overloads.
OPERATORS = set("""
_cummax_helper _cummin_helper _unique2 abs add addcmul addr all amax amin aminmax any arange argmax argmin bincount
bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bucketize cat clamp clamp_max
clamp_min copy count_nonzero cumprod cumsum div eq equal eye fill flip floor_divide fmax fmin fmod gather gcd ge gt
hardtanh heaviside index index_add index_copy index_fill index_put index_reduce index_select isin isneginf isposinf
__ilshift__ __irshift__ kthvalue lcm le linalg_cross logical_and logical_not logical_or logical_xor __lshift__ lt masked_fill masked_scatter
masked_select max maximum median min minimum mode mul multinomial nanmedian nansum ne neg nonzero prod put remainder
repeat_interleave roll rsub __rshift__ scatter scatter_add scatter_reduce searchsorted sgn sign signbit sort sub sum
take threshold topk trace tril tril_indices triu triu_indices unique_consecutive unique_dim unique_dim_consecutive
where zero _index_put_impl _chunk_cat reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d
replication_pad3d
""".split())

# Made of others, which they do not call by way of the dispatcher.
COMPOSITE = ["copy_", "constant_pad_nd", "pow.Tensor_Scalar"]

# The values decide about the shape of the result, or about sizes on the way to it: these run on the processor alone.
DECIDING = {"nonzero", "_unique2", "unique_consecutive", "unique_dim", "unique_dim_consecutive", "bincount",
            "masked_select", "repeat_interleave", "isin", "equal"}

# Those that choose: which of the results are indices, and which argument is the dimension that they are of.
CHOOSING = {"argmax": (None, 1), "argmin": (None, 1), "multinomial": (None, None), "max": (1, 1), "min": (1, 1),
            "sort": (1, None), "topk": (1, 2), "kthvalue": (1, 2), "median": (1, 1), "nanmedian": (1, 1),
            "mode": (1, 1)}


def is_checkpointed():
    """Whether this is the forward pass of a checkpoint: it runs without gradients, but it is training."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename.endswith("torch/utils/checkpoint.py"):
            return True
        frame = frame.f_back
    return False


def base(name):
    """An operator's name without its overload, and without the mark of those that change their argument."""
    name = name.partition(".")[0]
    return name if name.startswith("__") else name.rstrip("_")


class NotSmall(Exception):
    """An argument is not of small integers."""


class SmallValues:
    """Lets operators on small integers run on the processor too."""

    def __init__(self, torch):
        self.torch = torch
        self.integers = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
        self.library = None
        self.waiting = None
        self.chosen = 0
        self.changes = 0
        self.lock = threading.Lock()
        for function in (SmallValues.decided, SmallValues.placed):
            self.as_library(function)

    def as_library(self, function):
        """Names the lab as the file of a function, below PyTorch's folder: stacks show no line of the program's."""
        name = os.path.join(os.path.dirname(self.torch.__file__), "<whyoom lab>.py")
        function.__code__ = function.__code__.replace(co_filename=name)
        return function

    def install(self):
        self.torch.cuda._lazy_call(harmless(self.start))

    def start(self):
        import atexit

        atexit.register(harmless(self.tell))
        # Both backward() and grad() go this way, and TorchScript knows those by their identity.
        autograd = self.torch.autograd
        autograd._engine_run_backward = self.ending(autograd._engine_run_backward)
        self.begin()

    def begin(self):
        """Operators run twice from now on."""
        with self.lock:
            if self.library is not None or self.changes > MOST_CHANGES:
                return
            if self.waiting is not None:
                self.waiting.remove()
                self.waiting = None
            self.changes += 1
            library = self.torch.library.Library("aten", "IMPL")
            for name in self.overloads():
                self.override(library, name)
            self.library = library

    def overloads(self):
        registered = self.torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
        names = (name.partition("::")[2] for name in registered if name.startswith("aten::"))
        return [name for name in names if base(name) in OPERATORS] + COMPOSITE

    def end(self):
        """Operators run once from now on, until a module is called without gradients."""
        from torch.nn.modules import module

        with self.lock:
            if self.library is None:
                return
            self.library._destroy()
            self.library = None
            self.waiting = module.register_module_forward_pre_hook(self.called)

    def called(self, *_):
        # A compiler looks at hooks, too; they are not part of what it compiles.
        if self.torch.compiler.is_compiling() or self.torch.is_grad_enabled():
            return
        if self.library is None and not is_checkpointed():
            harmless(self.begin)()

    def ending(self, function):
        import functools

        @functools.wraps(function)
        def ends(*arguments, **named):
            harmless(self.end)()
            return function(*arguments, **named)

        return self.as_library(ends)

    def override(self, library, name):
        packet, _, overload = name.partition(".")
        operator = getattr(getattr(self.torch.ops.aten, packet), overload or "default")
        kernel = self.torch.library.get_kernel(operator, "CUDA")
        arguments = operator._schema.arguments
        wants = [place for place, one in enumerate(arguments) if str(one.type) == "Tensor" and not one.kwarg_only]
        changes = [place for place in wants if arguments[place].alias_info and arguments[place].alias_info.is_write]
        chooses = CHOOSING.get(base(name))
        # Where the caller has a place for the result, the operator itself makes it fit.
        decides = base(name) in DECIDING and not any(one.is_out for one in arguments)

        def run(keys, *given, **named):
            given = self.with_tensors(given, wants)
            if self.torch.cuda.is_current_stream_capturing():
                return kernel.call_boxed(keys, *given, **named)
            before = self.contents(given, changes)
            results = None if decides else kernel.call_boxed(keys, *given, **named)
            try:
                if decides:
                    return self.decided(operator, given, named)
                return self.computed(operator, chooses, given, named, results, before)
            except NotSmall:
                pass
            except Exception:  # noqa: BLE001, S110
                # Values that were never computed may be none that the operator takes.
                pass
            return kernel.call_boxed(keys, *given, **named) if decides else results

        import warnings

        with warnings.catch_warnings():
            # It says that kernels are replaced, which is meant.
            warnings.simplefilter("ignore")
            library.impl(name, self.as_library(run), "CUDA", with_keyset=True)

    def with_tensors(self, given, wants):
        """Numbers come as such where the operator wants tensors: of the type that the result has."""
        for place in wants:
            if place < len(given) and isinstance(given[place], (bool, int, float, complex)):
                others = [one for one in given if isinstance(one, self.torch.Tensor)]
                kind = self.torch.result_type(others[0], given[place]) if others else None
                number = self.torch.tensor(given[place], device="cpu").to(kind)
                given = given[:place] + (number,) + given[place + 1 :]
        return given

    def contents(self, given, changes):
        """What arguments hold that the operator changes: on the way it may call others, which are computed too."""
        small = (given[place] for place in changes if place < len(given))
        small = (one for one in small if one.is_cuda and self.is_small(one))
        return [(place, place.clone()) for place in map(self.host, small)]

    def computed(self, operator, chooses, given, named, results, before):
        several = isinstance(results, (list, tuple))
        if chooses is not None and given[0].is_floating_point():
            if several or chooses[0] is None:
                place = chooses[1]
                dimension = given[place] if place is not None and place < len(given) else named.get("dim", -1)
                self.choose(results[chooses[0]] if several else results, given[0], dimension)
            return results
        if results is None:
            # It wrote into its arguments.
            return self.made(operator, given, named, before)
        first = results[0] if several and results else results
        if not isinstance(first, self.torch.Tensor) or not first.is_cuda or not self.is_small(first):
            return results
        made = self.made(operator, given, named, before)
        if not several:
            return self.put(results, made)
        return type(results)(map(self.put, results, made))

    def decided(self, operator, given, named):
        made = self.made(operator, given, named)
        if isinstance(made, bool):
            return made
        device = next(one.device for one in given if isinstance(one, self.torch.Tensor) and one.is_cuda)
        if isinstance(made, self.torch.Tensor):
            return self.placed(made, device)
        return tuple(self.placed(one, device) for one in made)

    def made(self, operator, given, named, before=()):
        """What the processor makes of the same."""
        host = [self.on_host(one) for one in given]
        named = {name: self.on_host(one) for name, one in named.items()}
        for place, contents in before:
            place.copy_(contents)
        return operator(*host, **named)

    def placed(self, made, device):
        """On the device, as the operator would place it."""
        return self.put(self.torch.empty_strided(made.shape, made.stride(), dtype=made.dtype, device=device), made)

    def choose(self, indices, values, dimension):
        """A valid index, always the same: of a vocabulary, none of the special tokens at its ends."""
        if not self.is_small(indices):
            return
        self.chosen += 1
        count = values.numel() if dimension is None else values.shape[dimension] if values.dim() else 1
        several = indices.shape[-1] if indices.dim() == values.dim() and indices.dim() else 1
        first = self.torch.arange(several, device="cpu").add_(count // 2).remainder_(max(count, 1))
        self.host(indices).copy_(first if several > 1 else first[0])

    def is_small(self, tensor):
        return tensor.dtype in self.integers and tensor.numel() * tensor.element_size() <= LARGEST

    def on_host(self, argument):
        if isinstance(argument, self.torch.Tensor):
            if not argument.is_cuda:
                return argument
            if not self.is_small(argument):
                raise NotSmall
            return self.host(argument)
        if isinstance(argument, (list, tuple)):
            return [self.on_host(one) for one in argument]
        return self.torch.device("cpu") if isinstance(argument, self.torch.device) else argument

    def host(self, tensor):
        """The same memory, for the processor: addresses of the lab's GPUs are the host's."""
        if tensor.numel() == 0:
            return self.torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
        last = sum((count - 1) * step for count, step in zip(tensor.shape, tensor.stride()))
        memory = (ctypes.c_char * ((last + 1) * tensor.element_size())).from_address(tensor.data_ptr())
        flat = self.torch.frombuffer(memory, dtype=tensor.dtype)
        return flat.as_strided(tensor.shape, tensor.stride())

    def put(self, result, made):
        if isinstance(result, self.torch.Tensor) and self.is_small(result):
            place = self.host(result)
            if place.data_ptr() != made.data_ptr():
                place.copy_(made)
        return result

    def tell(self):
        if self.chosen:
            print(f"whyoom lab: {self.chosen} times an index was chosen by values that are never computed (logits): "
                  "always the same one.", file=sys.stderr)


class FiniteGradients:
    """Lets training go on: who asks whether gradients overflowed does what it does, and is told that they did not."""

    # Where DeepSpeed asks.
    ASKING = {
        "deepspeed.runtime.utils": ["is_invalid_grad_norm", "CheckOverflow.has_overflow"],
        "deepspeed.runtime.zero.stage_1_and_2": ["DeepSpeedZeroOptimizer.has_overflow"],
        "deepspeed.runtime.zero.stage3": ["DeepSpeedZeroOptimizer_Stage3.has_overflow"],
    }

    def install(self):
        for name in self.ASKING:
            sys.meta_path.insert(0, FiniteFinder(name))
        try:
            from torch.amp import grad_scaler
        except ImportError:
            # Until PyTorch 2.2.
            from torch.cuda.amp import grad_scaler

        step = grad_scaler.GradScaler._maybe_opt_step

        def finite(scaler, optimizer, state, *arguments, **named):
            for found in state["found_inf_per_device"].values():
                if found.is_cuda:
                    ctypes.memset(found.data_ptr(), 0, found.element_size())
            return step(scaler, optimizer, state, *arguments, **named)

        finite.__code__ = finite.__code__.replace(co_filename=grad_scaler.__file__)
        grad_scaler.GradScaler._maybe_opt_step = finite

    def answer(self, module):
        for path in self.ASKING[module.__name__]:
            owner, _, name = path.rpartition(".")
            owner = getattr(module, owner, None) if owner else module
            if hasattr(owner, name):
                setattr(owner, name, self.answered(getattr(owner, name), module.__file__))

    def answered(self, function, file):
        import functools

        @functools.wraps(function)
        def is_not(*arguments, **named):
            function(*arguments, **named)
            return False

        is_not.__code__ = is_not.__code__.replace(co_filename=file)
        return is_not


class FiniteFinder(ModuleFinder):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def imported(self, module):
        FiniteGradients().answer(module)


def install(torch):
    if not hasattr(torch, "cuda"):
        return
    # PyTorch 2.13 has it; before, small values are not computed.
    if hasattr(torch.library, "get_kernel"):
        SmallValues(torch).install()
    FiniteGradients().install()


run_the_other_sitecustomize()
