import torch
from torch import nn

N_ENVS, HORIZON = 128, 32


class Rollout:
    def __init__(self):
        self.obs, self.actions, self.rewards = [], [], []
        self.values = []

    def add(self, obs, action, reward, value):
        self.obs.append(obs)
        self.actions.append(action)
        self.rewards.append(reward)
        self.values.append(value)

    def reset(self):
        self.obs.clear()
        self.actions.clear()
        self.rewards.clear()


policy = nn.Sequential(nn.Linear(512, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh()).cuda()
pi, vf = nn.Linear(1024, 18).cuda(), nn.Linear(1024, 1).cuda()
opt = torch.optim.Adam([*policy.parameters(), *pi.parameters(), *vf.parameters()], lr=3e-4)
store = Rollout()
for update in range(300):
    obs = torch.zeros(N_ENVS, 512, device="cuda")
    for t in range(HORIZON):
        h = policy(obs)
        value = vf(h)
        action = pi(h).argmax(-1)
        reward = torch.zeros(N_ENVS, device="cuda")
        store.add(obs, action, reward, value)
        obs = torch.randn(N_ENVS, 512, device="cuda")
    o = torch.cat(store.obs)
    adv = torch.cat(store.rewards) - torch.cat(store.values[-HORIZON:]).squeeze(-1).detach()
    for _ in range(2):
        h = policy(o)
        logp = torch.log_softmax(pi(h), -1).gather(1, torch.cat(store.actions)[:, None]).squeeze(1)
        loss = -(logp * adv).mean() + vf(h).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    store.reset()
    if update % 20 == 0:
        print("update", update, flush=True)
