def one_step(model, opt, x):
    loss = model(x.cuda()).mean()
    loss.backward()
    opt.step()
    return loss
