import torch


def train(model, loader, opt, best):
    model = model.cuda()
    for epoch in range(3):
        for step, x in enumerate(loader):
            loss = model(x.cuda()).mean()
            loss.backward()
            opt.step()
            torch.save(model.state_dict(), "last.pt")  # want "torch.save"
            model.save_pretrained("out")  # want
            keep(model)
            if step % 1000 == 0:
                torch.save(model.state_dict(), f"{step}.pt")
            if loss.item() < best:
                torch.save(model.state_dict(), "best.pt")
        torch.save(model.state_dict(), f"epoch{epoch}.pt")
    torch.save(model.state_dict(), "end.pt")


def keep(model):
    torch.save(  # want info
        {
            "model": model.state_dict(),
        },
        "kept.pt",
    )
