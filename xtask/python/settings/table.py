"""facts.json -> the tables of README.md (Markdown on standard output)."""
import json, re
F = json.load(open("facts.json"))
V = list(F)

def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for r in rows: print("| " + " | ".join(str(c).replace("|", "\\|") for c in r) + " |")
    print()

def group_equal(name, rows_of):
    """rows {label: [cell per version]}; cells equal to the left one are shown as they are"""
    table([name] + V, [[k] + c for k, c in rows_of.items()])

def sett(x): 
    s = (x.get("effect") or {}).get("settings")
    return s if isinstance(s, dict) else {}

def in_effect(x):
    """which of the strings A and B is in effect, per part"""
    if not x["accepted"]: return "refused"
    e = x["effect"]
    if e.get("backend") == "cudaMallocAsync": return "async"
    s = sett(x)
    common = {67108864: "A", 134217728: "B"}.get(s.get("max_split_size"), "–")
    if common == "–" and s.get("expandable_segments"): common = "A"
    cuda = {2: "A", 8: "B"}.get(s.get("pinned_num_register_threads"), "–")
    segs = e.get("segments_expandable")
    if segs == [True] and common != "A": common += "?"
    return common if common == cuda else f"{common}/{cuda}"

def key_cell(x):
    if not x["accepted"]: return "–"
    return "yes"

if __name__ == "__main__":
    print("## Keys\n")
    group_equal("key", {k: [key_cell(F[v]["key"][k]) if k in F[v]["key"] else "?" for v in V] for k in F[V[-1]]["key"]})
    print("## Variables\n")
    names = [k for k in F[V[-1]]["variable"]]
    group_equal("variable", {k.replace("PYTORCH_", "").replace("_ALLOC_CONF", "").replace("ALLOC_CONF", "ALL"): [in_effect(F[v]["variable"][k]) if k in F[v]["variable"] else "?" for v in V] for k in names})
    print("## Late\n")
    group_equal("late", {k: [in_effect(F[v]["late"][k]) if k in F[v]["late"] else "?" for v in V] for k in F[V[-1]]["late"]})
    print("## Grammar: accepted, and what is set\n")
    def gram(x):
        if not x["accepted"]: return "refused"
        s = {k: v for k, v in sett(x).items() if not k.startswith("PYTORCH")}
        r = s.get("roundup_power2_divisions")
        if r: s["roundup_power2_divisions"] = " ".join(t for t in r.split() if t.split(":")[0] in ("1", "256", "512", "1024", "2048"))
        return "; ".join(f"{k.replace('roundup_power2_divisions','r')}={v}" for k, v in s.items()) or "accepted"
    rows = {}
    for k in F[V[-1]]["grammar"]:
        cells = [gram(F[v]["grammar"][k]) if k in F[v]["grammar"] else "?" for v in V]
        rows["`" + k.replace("\n", "\\n").replace("\t", "\\t") + "`"] = cells
    same = [k for k, c in rows.items() if len(set(c)) == 1]
    group_equal("differs between versions", {k: c for k, c in rows.items() if k not in same})
    table(["the same in all versions", "result"], [[k, rows[k][0]] for k in same])
    print("## Merged\n")
    def merged(x):
        if not x["accepted"]: return "refused"
        e = x["effect"]; s = sett(x)
        out = []
        if e.get("segments_expandable") == [True]: out.append("exp")
        if s.get("max_split_size"): out.append("split %d" % (s["max_split_size"] >> 20))
        if e.get("rounded_600MiB"): out.append("600→%g" % e["rounded_600MiB"])
        if e.get("fraction"): out.append("fraction %g" % e["fraction"])
        if e.get("reserved_for_3MiB"): out.append("large seg %g" % e["reserved_for_3MiB"][0])
        return ", ".join(out) or "accepted"
    for i, k in enumerate(F[V[-1]]["merged"], 1): print(f"{i}. `{k!r}`")
    print()
    group_equal("string", {str(i): [merged(F[v]["merged"][k]) if k in F[v]["merged"] else "?" for v in V] for i, k in enumerate(F[V[-1]]["merged"], 1)})
    print("## With expandable_segments:True / with cudaMallocAsync\n")
    for g in ("with expandable_segments", "with cudaMallocAsync"):
        print("###", g)
        seen = {}
        for v in V:
            for k in F[V[-1]][g]:
                x = F[v].get(g, {}).get(k)
                if x is None:
                    seen.setdefault(k, []).append("?")
                    continue
                alone = F[v]["key"].get(k.split(":")[0] if k.split(":")[0] in F[v]["key"] else k)
                if g.startswith("with e"):
                    cell = "refused" if not x["accepted"] else "async wins" if x["effect"].get("backend") else "both" if x["effect"].get("segments_expandable") == [True] else "NOT expandable"
                    if x.get("stderr"): cell += " W"
                else:
                    e = x.get("effect") or {}
                    p = str(e.get("pinned_5MiB", ""))
                    cell = "refused" if not x["accepted"] else ("pinned: " + ("assert" if "INTERNAL" in p else "unrecognized") if p.startswith("error") else "ok") + (" W" if x.get("stderr_later") and "ignores" in str(x["stderr_later"]) else "")
                seen.setdefault(k, []).append(cell)
        group_equal(g, seen)
    print("## Signatures\n")
    for f in ("_record_memory_history", "MemPool", "_set_allocator_settings"):
        last = None
        for v in V:
            s = F[v]["api"].get(f)
            if s != last: print(f"* {f} from {v}: `{s}`")
            last = s
    for f in ("snapshot_keys", "stats_not_pools", "C_functions"):
        last = None
        for v in V:
            s = F[v]["api"].get(f)
            if s != last: print(f"* {f} from {v}: {s}")
            last = s
    last = None
    for v in V:
        m = F[v]["api"]["memory_module"]
        if last is not None:
            new, gone = sorted(set(m) - set(last)), sorted(set(last) - set(m))
            if new or gone: print(f"* torch.cuda.memory {v}: new {new} gone {gone}")
        last = m
    print("\n## Words in the libraries that no candidate covers\n")
    words = {w for v in V for l in F[v]["words_in_libraries"].values() for w in l} - set(F[V[-1]]["key"])
    print(words)
    print("\n## Warnings and errors, with the versions that have them\n")
    texts = {}
    for v in V:
        for g, cases in F[v].items():
            if g in ("api", "words_in_libraries"): continue
            if g == "baseline": cases = {"baseline": cases.get("nothing set", cases)}
            for k, x in cases.items():
                if not isinstance(x, dict): continue
                for kind in ("stderr", "stderr_later", "error"):
                    for t in ([x[kind]] if isinstance(x.get(kind), str) else x.get(kind) or []):
                        t = re.sub(r"/\S*/(torch|c10)/", r"\1/", t); t = re.sub(r"\.cpp:\d+|\.h\"?:\d+|\"?:\d+, please", lambda m: re.sub(r"\d+", "N", m[0]), t)
                        t = re.sub(r"__init__.py:\d+|<string>:\d+", "F:N", t)
                        t = re.sub(r"'[^']*' in (CUDA|Accelerator)", r"'KEY' in \1", t); t = re.sub(r"option: .*", "option: KEY", t, flags=re.S)
                        t = re.sub(r"[\d.]+ [MG]iB|\b\d{6,}\b", "SIZE", t)
                        texts.setdefault((kind, t[:700]), {}).setdefault(v, 0)
                        texts[kind, t[:700]][v] += 1
    for (kind, t), vs in sorted(texts.items()):
        if t.strip() == "torch._C._cuda_init()": continue
        print(f"* {kind} [{' '.join(vs)}]: {t!r}")
