"""The functions that a training script calls."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Callable, Optional, Type

from ._agreement import verify
from ._channel import connect, is_named
from ._plan import PlanError, positive_integer
from ._session import Session
from ._watch import watch_model

_session: Optional[Session] = None
_asked = False


def _current() -> Optional[Session]:
    """The trial that this process is in, if any. The environment is looked at once."""
    global _asked, _session
    if not _asked:
        if is_named():
            _session = Session(connect())
        _asked = True
    return _session


class _Trial:
    """What `trial()` returns."""

    def __enter__(self) -> "_Trial":
        session = _current()
        if session is not None:
            session.begin()
        elif "AUTOBATCH_RUN_ID" in os.environ:
            verify()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if error is not None and _session is not None:
            _session.fail(error)


_trial = _Trial()


def trial() -> _Trial:
    """Goes around the training loop. In a run that no probe started it does nothing, but for this: in one
    that `launch` started, it first compares the agreed record across all ranks (`verify()`).

    In a trial it sets the budget as the allocator's hard limit and reports the exception, if any, that
    leaves the block; the exception goes on. Inside, `step()` ends the program once it has seen enough. Where
    ranks are spawned and not launched (no RANK in the environment), enter it after init_process_group().

        with autobatch.trial():
            for images, labels in loader:
                ...
                autobatch.step(batch=images)
    """
    return _trial


def step(*, loss: Any = None, batch: Any = None) -> None:
    """Call it after every optimizer step.

    `loss`: a number or a tensor of one element; a trial whose loss is not finite fails. `batch`: the
    samples of one forward pass, as a number or as a tensor whose first dimension it is; `watch(model)`
    finds it too. In a trial it raises `TrialEnded` (a SystemExit) after the last step asked for.
    """
    session = _session if _asked else _current()
    if session is not None:
        session.step(loss, batch)


def batch(default: int) -> int:
    """The batch to train with: a trial's, else AUTOBATCH_MICRO_BATCH, else `default`.

        loader = DataLoader(data, batch_size=autobatch.batch(32))

    Samples in one forward pass of one process. Raises PlanError when AUTOBATCH_MICRO_BATCH is no
    positive whole number.
    """
    session = _current()
    return session.batch if session is not None else _from_environment("AUTOBATCH_MICRO_BATCH", default)


def accumulation(default: int = 1) -> int:
    """Forward passes before each optimizer step: a trial's, else AUTOBATCH_ACCUMULATION, else `default`."""
    session = _current()
    if session is not None:
        return session.accumulation
    return _from_environment("AUTOBATCH_ACCUMULATION", default)


def in_trial() -> bool:
    """Whether a probe started this run: then write no checkpoints, and load a few samples only."""
    return _current() is not None


def watch(model: Any, *, sample: Optional[Callable[..., Any]] = None, dim: int = 0) -> Any:
    """Looks at what a torch model is given, and returns the model. Does nothing outside of a trial.

        model = autobatch.watch(MyModel().cuda())

    The batch is dimension `dim` of the first tensor that the model is called with, or of what
    `sample(*args, **kwargs)` returns. The report then also knows in which phase of a step memory ran out,
    and how long each took.
    """
    session = _current()
    if session is not None:
        watch_model(session, model, sample, dim)
    return model


def _from_environment(variable: str, default: int) -> int:
    text = os.environ.get(variable)
    if text is None:
        return default
    value = positive_integer(text)
    if value is None:
        raise PlanError("%s=%r: expected a positive whole number" % (variable, text))
    return value
