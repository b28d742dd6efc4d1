import torch


class Agent:
    def soft_update(self, tau):
        for target, param in zip(self.critic_target.parameters(), self.critic.parameters()):  # want
            target.data.copy_(tau * param.data + (1 - tau) * target.data)

    def momentum_update(self, m):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):  # want
            k.data = k.data * m + q.data * (1.0 - m)

    def clip(self):
        for name, p in self.critic.named_parameters():  # want
            if p.grad is not None:
                p.grad.data.clamp_(-1, 1)

    def noise(self):
        for p in self.critic.parameters():  # want
            p.data.add_(torch.randn_like(p), alpha=0.1)

    def from_generator(self, params, decay):
        params = self.critic.parameters()
        for p in params:  # want
            p.data.mul_(decay).add_(1.0)


def train(critic, loader):
    agent = Agent()
    agent.critic = critic.cuda()
    agent.critic_target = critic.cuda()
    agent.encoder_q = critic.cuda()
    agent.encoder_k = critic.cuda()
    opt = torch.optim.SGD(agent.critic.parameters(), lr=0.1)
    for x in loader:
        critic(x.cuda()).mean().backward()
        opt.step()
        agent.soft_update(0.005)
        agent.momentum_update(0.99)
        agent.clip()
        agent.noise()
        agent.from_generator(None, 0.9)
