from torch.utils.data import DataLoader


def make(ds, n, flag, kwargs):
    DataLoader(ds, persistent_workers=True)  # want "persistent_workers=True"
    DataLoader(ds, num_workers=0, prefetch_factor=2)  # want "prefetch_factor"
    DataLoader(ds, num_workers=0, prefetch_factor=None)
    DataLoader(ds, num_workers=4, persistent_workers=True, prefetch_factor=2)
    DataLoader(ds, num_workers=n, persistent_workers=True)
    DataLoader(ds, num_workers=0, persistent_workers=False)
    DataLoader(ds, persistent_workers=flag)
    DataLoader(ds, persistent_workers=True, **kwargs)
