#!/usr/bin/env python3
"""What one PyTorch version makes of the CUDA allocator's settings, as JSON.

    python probe.py --lab bin/whyoom --python venv/bin/python --jobs 2 > out.json
    bin/whyoom lab run --memory 8GiB -- python probe.py > out.json     (already under the lab)

Every case is a process that imports torch, allocates one number on a simulated
8 GiB GPU with the case's environment, and then measures by behaviour which
settings are in effect.  Needs nothing but torch.

Most cases are forks of a process that has imported torch and not used the GPU,
which is ten times cheaper than a fresh one: settings are read at the first use
(the group "late" shows it for the version).  Only the backend is read while
torch is imported: cases with backend:cudaMallocAsync first are forks of a
process that was started with just that, and the other cases with a backend and
the merged strings are fresh processes.  --fresh starts a fresh process for each
case, to check that this makes no difference.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys

# ---------------------------------------------------------------- the child

CHILD = r'''
import json, os, sys
case = json.loads(os.environ.pop("PROBE_CASE"))
import torch
for name, value in case.get("after_import", {}).items():
    os.environ[name] = value
x = torch.zeros(1, device="cuda")
print("@@allocated", file=sys.stderr, flush=True)
for name, value in case.get("after_first", {}).items():
    os.environ[name] = value
if "set" in case:                                  # settings changed in the running program
    torch.cuda.memory._set_allocator_settings(case["set"])
    print("@@set", file=sys.stderr, flush=True)
MiB = 2**20
cuda = torch.cuda
out = {}

def empty(mib):
    return torch.empty(mib * MiB, dtype=torch.uint8, device="cuda")

def measure(name, function):
    try:
        out[name] = function()
    except Exception as error:
        out[name] = "error: " + str(error).split("\nException raised from")[0]

def attempt(mib):
    try:
        empty(mib)
        return "fits"
    except Exception as error:
        return type(error).__name__ + ": " + str(error).split("\nException raised from")[0]

def allocated(mib):                                # what a request is rounded up to
    before = cuda.memory_allocated()
    block = empty(mib)
    return (cuda.memory_allocated() - before) / MiB

def reserved(*sizes):                              # reserved after each of these, one after another
    cuda.empty_cache()
    before, seen = cuda.memory_reserved(), []
    for size in sizes:
        block = empty(size)
        seen.append((cuda.memory_reserved() - before) / MiB)
        del block
    return seen

def segments(kind):
    block = empty(3)
    return sorted({s.get(kind) for s in cuda.memory._snapshot()["segments"]}, key=str)

def pinned(mib):                                   # bytes the host allocator takes, where it counts them
    block = torch.empty(mib * MiB, dtype=torch.uint8, pin_memory=True)
    stats = cuda.host_memory_stats()
    return {k: stats[k] / MiB for k in ("allocated_bytes.current", "reserved_bytes.current",
            "active_bytes.current") if k in stats}

measure("backend", lambda: cuda.get_allocator_backend())
measure("settings", lambda: cuda.memory._snapshot().get("allocator_settings"))
measure("segments_expandable", lambda: segments("is_expandable"))
measure("reserved_for_3MiB", lambda: reserved(3))
measure("rounded_9MiB", lambda: allocated(9))
measure("rounded_600MiB", lambda: allocated(600))
measure("reserved_300_30_150MiB", lambda: reserved(300, 30, 150))
measure("pinned_5MiB", lambda: pinned(5))
if "fraction" in case:
    cuda.set_per_process_memory_fraction(case["fraction"])
measure("fraction", lambda: cuda.get_per_process_memory_fraction() if hasattr(cuda, "get_per_process_memory_fraction") else None)
cuda.empty_cache()
measure("attempt_5GiB", lambda: attempt(5 * 1024))
if case.get("oom"):
    measure("attempt_9GiB", lambda: attempt(9 * 1024))
    measure("stats", lambda: {k: v for k, v in cuda.memory_stats().items() if k in ("num_ooms", "num_alloc_retries", "num_oom_rejections")})
print("@@" + json.dumps(out))
'''

FORKS = r'''
import json, os, sys, tempfile, traceback
import torch
CHILD = json.loads(os.environ.pop("PROBE_CHILD"))
for line in sys.stdin:
    env = json.loads(line)
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    pid = os.fork()
    if pid == 0:
        os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
        os.environ.update(env)
        code = 0
        try:
            exec(CHILD, {})
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush(), sys.stderr.flush()
        if env["PROBE_EXIT"]:               # slow, and only there for the warnings at exit
            sys.exit(code)
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    texts = []
    for file in (out, err):
        file.seek(0)
        texts.append(file.read().decode(errors="replace"))
    print("@@" + json.dumps([code] + texts), flush=True)
'''

API = r'''
import inspect, json, os, torch
os.environ.pop("PROBE_CASE", None)
def sign(f):
    try: return str(inspect.signature(f))
    except Exception as e: return "no signature: %s; %s" % (e, (getattr(f, "__doc__", "") or "")[:600])
m = torch.cuda.memory
out = {"torch": torch.__version__, "cuda": torch.version.cuda, "python": os.sys.version.split()[0],
  "_record_memory_history": sign(m._record_memory_history),
  "_snapshot": sign(m._snapshot), "_dump_snapshot": sign(m._dump_snapshot),
  "_set_allocator_settings": sign(m._set_allocator_settings),
  "MemPool": sign(torch.cuda.MemPool) if hasattr(torch.cuda, "MemPool") else None,
  "MemPool.__init__": sign(torch.cuda.MemPool.__init__) if hasattr(torch.cuda, "MemPool") else None,
  "use_mem_pool": sign(torch.cuda.use_mem_pool) if hasattr(torch.cuda, "use_mem_pool") else None,
  "memory_module": sorted(n for n in dir(m) if callable(getattr(m, n)) and getattr(getattr(m, n), "__module__", "") == "torch.cuda.memory"),
  "C_functions": sorted(n for n in dir(torch._C) if "lloc" in n and ("etting" in n or "ccelerator" in n) or "memoryFraction" in n or "MemoryFraction" in n),
}
torch.zeros(1, device="cuda")
try: out["snapshot_keys"] = sorted(m._snapshot())
except Exception as e: out["snapshot_keys"] = str(e)
out["stats_not_pools"] = sorted(k for k in torch.cuda.memory_stats() if "." not in k)
print("@@" + json.dumps(out))
'''

# ---------------------------------------------------------------- the cases

KEYS = {  # a plausible value for every key of any version (and three that are none)
    "max_split_size_mb": "128",
    "max_non_split_rounding_mb": "200",
    "garbage_collection_threshold": "0.6",
    "roundup_power2_divisions": "4",
    "roundup_bypass_threshold_mb": "256",
    "backend": "native",
    "expandable_segments": "True",
    "expandable_segments_reserve": "0.5",
    "expandable_segments_reserve_by_class": "[serving:0.5]",
    "expandable_segments_min_reserve": "1G",
    "expandable_segments_handle_type": "posix_fd",
    "release_lock_on_cudamalloc": "True",
    "release_lock_on_hipmalloc": "True",
    "pinned_use_cuda_host_register": "True",
    "pinned_use_hip_host_register": "True",
    "pinned_num_register_threads": "4",
    "pinned_use_background_threads": "True",
    "pinned_reserve_segment_size_mb": "32",
    "pinned_max_round_threshold_mb": "1",
    "pinned_max_cached_size_mb": "64",
    "pinned_free_catch_all": "True",
    "graph_capture_record_stream_reuse": "True",
    "per_process_memory_fraction": "0.5",
    "throw_on_cudamalloc_oom": "True",
    "num_oom_rejections": "1",
    "large_segment_size_mb": "64",
    "max_split_size": "128",
    "use_uvm": "True",
}
GRAMMAR = [
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "roundup_power2_divisions:[256:1,512:2]",
    "roundup_power2_divisions:[256:1, 512:2, >: 8]", "roundup_power2_divisions:[>:4]",
    "roundup_power2_divisions:[]", "roundup_power2_divisions:[256:1,512:2", "roundup_power2_divisions:[256:1,512:2,]",
    "roundup_power2_divisions:3", "roundup_power2_divisions:[300:4]", "roundup_power2_divisions:256:1,512:2",
    "roundup_power2_divisions:[8:1],max_split_size_mb:128",
    " max_split_size_mb : 128 , garbage_collection_threshold : 0.6 ", "max_split_size_mb:128,\n garbage_collection_threshold:0.6",
    "max_split\t_size_mb:128", "", " ", ",", "max_split_size_mb:128,", ",max_split_size_mb:128",
    "max_split_size_mb:128,,garbage_collection_threshold:0.6", "max_split_size_mb:64,max_split_size_mb:128",
    "expandable_segments:True,expandable_segments:False", "not_a_key:1", "max_split_size_mb:128,not_a_key:1",
    "not_a_key:1,max_split_size_mb:128", "not_a_key", "expandable_segments:true", "expandable_segments:TRUE",
    "expandable_segments:1", "expandable_segments:False", "expandable_segments", "expandable_segments:",
    "expandable_segments=True", "max_split_size_mb=128", "max_split_size_mb:128;garbage_collection_threshold:0.6",
    "\"expandable_segments:True\"", "Expandable_Segments:True", "expandable-segments:True",
    "max_split_size_mb:20", "max_split_size_mb:19", "max_split_size_mb:abc", "max_split_size_mb:128MB", "max_split_size_mb:-1",
    "max_split_size_mb:128.7", "max_split_size_mb", "max_split_size_mb:[128]", "garbage_collection_threshold:0",
    "garbage_collection_threshold:1.0", "garbage_collection_threshold:80", "pinned_num_register_threads:3",
    "pinned_num_register_threads:256", "pinned_use_background_threads:1", "backend:cudamallocasync", "backend:hipMallocAsync",
    "per_process_memory_fraction:0", "per_process_memory_fraction:1.5", "large_segment_size_mb:20", "large_segment_size_mb:2",
    "expandable_segments_reserve:8", "expandable_segments_reserve:4G", "expandable_segments_reserve:0",
    "expandable_segments_reserve:abc", "expandable_segments_reserve_by_class:serving:0.5",
]
MERGED = [
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],max_split_size_mb:128,expandable_segments_reserve:8",
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],max_split_size_mb:128,expandable_segments_reserve:8,expandable_segments:True",
    # the operator's string without the key that only the newest version knows
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],max_split_size_mb:128,expandable_segments:True",
    " expandable_segments : True ,\troundup_power2_divisions : [ 256 : 1 , 512 : 2 , > : 8 ] ",
    "expandable_segments:False,max_split_size_mb:128,expandable_segments:True",          # the appended key wins or not
    "expandable_segments_reserve_by_class:[serving:0.25,ads:8G],expandable_segments:True",
    "roundup_power2_divisions:[256:1,512:2],roundup_power2_divisions:4,expandable_segments:True",
    "512:2,1024:4,expandable_segments:True",                                             # what a naive split leaves
    "backend:native,garbage_collection_threshold:0.8,per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True,expandable_segments:True",
    "expandable_segments:True,pinned_use_cuda_host_register:True,pinned_num_register_threads:8,graph_capture_record_stream_reuse:True,large_segment_size_mb:64",
]
ALL, CUDA, HIP = "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"
ASYNC = "backend:cudaMallocAsync"
# a setting of the common part, of the CUDA part (read elsewhere in new versions), and of behaviour
A = "max_split_size_mb:64,pinned_num_register_threads:2,expandable_segments:True"
B = "max_split_size_mb:128,pinned_num_register_threads:8,garbage_collection_threshold:0.6"


def cases():
    def case(group, name, env=None, **more):
        return {"group": group, "name": name, "env": env or {}, **more}

    yield case("baseline", "nothing set", oom=True)
    for key, value in KEYS.items():
        setting = f"{key}:{value}"
        oom = key in ("expandable_segments", "throw_on_cudamalloc_oom", "per_process_memory_fraction")
        yield case("key", key, {CUDA: setting}, oom=oom)
        yield case("with expandable_segments", setting, {CUDA: "expandable_segments:True," + setting})
        yield case("with cudaMallocAsync", setting, {CUDA: ASYNC + "," + setting})
    yield case("key", "backend:cudaMallocAsync", {CUDA: ASYNC}, oom=True)
    yield case("with expandable_segments", ASYNC, {CUDA: "expandable_segments:True," + ASYNC})
    yield case("pair", "fraction + throw", {CUDA: "per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True"}, oom=True)
    yield case("pair", "split + rounding", {CUDA: "max_split_size_mb:128,max_non_split_rounding_mb:200"})
    yield case("pair", "expandable off + reserve", {CUDA: "expandable_segments:False,expandable_segments_reserve:0.5"})
    yield case("pair", "fraction + throw + expandable", {CUDA: "per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True,expandable_segments:True"}, oom=True)
    for text in GRAMMAR:
        yield case("grammar", text, {CUDA: text})
    for text in MERGED:
        yield case("merged", text, {CUDA: text})
    for name in (ALL, CUDA, HIP):
        yield case("variable", f"{name} alone", {name: A})
        yield case("variable", f"{name} alone, async", {name: ASYNC})
        yield case("variable", f"{name} alone, unknown key", {name: "not_a_key:1"})
        yield case("variable", f"{name} empty", {name: ""})
        yield case("late", f"{name} after import torch", {}, after_import={name: A})
        yield case("late", f"{name} async after import torch", {}, after_import={name: ASYNC})
        yield case("late", f"{name} after the first allocation", {}, after_first={name: A})
    for first, second in ((ALL, CUDA), (CUDA, HIP), (ALL, HIP)):
        yield case("variable", f"{first}=A {second}=B", {first: A, second: B})
        yield case("variable", f"{first}=B {second}=A", {first: B, second: A})
        yield case("variable", f"{first}=async {second}=native", {first: ASYNC, second: "backend:native"})
        yield case("variable", f"{first}=native {second}=async", {first: "backend:native", second: ASYNC})
        yield case("variable", f"{first}=empty {second}=A", {first: "", second: A})
        yield case("variable", f"{first}=A {second}=empty", {first: A, second: ""})
        yield case("variable", f"{first}=unknown key {second}=A", {first: "not_a_key:1", second: A})
        yield case("variable", f"{first}=A {second}=unknown key", {first: A, second: "not_a_key:1"})
    yield case("variable", "all three: B, A, A", {ALL: B, CUDA: A, HIP: A})
    for name in (ALL, CUDA):
        yield case("set in the program", f"{name}=B, then A", {name: B}, set=A)
    for text in ("expandable_segments:True", "max_split_size_mb:128", "", "not_a_key:1", ASYNC, "per_process_memory_fraction:0.5"):
        yield case("set in the program", text, {}, set=text)
    yield case("fraction in the program", "0.5", {}, fraction=0.5, oom=True)
    yield case("fraction in the program", "0.5, expandable", {CUDA: "expandable_segments:True"}, fraction=0.5, oom=True)


# ---------------------------------------------------------------- running one

VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING")
TIME = re.compile(r"^\[(?:rank\d+\]:\[)?([WEIF])\d{4} [\d:.]+ ")     # [W1119 16:42:20.449060763 File.cpp:28]


def clean():
    return {k: v for k, v in os.environ.items() if k not in VARIABLES}


def environment(case):
    return {**case["env"], "PROBE_EXIT": "1" if case.get("group") in ("variable", "late") else "", "PROBE_CASE": json.dumps({k: v for k, v in case.items() if k not in ("env", "group", "name")})}


def command_line(program, options):
    lab = [options.lab, "lab", "run", "--memory", "8GiB", "--"] if options.lab else []
    return lab + [options.python, "-c", program]


class Forks:
    """One process that has imported torch and forks a child for each case."""
    def __init__(self, options, env):
        self.process = subprocess.Popen(command_line(FORKS, options), env={**clean(), **env, "PROBE_CHILD": json.dumps(CHILD)},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def start(self, case):
        self.process.stdin.write(json.dumps(environment(case)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return subprocess.CompletedProcess("fork", *json.loads(line[2:]))


def start(program, case, options):
    env = {**clean(), **environment(case)}
    command = command_line(program, options)
    try:
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(command, "timeout", "", (error.stderr or b"").decode())


def notices(text):
    """The lines of stderr that PyTorch wrote, without the lab's own and without times."""
    lines = [TIME.sub(r"[\1 ", line) for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(("whyoom lab:", "@@"))]


def exception(text):
    """The exception's text, from behind the last traceback."""
    text = text.split("\nException raised from")[0]
    parts = re.split(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*", text, flags=re.M)
    if len(parts) > 1:                      # without warnings that follow at exit
        return "\n".join(line for line in parts[-1].strip().splitlines() if not TIME.match(line))
    return "\n".join(notices(text)[-8:])


def parent(case):
    """Which process the case is forked from, if not fresh."""
    if case["group"] == "with cudaMallocAsync":
        return ASYNC
    if case["group"] in ("baseline", "merged") or "backend" in str(case["env"]):
        return None
    return "plain"


def run(case, options, forks=None):
    done = forks.start(case) if forks else start(CHILD, case, options)
    before, _, after = done.stderr.partition("@@allocated")
    result = {"env": case["env"], "accepted": done.returncode == 0, "process": "forked" if forks else "fresh"}
    result.update({k: case[k] for k in ("set", "fraction", "after_import", "after_first") if k in case})
    if done.returncode != 0:
        result["exit"] = done.returncode
        result["where"] = "import or first allocation" if not after else "set in the program" if "set" in case and "@@set" not in after else "measuring"
        result["error"] = exception(done.stderr)
    warnings = notices(before if done.returncode == 0 else before.split("Traceback (most")[0])
    if warnings:
        result["stderr"] = warnings
    if done.returncode == 0:
        result["effect"] = json.loads(done.stdout.rsplit("@@", 1)[1])
        later = [line for line in notices(after) if "llocator" in line or "arning" in line]
        if later:
            result["stderr_later"] = later
    return result


def difference(effect, base):
    """What differs from the run with nothing set; settings one by one."""
    out = {k: v for k, v in effect.items() if k != "settings" and v != base.get(k) and k not in ("attempt_9GiB", "stats")}
    out.update({k: effect[k] for k in ("attempt_9GiB", "stats") if k in effect})
    mine, default = effect.get("settings"), base.get("settings") or {}
    if isinstance(mine, dict):
        changed = {k: v for k, v in mine.items() if v != default.get(k)}
        if isinstance(changed.get("roundup_power2_divisions"), dict):
            changed["roundup_power2_divisions"] = " ".join(f"{k}:{v}" for k, v in mine["roundup_power2_divisions"].items())
        out["settings"] = changed
    elif mine != default:
        out["settings"] = mine
    return out


def library_keys(python):
    """Words in the libraries that look like a key, to find candidates that KEYS lacks."""
    where = subprocess.run([python, "-c", "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"],
                           capture_output=True, text=True).stdout.strip()
    found = {}
    for name in ("libc10.so", "libc10_cuda.so"):
        with open(os.path.join(where, "lib", name), "rb") as f:
            data = f.read()
        for word in re.findall(rb"[a-z][a-z0-9_]{5,47}(?=\0)", data):
            if re.search(rb"_mb$|^pinned_|^expandable_|^max_(split|non)|^roundup_|^garbage_|^release_lock|^graph_capture_rec|^per_process_|^throw_on|^large_seg|_conf$", word):
                found.setdefault(name, set()).add(word.decode())
    return {k: sorted(v) for k, v in found.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lab", help="path of whyoom; each case then runs in a lab of its own")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="a fresh process for every case")
    parser.add_argument("--values", help="file with a JSON list of values of the variable: these are tried, and no other case")
    parser.add_argument("--only", help="regular expression over 'group: name'")
    options = parser.parse_args()
    api = start(API, {"env": {}}, options)
    out = {"api": json.loads(api.stdout.rsplit("@@", 1)[1]) if api.returncode == 0 else exception(api.stderr)}
    out["words_in_libraries"] = library_keys(options.python)
    base = run({"group": "baseline", "name": "", "env": {}, "oom": True}, options)
    out["baseline"] = base
    all_cases = list(cases())
    if options.values:
        with open(options.values) as file:
            values = json.load(file)
        all_cases = [{"group": "values", "name": value, "env": {CUDA: value}, "oom": True} for value in values]
    todo = [c for c in all_cases if not options.only or re.search(options.only, f"{c['group']}: {c['name']}")]
    fresh = [c for c in todo if options.fresh or not parent(c)]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs if options.lab else 1) as pool:
        later = pool.map(lambda c: run(c, options), fresh)
        for kind, env in (("plain", {}), (ASYNC, {CUDA: ASYNC})):
            forks = None
            for case in todo:
                if case not in fresh and parent(case) == kind:
                    forks = forks or Forks(options, env)
                    results[case["group"], case["name"]] = run(case, options, forks)
            if forks:
                forks.process.stdin.close()
                forks.process.wait()
        for case, result in zip(fresh, later):
            results[case["group"], case["name"]] = result
    for case in todo:
        result = results[case["group"], case["name"]]
        if "effect" in result and "effect" in base:
            result["effect"] = difference(result["effect"], base["effect"])
        out.setdefault(case["group"], {})[case["name"]] = result
    json.dump(out, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
