"""Runs first in every Python program that `whyoom run --keepers` starts (`crates/whyoom/src/startup.py`
before it).

When memory runs out, and at the end, it asks Python what keeps tensors on the GPU: the variables of all
frames and of the program's modules, what they contain, the frames of exceptions that are kept, and the
graphs behind tensors. What was found stands in keepers-PID.json in the folder that WHYOOM_KEEPERS names.
Nothing is kept from one look to the next, and the program itself is not changed.
"""

import collections
import json
import os
import sys
import time
import types

FOLDER = os.environ.get("WHYOOM_KEEPERS")
# A program that catches its failures may have thousands of them.
MOST_LOOKS = 3
SECONDS = 2.0
MOST_BLOCKS = 8192
MOST_OBJECTS = 2_000_000
DEPTH = 12
CONTAINERS = (list, tuple, set, frozenset, collections.deque)
# Frames of this kind have locals of their own; others share theirs with a module or a class.
OPTIMIZED = 1


class Keeper:
    """A name in the program under which tensors are kept."""

    __slots__ = ("kind", "name", "function", "file", "line", "graph", "blocks", "tensors", "container")

    def __init__(self, kind, name, function, file, line, graph=False):
        self.kind, self.name, self.function = kind, name, function
        self.file, self.line, self.graph = file, line, graph
        self.blocks, self.tensors, self.container = [], 0, None

    def like(self, **changes):
        fields = ("kind", "name", "function", "file", "line", "graph")
        return Keeper(**{field: changes.get(field, getattr(self, field)) for field in fields})

    def told(self):
        fields = ("kind", "name", "function", "file", "line", "graph", "tensors")
        told = {field: getattr(self, field) for field in fields}
        return told | {"bytes": sum(size for _, size in self.blocks), "blocks": self.blocks}


class Look:
    """One walk through everything that has a name."""

    def __init__(self, torch):
        self.torch = torch
        self.until = time.monotonic() + SECONDS
        self.seen = set()
        self.claimed = set()
        self.keepers, self.nodes = [], []
        self.blocks = self.visited = 0
        # Exceptions come after what is named plainly, and graphs after both.
        self.queue, self.exceptions, self.graphs = collections.deque(), [], collections.deque()

    def is_over(self):
        over = self.blocks >= MOST_BLOCKS or self.visited >= MOST_OBJECTS
        return over or time.monotonic() > self.until

    def walk(self):
        self.modules()
        self.frames()
        self.drain()
        for error in (getattr(sys, "last_exc", None), getattr(sys, "last_value", None), sys.exc_info()[1]):
            self.exceptions.append((error, Keeper("variable", "the last exception", None, None, None)))
        while self.exceptions and not self.is_over():
            self.exception(*self.exceptions.pop())
            self.drain()
        while self.graphs and not self.is_over():
            self.graph(*self.graphs.popleft())

    def frames(self):
        """The program's own frames before those of libraries, which know the same things by other names."""
        here, others = sys._getframe().f_code.co_filename, []
        for frame in sys._current_frames().values():
            while frame is not None:
                file = frame.f_code.co_filename
                if is_library(file):
                    others.append(frame)
                elif file != here:
                    self.frame(frame, frame.f_lineno, "variable")
                frame = frame.f_back
        self.drain()
        for frame in others:
            self.frame(frame, frame.f_lineno, "variable")

    def frame(self, frame, line, kind, name=None):
        code = frame.f_code
        function = getattr(code, "co_qualname", code.co_name)
        values = frame.f_locals
        for variable, value in list(values.items()):
            keeper = Keeper(kind, name or variable, function, code.co_filename, line)
            self.push(value, keeper, 0)
        # Up to Python 3.12 these are a copy that would live as long as the frame.
        if code.co_flags & OPTIMIZED and sys.version_info < (3, 13) and sys.gettrace() is None:
            values.clear()

    def modules(self):
        for module_name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) if type(module) is types.ModuleType else None
            if module_name == "__main__":
                file = file or sys.argv[0]  # Python takes the file's name away when a script has ended.
            if not isinstance(file, str) or is_library(file):
                continue
            for name, value in list(vars(module).items()):
                if not name.startswith("__"):
                    self.push(value, Keeper("variable", name, None, file, None), 0)

    def push(self, value, keeper, depth):
        if depth <= DEPTH and value is not None:
            self.queue.append((value, keeper, depth))

    def drain(self):
        while self.queue:
            self.visited += 1
            if self.visited % 256 == 0 and self.is_over():
                self.queue.clear()
                return
            self.visit(*self.queue.popleft())

    def visit(self, value, keeper, depth):
        kind = type(value)
        if kind in (int, float, str, bytes, bool, complex) or id(value) in self.seen:
            return
        self.seen.add(id(value))
        if issubclass(kind, self.torch.Tensor):
            self.tensor(value, keeper)
        elif issubclass(kind, CONTAINERS):
            base = next(base for base in CONTAINERS if issubclass(kind, base))
            # The base's own way: a subclass may have one that does something.
            for item in list(base.__iter__(value)):
                self.push(item, self.inside(keeper, base), depth + 1)
        elif issubclass(kind, dict):
            for item in list(dict.values(value)):
                self.push(item, self.inside(keeper, dict), depth + 1)
        elif issubclass(kind, BaseException):
            self.exceptions.append((value, keeper))
        elif kind is types.FunctionType:
            cells = zip(value.__code__.co_freevars, value.__closure__ or ())
            for name, cell in cells:
                try:
                    captured = keeper.like(name=name, function=value.__qualname__)
                    self.push(cell.cell_contents, captured, depth + 1)
                except ValueError:
                    pass
        elif kind is types.GeneratorType and value.gi_frame is not None:
            self.frame(value.gi_frame, value.gi_frame.f_lineno, "variable")
        elif kind is types.MethodType:
            self.push(value.__self__, keeper, depth + 1)
        elif kind.__dictoffset__ and not issubclass(kind, (type, types.ModuleType)):
            self.attributes(object.__getattribute__(value, "__dict__"), keeper, depth)

    def attributes(self, attributes, keeper, depth):
        for name, value in list(attributes.items()):
            # What is inside a container or an exception stays known by that.
            plain = keeper.kind in ("variable", "attribute")
            named = keeper.like(kind="attribute", name=f"{keeper.name}.{name}") if plain else keeper
            self.push(value, named, depth + 1)

    def inside(self, keeper, kind):
        """The first container on the way is the one that people know by its name."""
        if keeper.kind not in ("variable", "attribute"):
            return keeper
        if keeper.container is None:
            keeper.container = keeper.like(kind=kind.__name__)
        return keeper.container

    def tensor(self, tensor, keeper):
        if not tensor.is_cuda:
            return
        self.claim(tensor, keeper)
        if tensor.grad_fn is not None:
            self.graphs.append((tensor.grad_fn, keeper))
        if tensor.is_leaf and tensor.grad is not None:
            self.claim(tensor.grad, keeper)

    def claim(self, tensor, keeper):
        try:
            storage = tensor.untyped_storage()
            address, size = storage.data_ptr(), storage.nbytes()
        except (RuntimeError, NotImplementedError):
            return  # A tensor that stands for others has no memory of its own.
        if address == 0 or address in self.claimed:
            return
        self.claimed.add(address)
        if not keeper.blocks:
            self.keepers.append(keeper)
        keeper.blocks.append([address, size])
        keeper.tensors += 1
        self.blocks += 1

    def exception(self, error, keeper):
        if not isinstance(error, BaseException) or (id(error), "frames") in self.seen:
            return
        self.seen.add((id(error), "frames"))
        step = error.__traceback__
        while step is not None:
            self.frame(step.tb_frame, step.tb_lineno, "traceback", keeper.name)
            step = step.tb_next
        for other in (error.__cause__, error.__context__):
            self.exceptions.append((other, keeper))

    def graph(self, node, keeper):
        """What the nodes behind a tensor save for backward and nothing else has a name for."""
        keeper = keeper.like(graph=True)
        nodes = [node]
        while nodes and not self.is_over():
            node = nodes.pop()
            if node is None or id(node) in self.seen:
                continue
            self.seen.add(id(node))
            # Python's objects for nodes are made when they are asked for: while one lives, its id is its own.
            self.nodes.append(node)
            for tensor in saved_by(node):
                if isinstance(tensor, self.torch.Tensor) and tensor.is_cuda:
                    self.claim(tensor, keeper)
            nodes.extend(next_node for next_node, _ in node.next_functions)


def is_library(file):
    return "site-packages" in file or "dist-packages" in file or "/lib/python" in file


def saved_by(node):
    """The tensors that a node saves. Those with hooks are left alone: unpacking would run the program's code."""
    for name in names_of(type(node)):
        found = getattr(node, name, None)
        for saved in found if isinstance(found, (tuple, list)) else (found,):
            if getattr(saved, "unpack_hook", saved) is None:
                yield saved.data


NAMES = {}


def names_of(kind):
    if kind not in NAMES:
        NAMES[kind] = [name for name in dir(kind) if name.startswith("_raw_saved_")]
    return NAMES[kind]


class Keepers:
    """The looks of one process."""

    def __init__(self, torch):
        self.torch = torch
        self.pid = None
        self.looks = 0

    def start(self):
        import atexit

        self.pid = os.getpid()
        self.torch._C._cuda_attach_out_of_memory_observer(self.ran_out)
        atexit.register(harmless(self.at_end))

    def ran_out(self, *_):
        self.looks += 1
        if self.looks <= MOST_LOOKS:
            harmless(self.look)("out-of-memory")

    def at_end(self):
        # What failed says more than what is left at the end.
        if self.looks == 0:
            self.look("exit")

    def look(self, reason):
        # A worker that was forked is another process.
        if self.pid != os.getpid():
            return
        look = Look(self.torch)
        # Tensors of the program's own classes are asked as plain ones.
        with self.torch._C.DisableTorchFunctionSubclass():
            look.walk()
        told = [keeper.told() for keeper in merged(look.keepers)]
        complete = not look.is_over()
        del look
        document = {"version": 1, "pid": self.pid, "reason": reason, "complete": complete, "keepers": told}
        path = os.path.join(FOLDER, f"keepers-{self.pid}.json")
        # Written under another name first: a file with the right name is whole.
        with open(make_private(path + ".part"), "w") as file:
            json.dump(document, file)
        os.rename(path + ".part", path)


def merged(keepers):
    """One for each name: every exception of a list has frames of its own."""
    by_name = {}
    for keeper in keepers:
        key = (keeper.kind, keeper.name, keeper.function, keeper.file, keeper.line, keeper.graph)
        known = by_name.setdefault(key, keeper)
        if known is not keeper:
            known.blocks += keeper.blocks
            known.tensors += keeper.tensors
    return by_name.values()


def install(torch):
    if FOLDER and hasattr(torch, "cuda"):
        torch.cuda._lazy_call(harmless(Keepers(torch).start))


run_the_other_sitecustomize()
