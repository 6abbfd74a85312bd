"""The pool's blocks as torch.cuda.memory's snapshot, for memory_viz and `whyoom why`.

Without a history: what the pool did over time is in the recording of `whyoom run`.
"""

INACTIVE, ALLOCATED = 0, 1
STATES = {INACTIVE: "inactive", ALLOCATED: "active_allocated"}
PENDING = "active_pending_free"


def snapshot(pool, devices, which=None):
    """torch._C._cuda_memorySnapshot. Newer versions of torch may name a private pool: (high, low, traces)."""
    wanted = tuple((which or (0, 0))[:2])
    segments = [
        segment
        for device in range(devices)
        for segment in gathered(pool, device)
        if wanted in ((0, 0), segment["segment_pool_id"])
    ]
    return {
        "segments": segments,
        "device_traces": [[] for _ in range(devices)],
        "allocator_settings": {
            "PYTORCH_CUDA_ALLOC_CONF": "",
            "backend": "whyoom",
            "max_split_size": -1,
            "garbage_collection_threshold": 0.0,
            "expandable_segments": False,
        },
        "external_annotations": [],
        "host_segments": [],
        "host_traces": [],
    }


def gathered(pool, device):
    """Segments: blocks of one stream and pool that lie side by side, whatever their sizes."""
    segments, owner, end = [], None, None
    for block in pool.blocks(device):
        its_owner = (block.stream, block.pool)
        if its_owner != owner or block.address != end:
            segments.append(segment_at(device, pool.private_name(device, block.pool), block))
        add(segments[-1], block)
        owner, end = its_owner, block.address + block.size
    return segments


def segment_at(device, private, block):
    return {
        "device": device,
        "address": block.address,
        "total_size": 0,
        "allocated_size": 0,
        "active_size": 0,
        "requested_size": 0,
        "stream": block.stream,
        "segment_type": "large",
        "segment_pool_id": private,
        "is_expandable": True,
        "frames": [],
        "blocks": [],
    }


def add(segment, block):
    state = STATES.get(block.state, PENDING)
    segment["total_size"] += block.size
    if block.state == ALLOCATED:
        segment["allocated_size"] += block.size
    if block.state != INACTIVE:
        segment["active_size"] += block.size
        segment["requested_size"] += block.requested
    segment["blocks"].append(
        {
            "address": block.address,
            "size": block.size,
            "requested_size": block.requested,
            "state": state,
            "frames": [],
        }
    )
