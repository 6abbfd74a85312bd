"""Stacks of Python code, checked against what Python itself says of them."""

import ctypes
import sys
import threading
import traceback

released = ctypes.CDLL(sys.argv[1])  # gives the GIL up around a call
held = ctypes.PyDLL(sys.argv[1])  # keeps it


def stack(library, name="probe_stack"):
    room = ctypes.create_string_buffer(1 << 16)
    getattr(library, name)(room, ctypes.c_size_t(len(room)))
    return room.value.decode().splitlines()


def expected():
    """The caller's Python frames, innermost first, as the traceback module sees them."""
    frame = sys._getframe(1)
    seen = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        seen.append((code.co_filename, frame.f_lineno, name))
        frame = frame.f_back
    return seen


def python_part(lines):
    seen = []
    for line in lines:
        if line.startswith("python "):
            place, name = line[len("python "):].rsplit(" ", 1)
            file, number = place.rsplit(":", 1)
            seen.append((file, int(number), name))
    return seen


def check(library, what):
    lines, wanted = stack(library), expected()
    got = python_part(lines)
    assert got and got[0][2] == "stack", (what, lines)
    assert got[1:] == wanted, (what, got[1:4], wanted[:3])
    first = [line.startswith("python") for line in lines].index(True)
    assert first > 0 and all(line.startswith("python") for line in lines[first:]), (what, lines)
    assert not any("libpython" in line for line in lines), (what, lines)
    # Once the layout is confirmed, with the GIL.
    assert not confirmed or library.probe_is_known(), what
    return lines


def both(what):
    for library in order:
        check(library, what)


def nested(depth, body):
    return nested(depth - 1, body) if depth else body()


class Thing:
    def method(self):
        both("a method")

    def generator(self):
        yield 1
        both("a generator")
        yield 2


def in_thread(body):
    failures = []

    def run():
        try:
            body()
        except BaseException:
            failures.append(traceback.format_exc())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not failures, failures[0]


def callback_test():
    kind = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)
    seen = []

    def called(_):
        seen.append(check(released, "a callback"))
        return 7

    callback = kind(called)
    assert released.probe_call(callback) == 7
    assert "called" in seen[0][[l.startswith("python") for l in seen[0]].index(True) + 2]


def exceptions_test():
    try:
        raise ValueError("kept")
    except ValueError:
        both("an exception's handler")
        assert sys.exc_info()[1].args == ("kept",)
    assert sys.exc_info() == (None, None, None)


def cut_at_the_limit():
    lines = nested(300, lambda: stack(released))
    assert len(lines) == 128 and lines[-1].endswith(" nested"), len(lines)


def no_python_thread():
    lines = stack(released, "probe_stack_of_thread")
    assert lines and all(line.startswith("native") for line in lines), lines
    assert not python_part(lines)


def reused_code():
    """Code objects that come and go must never answer to each other's names."""
    for number in range(300):
        scope = {"stack": stack, "released": released}
        exec(compile("def f%d():\n%s return stack(released)\n" % (number, "\n" * (number % 7)),
                     "<made %d>" % number, "exec"), scope)
        lines = python_part(scope["f%d" % number]())
        assert lines[1][0] == "<made %d>" % number and lines[1][2] == "f%d" % number, lines[:3]
        assert lines[1][1] == 2 + number % 7, lines[:3]


def unusual_names():
    scope = {"check": check, "released": released}
    exec(compile("def größe_形状():\n check(released, 'names')\n", "<ä/形>.py", "exec"), scope)
    scope["größe_形状"]()


def subinterpreter():
    """Says what happens in one; must not crash, and the stack afterwards must be right."""
    try:
        import _xxsubinterpreters as module
    except ImportError:
        try:
            import _interpreters as module
        except ImportError:
            return "no module for it"
    code = (
        "import ctypes\n"
        "library = ctypes.CDLL(%r)\n"
        "room = ctypes.create_string_buffer(1 << 16)\n"
        "def inside(): library.probe_stack(room, ctypes.c_size_t(len(room)))\n"
        "inside()\n"
        "open(%r, 'w').write(room.value.decode())\n" % (sys.argv[1], sys.argv[2])
    )
    try:
        one = module.create()
        failed = module.run_string(one, code)
        module.destroy(one)
        if failed:
            return "could not run: %s" % getattr(failed, "msg", failed)
    except Exception as error:
        return "could not run: %s" % error
    lines = open(sys.argv[2]).read().splitlines()
    both("after a sub-interpreter")
    own = any(line.endswith(" inside") for line in lines)
    return "own frames" if own else "%d frames of the main interpreter" % len(python_part(lines))


confirmed = False
order = [released, held] if len(sys.argv) < 4 else [held, released]
both("a module")
confirmed = True
nested(3, lambda: both("nested functions"))
Thing().method()
list(Thing().generator())
[both("a comprehension") for _ in range(2)]
callback_test()
exceptions_test()
cut_at_the_limit()
no_python_thread()
reused_code()
unusual_names()
in_thread(lambda: both("another thread"))
in_thread(no_python_thread)
costs = []
for library in (released, held):
    frames = ctypes.c_uint32()
    library.probe_cost.restype = ctypes.c_double
    costs.append(nested(20, lambda: library.probe_cost(20000, ctypes.byref(frames))))
    costs.append(frames.value)
    library.probe_fingerprint_cost.restype = ctypes.c_double
    costs.append(nested(20, lambda: library.probe_fingerprint_cost(20000)))
print("Python %d.%d.%d: right; %.0f ns for %d frames without the GIL, %.0f for a fingerprint; %.0f and %.0f with; "
      "sub-interpreter: %s" % (*sys.version_info[:3], *costs[:4], costs[5], subinterpreter()))
