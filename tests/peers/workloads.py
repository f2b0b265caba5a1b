"""What is trained: the same model, loss and optimizer for every tool and for the run that settles who was right."""

import contextlib
import dataclasses
from collections.abc import Callable

import torch
from torch import nn

from tests.accuracy.models import without_random_weights

_CLASSES = 1000
_TOKENS = 1024


class _Classifier:
    """A torchvision model on images."""
    image = 224

    def __init__(self, name):
        self._name = name

    def model(self):
        import torchvision
        return torchvision.models.get_model(self._name, weights=None, num_classes=_CLASSES)

    def batch(self, count, device):
        return {"images": torch.zeros(count, 3, self.image, self.image, device=device),
                "classes": torch.zeros(count, dtype=torch.long, device=device)}

    @staticmethod
    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch["images"]), batch["classes"])


class _LanguageModel:
    """GPT-2 small on sequences of tokens: no images, so that what only knows images cannot be asked."""
    image = None

    @staticmethod
    def model():
        import transformers
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False))

    @staticmethod
    def batch(count, device):
        return {"tokens": torch.zeros(count, _TOKENS, dtype=torch.long, device=device)}

    @staticmethod
    def loss(model, batch):
        return model(input_ids=batch["tokens"], labels=batch["tokens"]).loss


class _UNet(nn.Module):
    """The U-Net of Ronneberger, Fischer and Brox (2015) with padding and batch norm, as it is built today."""

    def __init__(self, widths=(64, 128, 256, 512, 1024)):
        super().__init__()

        def block(inner, outer):
            return nn.Sequential(
                nn.Conv2d(inner, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(inplace=True),
                nn.Conv2d(outer, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(inplace=True))

        self.down = nn.ModuleList(block(inner, outer) for inner, outer in zip((3, *widths), widths))
        pairs = list(zip(widths, widths[1:]))[::-1]
        self.up = nn.ModuleList(nn.ConvTranspose2d(outer, inner, 2, stride=2) for inner, outer in pairs)
        self.merge = nn.ModuleList(block(2 * inner, inner) for inner, _ in pairs)
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, images):
        kept = []
        value = images
        for depth, block in enumerate(self.down):
            value = block(value if depth == 0 else nn.functional.max_pool2d(value, 2))
            kept.append(value)
        kept.pop()
        for up, merge in zip(self.up, self.merge):
            value = merge(torch.cat([kept.pop(), up(value)], dim=1))
        return self.head(value)


class _Segmentation:
    image = 256

    @staticmethod
    def model():
        return _UNet()

    def batch(self, count, device):
        return {"images": torch.zeros(count, 3, self.image, self.image, device=device),
                "classes": torch.zeros(count, self.image, self.image, dtype=torch.long, device=device)}

    @staticmethod
    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch["images"]), batch["classes"])


class _Detector:
    """Ultralytics' own model. Its loss assigns objects to anchors by computed values, which no simulated card has: in its
    place stand the same classification loss over every anchor, and one over every box."""
    image = 640

    def __init__(self, name):
        self._name = name

    def model(self):
        from ultralytics.nn.tasks import DetectionModel
        return DetectionModel(f"{self._name}.yaml", verbose=False)

    def batch(self, count, device):
        return {"images": torch.zeros(count, 3, self.image, self.image, device=device)}

    @staticmethod
    def loss(model, batch):
        outputs = model(batch["images"])
        scores = outputs["scores"].float()
        classes = nn.functional.binary_cross_entropy_with_logits(scores, torch.zeros_like(scores), reduction="none")
        return classes.sum() + outputs["boxes"].float().square().sum()


def _sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def _adamw(parameters):
    return torch.optim.AdamW(parameters, lr=0.001)


@dataclasses.dataclass(frozen=True)
class Workload:
    """`kind` makes model, batches and losses; AMP is fp16 autocast."""
    kind: object
    amp: bool
    optimizer: Callable

    def model(self):
        """On the CPU, in training mode; its weights are whatever was there."""
        with without_random_weights():
            return self.kind.model().train()

    def autocast(self):
        return torch.autocast("cuda", dtype=torch.float16) if self.amp else contextlib.nullcontext()

    def step(self, model, optimizer, batch):
        """One whole training step."""
        optimizer.zero_grad()
        with self.autocast():
            loss = self.kind.loss(model, batch)
        loss.backward()
        optimizer.step()
        return loss


WORKLOADS = {
    "resnet50-fp32-sgd": Workload(_Classifier("resnet50"), False, _sgd),
    "resnet50-amp-sgd": Workload(_Classifier("resnet50"), True, _sgd),
    "vgg16-fp32-sgd": Workload(_Classifier("vgg16"), False, _sgd),
    "mobilenet_v3-amp-sgd": Workload(_Classifier("mobilenet_v3_large"), True, _sgd),
    "convnext_tiny-fp32-adamw": Workload(_Classifier("convnext_tiny"), False, _adamw),
    "convnext_tiny-amp-adamw": Workload(_Classifier("convnext_tiny"), True, _adamw),
    "vit_b_16-amp-adamw": Workload(_Classifier("vit_b_16"), True, _adamw),
    "gpt2-fp32-adamw": Workload(_LanguageModel(), False, _adamw),
    "gpt2-amp-adamw": Workload(_LanguageModel(), True, _adamw),
    "unet-amp-adamw": Workload(_Segmentation(), True, _adamw),
    "yolo11n-amp-sgd": Workload(_Detector("yolo11n"), True, _sgd),
    "yolo11x-amp-adamw": Workload(_Detector("yolo11x"), True, _adamw),
}
