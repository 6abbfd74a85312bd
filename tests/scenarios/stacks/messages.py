"""What ranks tell each other arrives: torchrun messages.py. The first rank prints what was checked."""

import json
import os
import time

import torch
import torch.distributed as dist


def integers(*values):
    return torch.tensor(values, dtype=torch.int64, device="cuda")


def objects(rank, world):
    """Objects of different sizes, which only one rank has, or each its own."""
    told = [{"length": 5, "text": "x" * 1000}, None] if rank == 0 else [None, None]
    dist.broadcast_object_list(told, src=0)
    assert told == [{"length": 5, "text": "x" * 1000}, None], told
    gathered = [None] * world
    dist.all_gather_object(gathered, "r" * (rank + 1))
    assert gathered == ["r" * (other + 1) for other in range(world)], gathered


def reductions(rank, world):
    for operation, expected in [
        (dist.ReduceOp.SUM, [sum(range(world)), -world]),
        (dist.ReduceOp.MIN, [0, -1]),
        (dist.ReduceOp.MAX, [world - 1, -1]),
        (dist.ReduceOp.PRODUCT, [0, (-1) ** world]),
    ]:
        value = integers(rank, -1)
        dist.all_reduce(value, operation)
        assert value.tolist() == expected, (operation, value.tolist())
    # Floats are not computed by kernels, but what is copied to the device is there.
    mean = torch.tensor([float(rank)]).cuda()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    assert mean.item() == (world - 1) / 2, mean.item()
    scaled = torch.tensor([1.0]).cuda()
    dist.all_reduce(scaled, dist._make_nccl_premul_sum(0.5))
    assert scaled.item() == world / 2, scaled.item()
    value = integers(rank + 1)
    dist.reduce(value, dst=world - 1)
    assert value.item() == (sum(range(world + 1)) if rank == world - 1 else rank + 1), value.item()


def slots(rank, world):
    """Every rank's part has its place."""
    out = integers(0, 0)
    dist.reduce_scatter_tensor(out, integers(*range(2 * world)))
    assert out.tolist() == [2 * rank * world, (2 * rank + 1) * world], out.tolist()
    out = integers(*[0] * world)
    dist.all_to_all_single(out, integers(*(10 * rank + other for other in range(world))))
    assert out.tolist() == [10 * other + rank for other in range(world)], out.tolist()
    # Parts of different sizes: rank r sends r + 1 numbers to each.
    out = integers(*[0] * sum(range(world + 1)))
    sizes = [other + 1 for other in range(world)]
    dist.all_to_all_single(out, integers(*[rank] * world * (rank + 1)), sizes, [rank + 1] * world)
    assert out.tolist() == [other for other in range(world) for _ in range(other + 1)], out.tolist()
    out = [integers(0) for _ in range(world)]
    dist.all_gather(out, integers(rank))
    assert [one.item() for one in out] == list(range(world)), out
    out = integers(0)
    dist.scatter(out, [integers(7 * other) for other in range(world)] if rank == 0 else None)
    assert out.item() == 7 * rank, out.item()
    out = [integers(0) for _ in range(world)] if rank == 0 else None
    dist.gather(integers(3 * rank), out)
    assert rank or [one.item() for one in out] == [3 * other for other in range(world)], out


def pairs(rank, world):
    """Around a ring: in a group, and one after the other."""
    following, previous = (rank + 1) % world, (rank - 1) % world
    sent, got = integers(rank, 41), integers(0, 0)
    works = dist.batch_isend_irecv([
        dist.P2POp(dist.irecv, got, previous),
        dist.P2POp(dist.isend, sent, following),
    ])
    [work.wait() for work in works]
    assert got.tolist() == [previous, 41], got.tolist()
    # Each rank adds one to what it gets.
    count = integers(99)
    if rank > 0:
        dist.recv(count, previous)
        count = integers(count.item() + 1)
    dist.send(count, following)
    if rank == 0:
        dist.recv(count, previous)
        assert count.item() == 99 + world - 1, count.item()


def order(rank, world):
    """Nobody passes a barrier before the last rank has come to it."""
    folder = os.environ["MESSAGES_FOLDER"]
    for turn in range(3):
        if rank == turn % world:
            time.sleep(0.3)
            open(f"{folder}/{turn}", "w").close()
        dist.barrier()
        assert os.path.exists(f"{folder}/{turn}"), f"rank {rank} passed barrier {turn} too early"


def subgroups(rank, world):
    halves = [dist.new_group(list(range(start, world, 2))) for start in range(2)]
    own = halves[rank % 2]
    value = integers(rank)
    dist.all_reduce(value, group=own)
    assert value.item() == sum(range(rank % 2, world, 2)), value.item()
    value = integers(rank)
    dist.broadcast(value, src=rank % 2, group=own)
    assert value.item() == rank % 2, value.item()


def captured(rank, world):
    """A graph's operations are not exchanged, and do not disturb what follows."""
    value, out = integers(rank + 1), integers(*[0] * world)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dist.all_gather_into_tensor(out, value)
    for _ in range(rank + 1):
        graph.replay()
    torch.cuda.synchronize()
    assert out.tolist() == [rank + 1] * world, out.tolist()
    value = integers(1)
    dist.all_reduce(value)
    assert value.item() == world, value.item()


def sizes(rank, world):
    """What is at the limit arrives; larger data stays as it is, and nobody waits for it."""
    for length in (1 << 20, (1 << 20) - 8, 100_000):
        value = torch.full((length,), 7 * (rank == 0), dtype=torch.uint8).cuda()
        dist.broadcast(value, src=0)
        assert bool((value.cpu() == 7).all()), length
    large = torch.full(((1 << 20) + 8,), rank, dtype=torch.uint8).cuda()
    dist.broadcast(large, src=0)
    assert bool((large.cpu() == rank).all())


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    checks = [objects, reductions, slots, pairs, order, subgroups, captured, sizes]
    for check in checks:
        check(rank, world)
    dist.barrier()
    if rank == 0:
        print(json.dumps({"world": world, "checked": [check.__name__ for check in checks]}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
