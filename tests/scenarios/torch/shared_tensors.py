"""CUDA tensors through a queue between two processes: one memory, paid for once."""

import torch
import torch.multiprocessing as multiprocessing

from models import report

MIB = 1 << 20
COUNT = 64 * MIB // 4


def child(inbox, outbox) -> None:
    tensor = inbox.get()
    outbox.put((float(tensor[7].item()), tensor.is_cuda, torch.cuda.memory_allocated()))
    tensor[9:11].copy_(torch.tensor([5.0, 6.0]))
    torch.cuda.synchronize()
    outbox.put("written")
    inbox.get()
    del tensor
    torch.cuda.synchronize()
    outbox.put("gone")
    inbox.get()


def main() -> None:
    context = multiprocessing.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    tensor = torch.zeros(COUNT, device="cuda")
    tensor.copy_(torch.arange(COUNT, dtype=torch.float32))
    torch.cuda.synchronize()
    process = context.Process(target=child, args=(inbox, outbox))
    process.start()
    inbox.put(tensor)
    seventh, on_device, allocated = outbox.get(timeout=120)
    assert seventh == 7.0 and on_device, f"the child reads what the parent wrote: {seventh}"
    assert allocated == 0, f"the child allocated {allocated} bytes of its own"
    assert outbox.get(timeout=60) == "written"
    seen = tensor[9:11].cpu().tolist()
    assert seen == [5.0, 6.0], f"the parent reads what the child wrote: {seen}"
    total = torch.cuda.mem_get_info()[1]
    during = torch.cuda.mem_get_info()[0]
    inbox.put("drop it")
    assert outbox.get(timeout=60) == "gone"
    after = torch.cuda.mem_get_info()[0]
    # Opening and closing it moves nothing: it is the parent's.
    assert after == during, f"{after} free after the child dropped it, {during} before"
    inbox.put("end")
    process.join(60)
    assert process.exitcode == 0, f"the child ended with {process.exitcode}"
    report({"shared": tensor.numel() * 4, "total": total, "free_with_two_processes": during})


if __name__ == "__main__":
    main()
