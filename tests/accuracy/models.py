"""The models of the measured rows, from torchvision, timm and transformers, without weights."""

import contextlib
import re
from unittest import mock

# Names of xmem_points.csv that are no torchvision name but for capitals and underscores.
_TORCHVISION_NAMES = {
    "mnasnet": "mnasnet1_0",
    "mobenetv3large": "mobilenet_v3_large",
    "mobenetv3small": "mobilenet_v3_small",
}

# Hub names -> a configuration of transformers. The hub is not asked: these are its public figures.
_TRANSFORMERS = {
    "gpt2": ("gpt2", {}),
    "cerebras/Cerebras-GPT-111M": ("gpt2", {"n_layer": 10, "n_inner": 3072, "n_positions": 2048}),
    "distilbert/distilgpt2": ("gpt2", {"n_layer": 6}),
    "T5-small": ("t5", {}),
}


def _plain(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())


def is_transformer(name):
    """Whether a row of xmem_points.csv is of a hub's transformer."""
    return "/" in name or name in _TRANSFORMERS


@contextlib.contextmanager
def without_random_weights():
    """Random numbers of a model's weights are most of the time it takes to make it, and no memory depends on them."""
    import torch
    with contextlib.ExitStack() as stack:
        for name in ["normal_", "uniform_", "erfinv_", "trunc_normal_", "kaiming_normal_", "kaiming_uniform_",
                     "xavier_uniform_", "xavier_normal_", "orthogonal_"]:
            if hasattr(torch.Tensor, name):
                stack.enter_context(mock.patch.object(torch.Tensor, name, lambda tensor, *_, **__: tensor))
            else:
                stack.enter_context(mock.patch.object(torch.nn.init, name, lambda tensor, *_, **__: tensor))
        yield


def _torchvision(name, classes):
    import torchvision
    plain = _plain(name)
    factory = _TORCHVISION_NAMES.get(plain) or next(
        (known for known in torchvision.models.list_models(module=torchvision.models) if _plain(known) == plain),
        None)
    if factory is None:
        raise LookupError(f"torchvision has no model {name}")
    return torchvision.models.get_model(factory, weights=None, num_classes=classes)


def _timm(name, classes, image):
    import timm
    if not timm.is_model(name):
        raise LookupError(f"timm has no model {name} any more")
    # The timm of the ladder's time has no such function; its models are of the size that is asked for.
    settings = timm.get_pretrained_cfg(name) if hasattr(timm, "get_pretrained_cfg") else None
    own_size = settings.input_size[-1] if settings else image
    if own_size != image:
        # A transformer is built for one size; other models take any.
        with contextlib.suppress(TypeError):
            return timm.create_model(name, num_classes=classes, img_size=image)
    return timm.create_model(name, num_classes=classes)


def _transformers(name):
    import transformers
    if name not in _TRANSFORMERS:
        raise LookupError(f"the configuration of {name} is not kept here")
    kind, figures = _TRANSFORMERS[name]
    configuration = transformers.AutoConfig.for_model(kind, **figures)
    if kind == "t5":
        return transformers.AutoModelForSeq2SeqLM.from_config(configuration)
    return transformers.AutoModelForCausalLM.from_config(configuration)


def make(job):
    """The job's model, on the CPU and in training mode. LookupError: there is none of that name."""
    with without_random_weights():
        if job["library"] == "timm":
            model = _timm(job["model"], job["classes"], job["image"])
        elif job["library"] == "torchvision":
            model = _torchvision(job["model"], job["classes"])
        else:
            model = _transformers(job["model"])
    return model.train()
