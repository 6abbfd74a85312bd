"""Makes files that are small and hold very many of one thing.

usage: proportion.py NAME COUNT FILE

What is of no weight in a file of a real run (streams, pools, segments, stacks, marks, ...) comes here a hundred
thousand times: whatever a command does for each of them, it must not do it for each pair.
"""

import pickle
import io
import os
import random
import sqlite3
import sys
import tarfile
import zlib

MIB = 1 << 20
GIB = 1 << 30
BASE = 0x7F00_0000_0000


def alloc(index, address, size, **other):
    return {"action": "alloc", "addr": address, "size": size, "stream": 0, "time_us": index, **other}


def free(index, address, size, **other):
    return {"action": "free_completed", "addr": address, "size": size, "stream": 0, "time_us": index, **other}


def snapshot(*traces, segments=(), **other):
    return pickle.dumps({"segments": list(segments), "device_traces": list(traces), **other}, 4)


def streams(count):
    """A block on each of as many streams."""
    return snapshot([alloc(n, BASE + n * 4 * MIB, 3 * MIB, stream=n + 1) for n in range(count)])


def streams_that_free(count):
    """A block on each of as many streams, freed at once: each leaves pages to the others."""
    trace = []
    for n in range(count):
        place = BASE + n * 64 * MIB
        trace += [alloc(n, place, (3 + n % 5) * MIB, stream=n + 1)]
        trace += [free(n, place, (3 + n % 5) * MIB, stream=n + 1)] if n % 2 else []
    return snapshot(trace)


def streams_downwards(count):
    return snapshot([alloc(n, BASE + n * 4 * MIB, MIB // 2, stream=count - n) for n in range(count)])


def pools(count):
    """A block in each of as many private pools, in a segment of its own."""
    trace = []
    for n in range(count):
        place, pool = BASE + n * 4 * MIB, (0, n + 1)
        trace += [{"action": "segment_alloc", "addr": place, "size": 2 * MIB, "time_us": n, "segment_pool_id": pool}]
        trace += [alloc(n, place, 1024, pool_id=pool), free(n, place, 1024, pool_id=pool)]
    trace += [{"action": "segment_free", "addr": BASE + n * 4 * MIB, "size": 2 * MIB} for n in range(count)]
    return snapshot(trace)


def frees(count):
    """Only frees: each tells of a block that was there before."""
    return snapshot([free(n, BASE + n * 4 * MIB, MIB) for n in range(count)])


def segment_frees(count):
    """Only segments that go: each was there before."""
    gone = [{"action": "segment_free", "addr": BASE + n * 4 * MIB, "size": 2 * MIB, "time_us": n} for n in range(count)]
    return snapshot([alloc(0, BASE, 1024), *gone])


def segments(count):
    """Segments that come, each with a block."""
    trace = []
    for n in range(count):
        place = BASE + n * 32 * MIB
        trace += [{"action": "segment_alloc", "addr": place, "size": 20 * MIB, "time_us": n}, alloc(n, place, 2 * MIB)]
    return snapshot(trace)


def segments_of_state(count):
    """Segments that lie over each other, and blocks in them."""
    head = {"device": 0, "address": BASE, "total_size": GIB, "segment_type": "large", "blocks": []}
    block = {"size": 512, "requested_size": 512, "state": "active_allocated", "frames": []}
    blocks = [dict(block, address=BASE + n * 512) for n in range(count)]
    over = [dict(head, address=BASE - n * 512) for n in range(count)]
    trace = [alloc(n, BASE + GIB + n * 4 * MIB, MIB) for n in range(8)]
    return snapshot(trace, segments=[*over, dict(head, blocks=blocks)])


def holes(count):
    """Pages that go between blocks that stay, then requests that fit into none of the holes."""
    place = lambda n: BASE + n * 2 * MIB
    trace = [{"action": "segment_map", "addr": place(n), "size": 2 * MIB, "time_us": n} for n in range(count)]
    trace += [alloc(count + n, place(n), 2 * MIB) for n in range(count)]
    trace += [free(count + n, place(n), 2 * MIB) for n in range(0, count, 2)]
    trace += [{"action": "segment_unmap", "addr": place(n), "size": 2 * MIB} for n in range(0, count, 2)]
    trace += [alloc(count + n, place(n), 3 * MIB) for n in range(count, 2 * count)]
    return snapshot(trace)


def idle_pages(count):
    """Many free blocks on one stream, then many requests on another that take their pages."""
    place = lambda n: BASE + n * 8 * MIB
    trace = [alloc(n, place(n), (3 if n % 2 else 4) * MIB) for n in range(count)]
    trace += [free(n, place(n), 4 * MIB) for n in range(0, count, 2)]
    trace += [alloc(count + n, place(n), 5 * MIB + n * 512, stream=1 + n % 7) for n in range(count, 2 * count)]
    return snapshot(trace)


def huge(count):
    """A few requests of terabytes."""
    return snapshot([alloc(n, BASE + n * (1 << 40), 1 << 40, stream=n % 64) for n in range(count)])


def huge_moves(count):
    """Half a terabyte that comes and goes on two streams in turn."""
    trace = []
    for n in range(count):
        trace += [alloc(n, BASE, 1 << 39, stream=n % 2), free(n, BASE, 1 << 39, stream=n % 2)]
    return snapshot(trace)


def misses(count):
    """Blocks that lie where no allocator would put them: the model is set right after each."""
    start = {"device": 0, "address": BASE, "total_size": count * MIB, "segment_type": "large", "blocks": []}
    order = list(range(count))
    random.Random(1).shuffle(order)
    trace = [free(n, BASE + n * MIB, 512) for n in range(0, count, 2)]
    trace += [alloc(count + n, BASE + spot * MIB + 4096, 1024) for n, spot in enumerate(order)]
    return snapshot(trace, segments=[start])


def stacks(count):
    """A stack for each block."""
    frames = lambda n: [{"name": f"f{n}", "filename": "a.py", "line": n}]
    return snapshot([alloc(n, BASE + n * MIB, 1024, frames=frames(n)) for n in range(count)])


def stacks_of_devices(count):
    """Very many stacks, and devices of which each knows only the last."""
    frames = lambda n: [{"name": f"f{n}", "filename": "a.py", "line": n}]
    first = [alloc(n, BASE + n * MIB, 1024, frames=frames(n)) for n in range(count)]
    return snapshot(first, *[[alloc(0, BASE, 1024, frames=first[-1]["frames"])] for _ in range(1000)])


def failures_of_stacks(count):
    """Very many stacks, then failures that each look at all of them."""
    frames = lambda n: [{"name": f"f{n}", "filename": "a.py", "line": n}]
    head = {"device": 0, "address": BASE, "total_size": count * 4 * MIB, "segment_type": "large", "blocks": []}
    trace = [alloc(n, BASE + n * 4 * MIB, 1024, frames=frames(n)) for n in range(count)]
    trace += [{"action": "oom", "addr": 0, "size": GIB, "stream": 0, "time_us": count + n} for n in range(4096)]
    return snapshot(trace, segments=[head])


def deep_stacks(count):
    """Stacks of 400 frames that share all but the first."""
    common = [{"name": f"g{n}", "filename": "b.py", "line": n} for n in range(400)]
    return snapshot([
        alloc(n, BASE + n * MIB, 1024, frames=[{"name": "f", "filename": "a.py", "line": n}, *common])
        for n in range(count)
    ])


def one_deep_stack(count):
    frames = [{"name": f"g{n}", "filename": f"b{n}.py", "line": n} for n in range(count)]
    return snapshot([alloc(n, BASE + n * MIB, 1024, frames=frames) for n in range(4)])


def ooms(count):
    """Failures beside as many blocks."""
    trace = []
    for n in range(count):
        trace += [alloc(n, BASE + n * MIB, 1024, stream=n % 7)]
        trace += [{"action": "oom", "addr": 0, "size": GIB, "stream": 0, "time_us": n}]
    return snapshot(trace)


def devices(count):
    """As many devices as there may be, each with blocks and failures."""
    one = lambda d: [
        {"action": "segment_alloc", "addr": BASE, "size": 20 * MIB, "time_us": 0},
        *[alloc(n, BASE + n * 1024, 1024) for n in range(count // 1024)],
        {"action": "oom", "addr": 0, "size": GIB, "stream": 0, "time_us": count},
    ]
    return snapshot(*[one(d) for d in range(1024)])


def marks(count):
    """Iterations and annotations without end."""
    own = [{"stage": "START", "name": f"whyoom iteration: {n}", "device": 0, "time_us": n} for n in range(count)]
    return snapshot([alloc(n, BASE + n * MIB, 1024) for n in range(100)], external_annotations=own)


def marks_of_devices(count):
    own = [{"stage": "START", "name": f"step {n}", "device": n % 1000, "time_us": n} for n in range(count)]
    return snapshot([alloc(n, BASE + n * MIB, 1024) for n in range(100)], external_annotations=own)


def settings(count):
    trace = [alloc(n, BASE + n * MIB, 1024) for n in range(100)]
    trace += [{"action": "oom", "addr": 0, "size": GIB, "stream": 0, "time_us": 200}]
    return snapshot(trace, allocator_settings={f"setting_{n}": n for n in range(count)})


def iterations(count):
    """A loop whose every step leaves one block more, each from a line of its own."""
    trace = []
    for n in range(count):
        line = [{"name": "step", "filename": "a.py", "line": n % 5000}]
        forward = [{"name": "forward", "filename": "m.py", "line": n % 977}, *line]
        trace += [alloc(n, BASE + n * MIB, 1024, frames=line), alloc(n, BASE + n * MIB + 4096, 1024, frames=forward)]
        trace += [free(n, BASE + n * MIB + 4096, 1024)]
    return snapshot(trace)


def growing_sizes(count):
    """Blocks of ever other sizes that are freed in turn: a bin holds all of them."""
    trace = [alloc(n, BASE + n * 64 * MIB, 32 * MIB + n * 512) for n in range(count)]
    trace += [free(count + n, BASE + n * 64 * MIB, 32 * MIB) for n in range(count)]
    trace += [alloc(2 * count + n, BASE + n * 64 * MIB, 32 * MIB + n * 512) for n in range(count)]
    return snapshot(trace)


def cuts(count):
    """Segments that go again and again, so that all pools are looked through each time."""
    trace = []
    for n in range(count):
        place = BASE + n * 4 * MIB
        trace += [{"action": "segment_alloc", "addr": place, "size": 2 * MIB}, alloc(n, place, 1024)]
        if n:
            trace += [{"action": "segment_free", "addr": place - 4 * MIB, "size": 2 * MIB}]
    return snapshot(trace)


def rmm(rows):
    return ("Thread,Time,Action,Pointer,Size,Stream\n" + "".join(rows)).encode()


def rmm_row(n, action, address, size, stream, thread=1):
    clock = f"{n // 3600000 % 24:02}:{n // 60000 % 60:02}:{n // 1000 % 60:02}.{n % 1000:03}000"
    return f"{thread},{clock},{action},{address:#x},{size},{stream:#x}\n"


def rmm_streams(count):
    return rmm(rmm_row(n, "allocate", BASE + n * MIB, 4096, n + 1) for n in range(count))


def rmm_streams_in_turn(count):
    rows = []
    for n in range(count):
        rows += [rmm_row(n, "allocate", BASE + n * MIB, 4096, n + 1), rmm_row(n, "free", BASE + n * MIB, 4096, n + 1)]
    return rmm(rows)


def rmm_failures(count):
    rows = []
    for n in range(count):
        rows += [rmm_row(n, "allocate", BASE + n * MIB, 4096, n % 9)]
        rows += [rmm_row(n, "allocate failure", 0, 1 << 30, n % 9)]
    return rmm(rows)


def rmm_runs(count):
    head = "Thread,Time,Action,Pointer,Size,Stream\n"
    return (head.join(rmm_row(n, "allocate", BASE, 4096, 0) for n in range(count))).encode()


def rmm_threads(count):
    return rmm(rmm_row(n, "allocate", BASE + n * MIB, 4096, 0, thread=n) for n in range(count))


MESSAGE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {} MiB. GPU {} has a total capacity of 23.64 GiB "
    "of which 12.00 MiB is free. {}Including non-PyTorch memory, this process has {} MiB memory in use. Of the "
    "allocated memory 7.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n"
)


def text_messages(count):
    return "".join(MESSAGE.format(n + 1, n % 8, "", n) for n in range(count)).encode()


def text_holders(count):
    holders = "".join(f"Process {n} has 1.00 MiB memory in use. " for n in range(count))
    return MESSAGE.format(5, 0, holders, 7).encode()


def text_ranks(count):
    return "".join(f"[rank{n}]: " + MESSAGE.format(5, n % 8, "", 7) for n in range(count)).encode()


def text_tracebacks(count):
    frames = "".join(f'  File "/home/me/f{n}.py", line {n}, in g{n}\n    x()\n' for n in range(count))
    return ("Traceback (most recent call last):\n" + frames + MESSAGE.format(5, 0, "", 7)).encode()


def text_environment(count):
    return ("".join(f"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:{n}\nA{n}={n}\n" for n in range(count)) + MESSAGE.format(5, 0, "", 7)).encode()


def text_smi(count):
    row = "|    {}   N/A  N/A      {}      C   python                                     {}MiB |\n"
    table = "".join(row.format(n % 8, n, n % 9999) for n in range(count))
    return ("| Processes: |\n" + table + MESSAGE.format(5, 0, "", 7)).encode()


def nsys(count, processes=False, streams=False, chains=False, marks=False, devices=False, failures=False, pools=False):
    import pathlib

    make = pathlib.Path(__file__).resolve().parents[2] / "fixtures/imports/make.py"
    source = make.read_text().split("def growing")[0]
    names = {"__file__": str(make)}
    exec(compile(source, str(make), "exec"), names)
    path = pathlib.Path(sys.argv[3])
    export = names["Export"](path, names["TRACED"])
    export.chain(1, "load", "main")
    rows, calls, links, ranges = [], [], [], []
    for n in range(count):
        pid = ((1 << 56) | ((n // 2 % 1000 + 1) << 24)) if processes else names["GLOBAL_PID"]
        device = n % 1000 if devices else 0
        result = 2 if failures and n % 2 else 0
        calls.append((n * 10, n * 10 + 5, 0, pid | 1, n, export.string("cudaMalloc_v3020"), result, n + 2 if chains else 1))
        if not result:
            pool = [BASE + n, 0, n, n, None, None] if pools else [None] * 6
            rows.append((n * 10 + 4, pid, device, 1, BASE + n * MIB, 0, 4096, 2, 0, None, n, n if streams else 7, *pool))
        if chains:
            links.append((n + 2, export.string(f"f{n}"), export.string("/bin/a"), None, n, 0))
        if marks:
            ranges.append((n * 10, n * 10 + 9, 59, None, None, None, f"step {n}", pid | 1, None, None, 0))
    for table, values in (
        ("CUPTI_ACTIVITY_KIND_RUNTIME", calls),
        ("CUDA_GPU_MEMORY_USAGE_EVENTS", rows),
        ("CUDA_CALLCHAINS", links),
        ("NVTX_EVENTS", ranges),
    ):
        if values:
            places = ", ".join("?" * len(values[0]))
            export.connection.executemany(f"INSERT INTO {table} VALUES ({places})", values)
    export.close()


ENDING = b'{"command": ["train"], "pid": 7, "time": 1, "status": 1, "signal": null, "killed_for_memory": 0}'
LINE = b'{"a":1}\n'


def header(name, size, kind=b"0"):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.USTAR_FORMAT)


def packed_recording(pieces):
    """A recording as `tar czf` packs it, with these pieces of a tar archive in it."""
    out, gzip = io.BytesIO(), zlib.compressobj(1, zlib.DEFLATED, 31)
    for piece in (header("run/run.json", len(ENDING)), ENDING.ljust(512, b"\0"), *pieces, b"\0" * 1024):
        out.write(gzip.compress(piece))
    out.write(gzip.flush())
    return out.getvalue()


def packed_file(name, count, unit):
    """A recording with a file of `count` MiB that repeats a unit of a power of two bytes."""
    yield header(name, count * MIB)
    for _ in range(count):
        yield unit * (MIB // len(unit))


def packed_bad_lines(count):
    return packed_recording(packed_file("run/machine.jsonl", count, LINE))


def packed_marks(count):
    return packed_recording(packed_file("run/torch/1.pickle", count, b"("))


def packed_zeros(count):
    return packed_recording(packed_file("run/7-1.part", count, b"\0"))


def packed_events(count):
    return packed_recording(packed_file("run/7-1-0.events", count, b"\0"))


def packed_unknown(count):
    return packed_recording(packed_file("run/notes.txt", count, b"\0"))


def packed_names(count):
    """Long names of bytes that are no text, of 64 KiB each and of `count` MiB together."""

    def pieces():
        for n in range(count * 16):
            name = b"\xff" * (64 * 1024 - 9) + b"%08d" % n
            yield header("././@LongLink", len(name), b"L") + name + b"\0" + header("x", 0)

    return packed_recording(pieces())


def folder_of_bad_lines(count):
    """A recording that is a folder, with `count` MiB of lines that are no samples."""
    folder = sys.argv[3]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "run.json"), "wb") as file:
        file.write(ENDING)
    with open(os.path.join(folder, "machine.jsonl"), "wb") as file:
        for _ in range(count):
            file.write(LINE * (MIB // len(LINE)))


KINDS = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and name not in {"alloc", "free", "snapshot", "rmm", "rmm_row", "nsys"}
}
KINDS["nsys_failing_processes"] = lambda count: nsys(count, processes=True, failures=True)
KINDS["nsys_failing_pools"] = lambda count: nsys(count, pools=True, failures=True)
for what in ("processes", "streams", "chains", "marks", "devices", "failures", "pools"):
    KINDS[f"nsys_{what}"] = lambda count, what=what: nsys(count, **{what: True})


def main():
    name, count, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    content = KINDS[name](count)
    if content is not None:
        with open(path, "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
