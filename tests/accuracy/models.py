"""The models of the measured rows, from torchvision, timm and transformers, without weights."""

import contextlib
import re
import sys
from unittest import mock

# Names of xmem_points.csv that are no torchvision name but for capitals and underscores.
_TORCHVISION_NAMES = {
    "mnasnet": "mnasnet1_0",
    "mobenetv3large": "mobilenet_v3_large",
    "mobenetv3small": "mobilenet_v3_small",
}


def _layers(hidden, intermediate, layers, heads, key_value_heads, vocabulary, **more):
    """The names that Llama gave these figures, and most models after it."""
    return {"hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": key_value_heads, "vocab_size": vocabulary, **more}


# Names on the hub, with or without their owner -> a configuration of transformers. The hub is not asked: these are its
# public figures.
_TRANSFORMERS = {
    "gpt2": ("gpt2", {}),
    "distilgpt2": ("gpt2", {"n_layer": 6}),
    "cerebrasgpt111m": ("gpt2", {"n_layer": 10, "n_inner": 3072, "n_positions": 2048}),
    "gptneo125m": ("gpt_neo", {"hidden_size": 768, "num_layers": 12, "num_heads": 12,
                               "attention_types": [[["global", "local"], 6]]}),
    "pythia160m": ("gpt_neox", {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                                "num_attention_heads": 12, "vocab_size": 50304}),
    "pythia1b": ("gpt_neox", {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
                              "num_attention_heads": 8, "vocab_size": 50304}),
    "opt125m": ("opt", {}),
    "opt350m": ("opt", {"hidden_size": 1024, "ffn_dim": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
                        "word_embed_proj_dim": 512, "do_layer_norm_before": False}),
    "t5small": ("t5", {"decoder_start_token_id": 0}),
    "t5base": ("t5", {"decoder_start_token_id": 0, "d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}),
    "qwen3_0_6b": ("qwen3", _layers(1024, 3072, 28, 16, 8, 151936, head_dim=128, tie_word_embeddings=True)),
    "qwen3_1_7b": ("qwen3", _layers(2048, 6144, 28, 16, 8, 151936, head_dim=128, tie_word_embeddings=True)),
    "qwen3_4b": ("qwen3", _layers(2560, 9728, 36, 32, 8, 151936, head_dim=128, tie_word_embeddings=True)),
    "deepseekr1distillqwen1_5b": ("qwen2", _layers(1536, 8960, 28, 12, 2, 151936, tie_word_embeddings=False)),
    "llama3_2_1b": ("llama", _layers(2048, 8192, 16, 32, 8, 128256, head_dim=64, tie_word_embeddings=True)),
    "llama3_2_3b": ("llama", _layers(3072, 8192, 28, 24, 8, 128256, head_dim=128, tie_word_embeddings=True)),
    "gemma2_2b": ("gemma2", _layers(2304, 9216, 26, 8, 4, 256000, head_dim=256)),
}


class NotHere(Exception):
    """What was measured cannot be made here."""


def plain(name):
    """What counts of a name: letters and figures, and what is between two figures (3.2 is not 32)."""
    return re.sub(r"(?<!\d)_|_(?!\d)", "", re.sub(r"[^a-z0-9]+", "_", name.lower()))


@contextlib.contextmanager
def without_random_weights():
    """Random numbers of a model's weights are most of the time it takes to make it, and no memory depends on them."""
    import torch
    # timm's own are below functions that others import; which of the two it has hangs on its age.
    timm = [sys.modules.get(name) for name in ("timm.models.layers.weight_init", "timm.layers.weight_init")]
    with contextlib.ExitStack() as stack:
        for name in ["normal_", "uniform_", "erfinv_", "trunc_normal_", "kaiming_normal_", "kaiming_uniform_",
                     "xavier_uniform_", "xavier_normal_", "orthogonal_", "_no_grad_trunc_normal_", "_trunc_normal_"]:
            for place in [torch.Tensor, torch.nn.init, *timm]:
                if hasattr(place, name):
                    stack.enter_context(mock.patch.object(place, name, lambda tensor, *_, **__: tensor))
        yield


def _torchvision(name, classes):
    import torchvision
    wanted = plain(_TORCHVISION_NAMES.get(plain(name), name))
    known = [other for other in torchvision.models.list_models(module=torchvision.models)
             if plain(other).startswith(wanted)]
    exact = [other for other in known if plain(other) == wanted]
    if len(exact or known) != 1:
        raise NotHere(f"torchvision has no model {name}")
    return torchvision.models.get_model(*(exact or known), weights=None, num_classes=classes)


def _timm(name, classes, image):
    import timm
    if not timm.is_model(name):
        raise NotHere(f"timm has no model {name}")
    layers = sys.modules.get("timm.models.layers.inplace_abn")
    if layers is not None and not layers.has_iabn:
        from tests.accuracy import activated_norm
        layers.inplace_abn = activated_norm.inplace_abn
    model = timm.create_model(name, num_classes=classes)
    if model.default_cfg.get("input_size", (image,))[-1] != image:
        # A transformer is built for one size; other models take any.
        with contextlib.suppress(TypeError):
            return timm.create_model(name, num_classes=classes, img_size=image)
    return model


def _transformers(name):
    import transformers
    # Tuned for instructions ("-Instruct", "-it"), it is of the same form.
    wanted = re.sub(r"(instruct|it)$", "", plain(name.rpartition("/")[2]))
    if wanted not in _TRANSFORMERS:
        raise NotHere(f"the configuration of {name} is not kept here")
    kind, figures = _TRANSFORMERS[wanted]
    configuration = transformers.AutoConfig.for_model(kind, **figures)
    if kind == "t5":
        return transformers.AutoModelForSeq2SeqLM.from_config(configuration)
    return transformers.AutoModelForCausalLM.from_config(configuration)


def make(job):
    """The job's model, on the CPU and in training mode."""
    with without_random_weights():
        if job["library"] == "timm":
            model = _timm(job["model"], job["classes"], job["image"])
        elif job["library"] == "torchvision":
            model = _torchvision(job["model"], job["classes"])
        else:
            model = _transformers(job["model"])
    return model.train()
