"""Prints what a script can see of how it was started, and trains, so that it is recorded."""
import json
import os
import sys

import torch

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
main = sys.modules["__main__"]
print(json.dumps({
    "argv": sys.argv,
    "name": __name__,
    "main": main.__file__,
    "spec": getattr(main.__spec__, "name", None),
    "package": main.__package__,
    "path": sys.path,
    "meta_path": [str(finder)[:40] for finder in sys.meta_path],
    "folder": os.getcwd(),
    "site": os.environ.get("SITE_SEEN"),
    "loader": type(torch.__spec__.loader).__name__,
    "stdin": sys.stdin.read(),
}))
sys.exit(5)
