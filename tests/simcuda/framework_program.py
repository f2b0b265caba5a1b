"""What a training program asks of a framework, on one simulated card: `python framework_program.py`.

Prints which torch it is and whether each thing went well, as one JSON line.
"""

import importlib.util
import json

import torch
from torch import nn


def train(model, batch):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler()
    for _ in range(3):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(batch), torch.zeros(len(batch), dtype=torch.long, device="cuda"))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return loss.item() == 0 and torch.cuda.max_memory_reserved() > 0


def convolves():
    layers = nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return train(nn.Sequential(*layers, nn.Linear(32, 10)).cuda(), torch.ones(8, 3, 64, 64, device="cuda"))


def attends():
    layer = nn.TransformerEncoderLayer(64, 4, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(64 * 32, 10))
    return train(model.cuda(), torch.ones(8, 32, 64, device="cuda"))


def runs_out_of_memory():
    """And goes on after it."""
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
        return False
    except torch.OutOfMemoryError as error:
        return "out of memory" in str(error) and torch.ones(1 << 20, device="cuda").is_cuda


def compiles():
    return train(torch.compile(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10)).cuda()),
                 torch.ones(8, 64, device="cuda"))


def main():
    checks = [convolves, attends, runs_out_of_memory]
    if importlib.util.find_spec("triton") is not None:
        checks.append(compiles)
    answers = {check.__name__: check() for check in checks}
    print(json.dumps({"torch": torch.__version__, **answers}), flush=True)


if __name__ == "__main__":
    main()
