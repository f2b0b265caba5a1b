"""For Lightning (lightning.pytorch, pytorch_lightning).

    import autobatch
    from autobatch.lightning import callback

    data = MyDataModule(batch_size=autobatch.batch(32))
    Trainer(max_epochs=90, callbacks=[callback()]).fit(model, data)
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

from . import _api
from ._watch import tensors

_NAMES = ("lightning.pytorch", "pytorch_lightning")


def callback() -> Any:
    """A new callback that reports every optimizer step. Raises ImportError when there is no Lightning."""
    return _callback_class(_module())()


def _module() -> Any:
    """The Lightning that the program imported: both can be installed, and each refuses the other's."""
    for name in _NAMES:
        if sys.modules.get(name) is not None:
            return sys.modules[name]
    try:
        return importlib.import_module(_NAMES[0])
    except ImportError:
        return importlib.import_module(_NAMES[1])


@functools.lru_cache(maxsize=None)
def _callback_class(module: Any) -> Any:
    base: Any = module.Callback

    class TrialCallback(base):  # type: ignore[misc]
        """Counts optimizer steps, whatever the accumulation."""

        def __init__(self) -> None:
            super().__init__()
            self._steps = 0

        def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
            # Each process has its device by now, and the model is not on it yet.
            if stage == "fit":
                _api.trial().__enter__()
                self._steps = int(trainer.global_step)

        def on_train_batch_end(
            self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
        ) -> None:
            stepped = int(trainer.global_step)
            if stepped == self._steps:
                return
            self._steps = stepped
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            _api.step(loss=loss, batch=next(tensors(batch), None))

    return TrialCallback
