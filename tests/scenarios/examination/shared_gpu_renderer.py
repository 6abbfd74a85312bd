"""A renderer that leaves room for its neighbours: it may take 47 % of the GPU. Frames of several
sizes are composed, and a preview of each is kept for the session.
True: the cap refuses what the GPU has; and, less, the previews split the segments of the frames."""

import json

import torch

SHARE = 0.47
FRAMES = [1920, 2160, 2400, 2640, 2880, 3120, 3360, 3600]


def compose(height, layers=8):
    width = height * 16 // 9
    frame = torch.zeros(layers, height, width, device="cuda")
    blended = frame.clamp(0, 1)
    del frame
    picture = blended.mean(dim=0)
    del blended
    return picture.repeat(3, 1, 1)


def report(_device, _asked, allowed, _free):
    capacity = torch.cuda.get_device_properties(0).total_memory
    stats = torch.cuda.memory_stats()
    split = stats["reserved_bytes.large_pool.current"] - stats["allocated_bytes.large_pool.current"]
    print(json.dumps({"bytes": capacity - allowed, "split": split}), flush=True)


def main():
    torch._C._cuda_attach_out_of_memory_observer(report)
    torch.cuda.set_per_process_memory_fraction(SHARE)
    previews = []
    for height in FRAMES:
        previews.append(compose(height))
    print(len(previews), "frames, peak", torch.cuda.max_memory_reserved() >> 20, "MiB reserved")


if __name__ == "__main__":
    main()
