"""What the programs that are attached to share. Each says that it is ready, goes on until a file tells it to end, and then
prints what is left in it of a visit: nothing."""

import os
import sys
import threading

STOP = sys.argv[1]
before = {}


def ready(torch=None):
    """The first line: the process, and what PyTorch holds."""
    before.update(state())
    held = torch.cuda.memory_allocated() if torch and torch.cuda.is_initialized() else 0
    print(f"ready {os.getpid()} {held}", flush=True)


def is_over():
    return os.path.exists(STOP)


def end():
    """What differs from the state at the beginning, and how it ended."""
    for name, value in state().items():
        if value != before[name]:
            print(f"left behind: {name}: {value ^ before[name] if isinstance(value, set) else value}")
    print("ended well", flush=True)
    sys.exit(0)


def state():
    import gc

    import __main__

    gc.collect()
    # The programs' own variables come and go; what nobody named before does not.
    names = {name for name in vars(__main__) if "whyoom" in name or name in ("start", "look", "b", "f", "t")}
    return {
        "modules": set(sys.modules),
        "names": names,
        "threads": {thread.name for thread in threading.enumerate()},
        "objects": {type(one).__name__ for one in gc.get_objects() if is_foreign(one)},
        "trace": sys.gettrace(),
        "history": history(),
        "lazy modules": lazy_modules(),
    }


def is_foreign(one):
    """Whether an object, or a function, is of the code that was brought in."""
    function = type(one) is type(is_foreign) and one.__code__.co_filename
    return type(one).__module__ == "whyoom attach" or function == "<whyoom attach>"


def history():
    torch = sys.modules.get("torch")
    # Without a GPU in use, asking would crash.
    return bool(torch and torch.cuda.is_initialized() and torch._C._cuda_isHistoryEnabled())


def lazy_modules():
    torch = sys.modules.get("torch")
    return type(getattr(torch, "_lazy_modules", None)).__name__
