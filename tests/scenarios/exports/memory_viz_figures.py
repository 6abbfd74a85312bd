"""Opens an export with PyTorch's own torch/cuda/_memory_viz.py and prints its figures: memory_viz_figures.py FILE.pickle"""

import json
import pickle
import sys

from torch.cuda import _memory_viz as viz


def main():
    with open(sys.argv[1], "rb") as file:
        data = pickle.load(file)
    # Each raises where the parts of the file do not add up.
    summary, text, plot = viz.segsum(data), viz.trace(data), viz.trace_plot(data)
    viz.segment_plot(data)
    flames = viz.memory(data, format_flamegraph=lambda lines: lines)
    devices = {}
    for segment in data["segments"]:
        device = devices.setdefault(segment["device"], dict.fromkeys(
            ("reserved_bytes", "allocated_bytes", "active_bytes", "requested_bytes", "active_blocks", "segments"), 0))
        active = [block for block in segment["blocks"] if block["state"] != "inactive"]
        device["reserved_bytes"] += segment["total_size"]
        device["allocated_bytes"] += viz.calc_active(segment)
        device["active_bytes"] += sum(block["size"] for block in active)
        device["active_blocks"] += len(active)
        device["requested_bytes"] += sum(
            block["requested_size"] for block in active if block["state"] == "active_allocated")
        device["segments"] += 1
    traces = [len(trace) for trace in data["device_traces"]]
    flame_bytes = sum(int(line.rsplit(" ", 1)[1]) for line in flames.splitlines())
    print(json.dumps({
        "devices": devices,
        "entries": traces,
        "failures": [entry["size"] for trace in data["device_traces"] for entry in trace if entry["action"] == "oom"],
        "flame_bytes": flame_bytes,
        "summary": [line for line in summary.splitlines() if line.startswith("total")],
        "trace_lines": len(text.splitlines()),
        "plot_bytes": len(plot),
        "settings": len(data["allocator_settings"]),
    }))


if __name__ == "__main__":
    main()
