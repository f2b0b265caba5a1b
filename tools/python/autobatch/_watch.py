"""Hooks on a torch model that tell the trial what the model sees, and in which phase a step is."""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterator, List, Optional

from ._session import Session


def watch_model(session: Session, model: Any, sample_of: Optional[Callable[..., Any]], dim: int) -> None:
    """Hooks `model` (a torch.nn.Module). Plain functions, so that a copy of the model can be made."""

    def before(_module: Any, args: Any, kwargs: Any) -> None:
        session.enter("forward")
        # The first pass alone is the model's own; a frozen copy for evaluation is not hooked.
        sample = sample_of(*args, **kwargs) if sample_of is not None else next(tensors(args, kwargs), None)
        if sample is not None:
            session.saw_batch(int(sample.shape[dim]))

    def after(_module: Any, args: Any, kwargs: Any, outputs: Any) -> None:
        session.saw_shapes(_shapes(args, kwargs), _shapes(outputs))
        session.enter("loss")
        # Its gradient is the first that backward computes.
        for output in tensors(outputs):
            if output.requires_grad:
                output.register_hook(lambda _gradient: session.enter("backward"))
                break

    session.saw_model(sum(int(parameter.numel()) for parameter in model.parameters()))
    model.register_forward_pre_hook(before, with_kwargs=True)
    model.register_forward_hook(after, with_kwargs=True)
    _watch_optimizers(session)


_watched: List[Session] = []


def _watch_optimizers(session: Session) -> None:
    """Once for the process: every optimizer tells when it steps."""
    optimizer = sys.modules.get("torch.optim.optimizer")
    register = getattr(optimizer, "register_optimizer_step_pre_hook", None)
    if register is not None and session not in _watched:
        _watched.append(session)
        register(lambda *_: session.enter("optimizer"))


def tensors(*values: Any) -> Iterator[Any]:
    """Every array in nested sequences, mappings and objects such as a framework's output classes."""
    for value in values:
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            if len(value.shape) > 0:
                yield value
        elif isinstance(value, dict) or hasattr(value, "items"):
            yield from tensors(*value.values())
        elif isinstance(value, (list, tuple)):
            yield from tensors(*value)


def _shapes(*values: Any) -> List[str]:
    return [str(tuple(int(side) for side in tensor.shape)) for tensor in tensors(*values)][:16]
