"""For the Trainer of Hugging Face transformers (and TRL's, which are the same).

    import autobatch
    from autobatch.transformers import callback

    arguments = TrainingArguments(per_device_train_batch_size=autobatch.batch(8), ...)
    Trainer(model, arguments, train_dataset=data, callbacks=[callback()]).train()
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from . import _api


def callback() -> Any:
    """A new callback that reports every optimizer step. Raises ImportError when there is no transformers."""
    return _callback_class(importlib.import_module("transformers"))()


@functools.lru_cache(maxsize=None)
def _callback_class(module: Any) -> Any:
    base: Any = module.TrainerCallback

    class TrialCallback(base):  # type: ignore[misc]
        """Looks at the model for the batch; the Trainer tells no loss at the end of a step."""

        def __init__(self) -> None:
            super().__init__()
            self._watched: Any = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            _api.trial().__enter__()
            model = rest.get("model")
            # auto_find_batch_size begins to train again and again.
            if model is not None and model is not self._watched:
                self._watched = _api.watch(model)

        def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            _api.step()

    return TrialCallback
