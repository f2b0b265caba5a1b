"""For Ultralytics' YOLO.

    import autobatch
    from autobatch.ultralytics import add_callbacks

    model = add_callbacks(YOLO("yolo11n.pt"))
    model.train(data="coco8.yaml", batch=autobatch.batch(16), epochs=100)

With several GPUs Ultralytics trains in processes of its own making, which know no callbacks: run the probe
on one GPU at a time, which is its default.
"""

from __future__ import annotations

from typing import Any

from . import _api


def add_callbacks(model: Any) -> Any:
    """Adds the callbacks to a YOLO (or to a trainer), and returns it."""
    for event in (_on_pretrain_routine_start, _on_train_start, _on_train_epoch_start, _on_train_batch_end):
        model.add_callback(event.__name__.lstrip("_"), event)
    return model


def _on_pretrain_routine_start(trainer: Any) -> None:
    if not _api.in_trial():
        return
    _api.trial().__enter__()
    # Below its nominal batch it steps the optimizer every so many batches only, 64 / batch of them.
    trainer.args.nbs = trainer.args.batch


def _on_train_start(trainer: Any) -> None:
    _api.watch(trainer.model, sample=_images)


def _on_train_epoch_start(trainer: Any) -> None:
    # It halves the batch up to three times when memory runs out: here that is the answer, not to be mended.
    if _api.in_trial():
        trainer._oom_retries = 3


def _on_train_batch_end(trainer: Any) -> None:
    _api.step(loss=trainer.loss)


def _images(batch: Any, *_: Any, **__: Any) -> Any:
    return batch["img"] if isinstance(batch, dict) else batch
