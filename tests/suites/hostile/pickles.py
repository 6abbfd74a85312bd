"""Runs `whyoom why` on hostile pickles under a limit of address space, and reports each as JSON.

usage: hostile.py WHYOOM FOLDER
"""

import json
import os
import pickle
import resource
import subprocess
import sys
import time

# Far below what any of these would take if it were believed.
ADDRESS_SPACE = 2 << 30


class Runs:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


LONG = "x" * 1_000_000


def laughs():
    """Lists of lists that unfold into 10^18 entries."""
    node = [{"action": "alloc", "addr": 1, "size": 1}]
    for _ in range(6):
        node = [node] * 1000
    return node


def cases():
    yield "runs a command (REDUCE)", pickle.dumps({"segments": [Runs(os.system, "touch OWNED")]}, 4)
    yield "imports by name (GLOBAL)", b"\x80\x02cos\nsystem\n."
    yield "builds an object (INST)", b"\x80\x02(S'x'\nios\nsystem\n."
    yield "uses a persistent id", b"\x80\x02Pboo\n."
    yield "claims a string of 10^9 bytes", b"\x80\x04X\x00\xca\x9a\x3bshort."
    yield "claims a string of 2^63 bytes", b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fx."
    yield "claims bytes of 10^9", b"\x80\x04B\x00\xca\x9a\x3bshort."
    yield "claims an integer of 10^9 bytes", b"\x80\x04\x8b\x00\xca\x9a\x3bshort."
    yield "claims memo entry 2^32 - 1", b"\x80\x04Nr\xff\xff\xff\xff."
    yield "50 million empty lists", b"\x80\x04" + b"]" * 50_000_000 + b"."
    yield "50 million marks", b"\x80\x04" + b"(" * 50_000_000 + b"."
    yield "nests 5 million lists", b"\x80\x04" + b"]" * 5_000_000 + b"a" * 4_999_999 + b"."
    yield "one entry in a million traces", pickle.dumps({"device_traces": [[{"action": "alloc"}] * 1000] * 1000}, 4)
    yield "unfolds into 10^18 entries", pickle.dumps({"device_traces": laughs()}, 4)
    yield "a list that holds itself", b"\x80\x04}\x8c\x0ddevice_traces]\x94h\x00as."
    wide = {f"key{index}": 1 for index in range(100_000)}
    yield "one dict of 100,000 keys, 100,000 times", pickle.dumps({"segments": [wide] * 100_000}, 4)
    yield "settings that share a dict", pickle.dumps({"segments": [], "allocator_settings": dict.fromkeys(map(str, range(10_000)), wide)}, 4)
    yield "60,000 devices", pickle.dumps({"segments": [{"device": index, "blocks": []} for index in range(60_000)]}, 4)
    yield "segments that are numbers", pickle.dumps({"segments": [1, 2, 3]}, 4)
    yield "an empty file that says pickle", b"\x80\x04"


def accepted():
    """Strange, but no attack: these must be judged, in bounded time and memory too."""
    live = [
        {"address": index << 20, "size": 1 << 20, "requested_size": 1 << 20, "state": "active_allocated", "frames": []}
        for index in range(100_000)
    ]
    segment = {"device": 0, "address": 0, "total_size": 100_000 << 20, "segment_type": "large", "blocks": live}
    ooms = [{"action": "oom", "addr": 0, "size": 1 << 30, "stream": 0, "time_us": time} for time in range(100_000)]
    yield "100,000 failures beside 100,000 blocks", pickle.dumps({"segments": [segment], "device_traces": [ooms]}, 4)
    yield "one long name, 10,000 times", pickle.dumps({"segments": [], "external_annotations": [{"stage": "START", "name": LONG}] * 10_000}, 4)
    name = {"name": LONG, "filename": LONG, "line": 1}
    frames = [dict(name, line=line) for line in range(10_000)]
    block = {"size": 1, "state": "active_allocated", "frames": frames}
    yield "10,000 frames with one long name", pickle.dumps({"segments": [dict(segment, blocks=[block])]}, 4)
    message = b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity)\n"
    yield "20 MB of one message", message * (20_000_000 // len(message))
    numbered = (b"%d: CUDA out of memory. Tried to allocate %d.00 MiB. GPU 0 has a total capac\n" % (n, n) for n in range(200_000))
    yield "200,000 different messages", b"".join(numbered)
    yield "5 MB of one word", b"oom_kill " * 500_000


def run(whyoom, path):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    start = time.perf_counter()
    process = subprocess.Popen(
        [whyoom, "why", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit
    )
    message = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return {
        "status": os.waitstatus_to_exitcode(status),
        "message": message.strip(),
        "seconds": time.perf_counter() - start,
        "resident": usage.ru_maxrss * 1024,
    }


def main():
    whyoom, folder = sys.argv[1:]
    os.chdir(folder)
    results = []
    for expected, inputs in ((1, cases()), (0, accepted())):
        for name, content in inputs:
            path = "hostile.pickle"
            with open(path, "wb") as file:
                file.write(content)
            results.append({"name": name, "expected": expected, **run(whyoom, path)})
    json.dump({"cases": results, "owned": os.path.exists("OWNED")}, sys.stdout)


if __name__ == "__main__":
    main()
