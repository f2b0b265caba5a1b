"""Somebody's data-parallel training: torchrun starts a rank of it for each GPU.

    ddp_train.py ddp|fsdp own|BATCH STEPS    own: it measures itself by the Python package
"""

import contextlib
import os
import sys

import torch
from torch import distributed, nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel


def main(way, batch, steps):
    distributed.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.Conv2d(64, 256, 3, 2, 1), nn.ReLU(),
                          nn.Flatten(), nn.Linear(256 * 56 * 56, 64)).cuda()
    model = FullyShardedDataParallel(model) if way == "fsdp" else DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters())
    trial, step = contextlib.nullcontext(), lambda **_: None
    if batch == "own":
        import autobatch
        batch, trial, step = autobatch.batch(32), autobatch.trial(), autobatch.step
    with trial:
        for _ in range(int(steps)):
            samples = torch.zeros(int(batch), 3, 224, 224, device="cuda")
            loss = model(samples).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step(loss=loss, batch=samples)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
