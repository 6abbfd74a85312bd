"""Runs in a thread of its own in the process that `whyoom attach` looks at, behind `keepers.py` and the settings.

What PyTorch holds goes to snapshot.pickle, what refers to it to keepers.json, and how it went to answer.json, in the
folder that whyoom made and removes. Nothing is printed, nothing is raised, and nothing stays: whyoom holds the other
end of a pipe, and when that is closed, because it ends or is killed, the history is switched off and the thread ends.
"""

import _thread
import atexit


class QuietLook(Look):
    """The program runs on meanwhile."""

    def frame(self, frame, line, kind, name=None):
        # A debugger writes the variables of a frame that it traces back from the copy that would be cleared here.
        if frame.f_trace is not None:
            return
        # Up to Python 3.12 there is one copy for all: where the program holds it, it stays as it is.
        if sys.version_info < (3, 13) and frame.f_code.co_flags & OPTIMIZED:
            if sys.getrefcount(frame.f_locals) > 2:
                return
        super().frame(frame, line, kind, name)


class UnaskedModules(set):
    """PyTorch's list of modules that it imports when somebody asks whether they are there. To name frames it asks for its
    compiler, which would import a thousand modules into a program that may not use it. For this thread there are none."""

    def __init__(self, modules):
        super().__init__(modules)
        self.thread = _thread.get_ident()

    def __contains__(self, name):
        return _thread.get_ident() != self.thread and super().__contains__(name)


class Visit:
    """One look at the process, with or without its history from now on."""

    def __init__(self, torch, answer):
        self.torch, self.answer = torch, answer
        self.pid, self.records = os.getpid(), False
        self.lock = _thread.allocate_lock()

    def watch(self):
        """Until whyoom closes the pipe, or is gone."""
        pipe = os.open(FOLDER + "/pipe", os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(pipe, True)
        try:
            self.torch.cuda.memory._record_memory_history(max_entries=HISTORY, stacks="python")
            self.records = True
            # A program that ends while it is watched is looked at as its last act.
            atexit.register(self.end, True)
            self.answer.write("watching.json")
            while os.read(pipe, 1):
                pass
        finally:
            os.close(pipe)

    def end(self, by_exit=False):
        # A process that was forked has the handler, and nothing to tell.
        if os.getpid() != self.pid or not self.lock.acquire(False):
            return
        self.answer.facts["ended"] = by_exit
        try:
            self.snapshot()
        except BaseException as error:  # noqa: BLE001
            self.answer.facts["error"] = repr(error)
        finally:
            # PyTorch warns where another thread switches it off than on; with the program it ends anyway.
            if self.records and not by_exit:
                self.torch.cuda.memory._record_memory_history(enabled=None)
                atexit.unregister(self.end)
        try:
            if REFERRERS:
                self.referrers()
        except BaseException as error:  # noqa: BLE001
            self.answer.facts["error"] = repr(error)
        self.answer.write()

    def snapshot(self):
        begun = time.perf_counter()
        path = FOLDER + "/snapshot.pickle"
        modules = getattr(self.torch, "_lazy_modules", None)
        if isinstance(modules, set):
            self.torch._lazy_modules = UnaskedModules(modules)
        try:
            self.torch.cuda.memory._dump_snapshot(make_private(path + ".part"))
        finally:
            if isinstance(modules, set):
                self.torch._lazy_modules = modules
        os.rename(path + ".part", path)
        self.answer.facts |= {"state": "looked", "snapshot_seconds": time.perf_counter() - begun}

    def referrers(self):
        begun = time.perf_counter()
        look = QuietLook(self.torch)
        # Tensors of the program's own classes are asked as plain ones.
        with self.torch._C.DisableTorchFunctionSubclass():
            look.walk()
        told = [keeper.told() for keeper in merged(look.keepers)]
        complete = not look.is_over()
        del look
        document = {"version": 1, "pid": PID, "reason": "attach", "complete": complete, "keepers": told}
        path = FOLDER + "/keepers.json"
        with open(make_private(path + ".part"), "w") as file:
            json.dump(document, file)
        os.rename(path + ".part", path)
        taken = time.perf_counter() - begun
        self.answer.facts |= {"referrers_seconds": taken, "referrers_complete": complete}


def visit(answer):
    facts, torch = answer.facts, sys.modules["torch"]
    # A module that is being imported has not all of its parts yet.
    if getattr(getattr(torch, "cuda", None), "memory", None) is None:
        facts["state"] = "no-torch"
        return answer.write()
    facts["torch"] = str(torch.__version__)
    if not torch.cuda.is_initialized():
        facts["state"] = "no-cuda"
        return answer.write()
    records_itself = torch._C._cuda_isHistoryEnabled()
    facts["history"] = "own" if records_itself else "recorded" if HISTORY else "off"
    one = Visit(torch, answer)
    if HISTORY and not records_itself:
        one.watch()
    one.end()


def run():
    try:
        visit(answer)
    except BaseException as error:  # noqa: BLE001
        answer.facts["error"] = repr(error)
        answer.write()


run()
