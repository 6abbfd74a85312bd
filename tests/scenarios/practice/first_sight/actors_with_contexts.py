import torch
import torch.multiprocessing as mp
from torch import nn

ACTORS = 2


def policy():
    return nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 8))


def actor(rank, queue, done):
    torch.set_num_threads(1)
    net = policy().cuda()
    obs = torch.zeros(32, 64, device="cuda")
    with torch.no_grad():
        for t in range(50):
            act = net(obs).argmax(-1)
    queue.put((rank, act.cpu().numpy().tolist()[:1]))
    done.wait()


def main():
    ctx = mp.get_context("spawn")
    queue, done = ctx.Queue(), ctx.Event()
    learner = policy().cuda()
    opt = torch.optim.Adam(learner.parameters())
    procs = [ctx.Process(target=actor, args=(r, queue, done), daemon=True) for r in range(ACTORS)]
    for p in procs:
        p.start()
    ready = []
    while len(ready) < ACTORS:
        ready.append(queue.get(timeout=30))
    print("actors ready", sorted(r for r, _ in ready), flush=True)
    for step in range(20):
        x = torch.randn(100_000, 64, device="cuda")
        loss = learner(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("learned", flush=True)
    done.set()
    for p in procs:
        p.join()


if __name__ == "__main__":
    main()
