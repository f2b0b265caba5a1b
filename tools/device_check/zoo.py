"""Ten models as the measurements train them, made of torch alone so that nothing else has to be installed."""

from __future__ import annotations

import torch
from torch import nn


class Block(nn.Module):
    """A residual block: two 3x3 convolutions, or three with a bottleneck."""

    def __init__(self, before: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        after = width * (4 if bottleneck else 1)
        shapes = [(before, width, 1, 1), (width, width, 3, stride), (width, after, 1, 1)]
        if not bottleneck:
            shapes = [(before, width, 3, stride), (width, width, 3, 1)]
        layers: list[nn.Module] = []
        for i, o, size, step in shapes:
            layers += [nn.Conv2d(i, o, size, step, size // 2, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*layers[:-1])
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.skip = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.skip(x))


def resnet(depths: list[int], bottleneck: bool) -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                               nn.MaxPool2d(3, 2, 1)]
    before = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for i in range(depth):
            layers.append(Block(before, width, 2 if stage > 0 and i == 0 else 1, bottleneck))
            before = width * (4 if bottleneck else 1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))


def vgg(plan: list[int]) -> nn.Module:
    layers: list[nn.Module] = []
    before = 3
    for width, count in zip([64, 128, 256, 512, 512], plan):
        for _ in range(count):
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU(inplace=True)]
            before = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(inplace=True),
                         nn.Linear(4096, 1000))


class Transformer(nn.Module):
    """Over patches of an image, or over words."""

    def __init__(self, width: int, depth: int, heads: int, words: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16) if words == 0 else None
        self.table = nn.Embedding(words, width) if words else None
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, words or 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.table is not None:
            return self.head(self.body(self.table(x)))
        assert self.patches is not None
        return self.head(self.body(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


MODELS = {
    "resnet18": lambda: resnet([2, 2, 2, 2], False),
    "resnet34": lambda: resnet([3, 4, 6, 3], False),
    "resnet50": lambda: resnet([3, 4, 6, 3], True),
    "resnet101": lambda: resnet([3, 4, 23, 3], True),
    "vgg11": lambda: vgg([1, 1, 2, 2, 2]),
    "vgg16": lambda: vgg([2, 2, 3, 3, 3]),
    "vit-small": lambda: Transformer(384, 12, 6, 0),
    "vit-base": lambda: Transformer(768, 12, 12, 0),
    "words-small": lambda: Transformer(512, 6, 8, 32000),
    "words-base": lambda: Transformer(768, 12, 12, 50257),
}


def step(model: nn.Module, optimizer: torch.optim.Optimizer, name: str, batch: int) -> None:
    """One training step on data made on the device."""
    if name.startswith("words"):
        inputs = torch.zeros(batch, 256, dtype=torch.long, device="cuda")
    else:
        inputs = torch.empty(batch, 3, 224, 224, device="cuda")
    loss = model(inputs).float().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
