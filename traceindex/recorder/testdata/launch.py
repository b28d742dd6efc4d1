"""Starts a script once a rank with the environment that torchrun gives its workers: launch.py PORT SCRIPT."""
import os
import subprocess
import sys

place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": sys.argv[1]}
workers = [
    subprocess.Popen([sys.executable, sys.argv[2]], env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), **place))
    for rank in range(2)
]
sys.exit(max(worker.wait() for worker in workers))
