from torch.nn.utils.rnn import pad_sequence


def collate(items):
    return pad_sequence(items, batch_first=True)
