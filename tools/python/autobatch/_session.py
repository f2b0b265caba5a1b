"""One trial, from the child's side: its budget, its steps, and its one result."""

from __future__ import annotations

import atexit
import math
import os
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from . import _failures, _memory
from ._channel import PROTOCOL, Channel, rank_of_world

Json = Dict[str, Any]

# Steps in which allocator retries are the cache's warm-up (autobatch/types/settling.h).
_WARM_UP_STEPS = 3


class TrialEnded(SystemExit):
    """The trial has what it asked for: the program ends, with code 0.

    A SystemExit, so that `finally` blocks run and `except Exception` does not hold it up.
    """

    def __init__(self) -> None:
        super().__init__(0)


class Session:
    """Between the first call of this package in a trial and the result. One thread."""

    def __init__(self, channel: Channel) -> None:
        self.batch = int(channel.trial.get("batch", 1))
        self.accumulation = int(channel.trial.get("accumulation", 1))
        self._channel = channel
        self._trial = channel.trial
        self._steps_asked = int(channel.trial.get("steps", 1))
        self._most_steps = int(channel.trial.get("most_steps", 0))
        self._on_cpu = channel.setup.get("device") == "cpu"
        # A fork (a data loader's worker) is no part of the trial.
        self._pid = os.getpid()
        self._begun = False
        self._done = False
        self._memory = _memory.Memory()
        self._memory_found = False
        self._facts: Json = {"parameters": None, "input_shapes": [], "output_shapes": []}
        self._view_before: Json = {"total_bytes": None, "free_before_bytes": None, "budget_bytes": None}
        self._steps: List[Json] = []
        self._phase: Optional[str] = None
        self._times: Dict[str, float] = {}
        self._batch_in_step: Optional[int] = None
        self._batch_seen: Optional[int] = None
        self._retries_before = 0
        self._refusals_before = 0
        self._started = self._last = self._entered = time.perf_counter()

    # What the program tells.

    def begin(self) -> None:
        """Sets the budget and says hello. Called again it does nothing."""
        if self._begun or self._pid != os.getpid():
            return
        self._begun = True
        if self._channel.setup.get("protocol", PROTOCOL) != PROTOCOL:
            self._end_with(
                _failures.failure(
                    "protocol",
                    "autobatch speaks version %s of the trial protocol, its Python package version %d"
                    % (self._channel.setup.get("protocol"), PROTOCOL),
                    "Install the package anew, from the checkout that the probe comes from.",
                )
            )
        _watch_the_end(self)
        self._find_memory()
        self._send({"type": "hello", "hello": self._hello()})
        self._last = self._entered = time.perf_counter()

    def step(self, loss: Any, batch: Any) -> None:
        """One optimizer step is over. Raises TrialEnded after the last one."""
        if self._pid != os.getpid():
            return
        if self._done:
            raise TrialEnded()
        self.begin()
        # Before what is read below: a device that is found only now had no budget in this step.
        self._find_memory()
        self._memory.synchronize()
        now = time.perf_counter()
        self._leave_phase(now)
        number = None if loss is None else float(loss.detach() if hasattr(loss, "detach") else loss)
        if batch is not None:
            self.saw_batch(batch if isinstance(batch, int) else int(batch.shape[0]))
        if self._batch_in_step is not None:
            # Over the steps the largest counts: the last batch of an epoch is often a smaller one.
            self._batch_seen = max(self._batch_in_step, self._batch_seen or 0)
        retries = self._memory.retries()
        step = {
            "step": len(self._steps) + 1,
            "forward_ms": self._times.get("forward", 0.0),
            "backward_ms": self._times.get("backward", 0.0),
            "optimizer_ms": self._times.get("optimizer", 0.0),
            "step_ms": (now - self._last) * 1e3,
            "peak": self._memory.peak(),
            "retries": max(0, retries - self._retries_before),
            "loss": number if number is not None and math.isfinite(number) else None,
        }
        self._retries_before = retries
        self._steps.append(step)
        self._send({"type": "step", "step": step})
        self._judge(step, number)
        if not self._goes_on():
            self._end_with(self._went_on_with_less())
        self._times = {}
        self._batch_in_step = None
        self._phase = None
        self._memory.reset_peak()
        self._last = self._entered = time.perf_counter()

    def saw_batch(self, samples: int) -> None:
        """A forward pass runs on so many samples. In a step the last one counts: a program that catches an
        out-of-memory error and goes on with less has not run what was asked for."""
        self._batch_in_step = samples

    def saw_model(self, parameters: int) -> None:
        self._facts["parameters"] = parameters

    def saw_shapes(self, inputs: List[str], outputs: List[str]) -> None:
        self._facts.update(input_shapes=inputs, output_shapes=outputs)

    def enter(self, phase: str) -> None:
        """A phase of the step begins: "forward", "loss", "backward", "optimizer"."""
        if self._done or self._pid != os.getpid():
            return
        self.begin()
        self._find_memory()
        self._memory.synchronize()
        self._leave_phase(time.perf_counter())
        if phase != self._phase:
            self._send({"type": "phase", "phase": phase})
        self._phase = phase

    def fail(self, error: BaseException) -> None:
        """An exception left the training loop: the trial's result, unless it has one."""
        if self._done or self._pid != os.getpid() or isinstance(error, TrialEnded):
            return
        if isinstance(error, SystemExit):
            if error.code in (None, 0):
                return
            failure = _failures.failure("model_error", "the program ended itself: exit(%r)" % (error.code,))
        elif isinstance(error, KeyboardInterrupt):
            failure = _failures.failure("cancelled", "interrupted")
        else:
            failure = _failures.describe(
                error,
                on_cpu=self._on_cpu,
                nearly_full=self._ask(lambda: self._memory.nearly_full(self._budget()), False),
                allocator_refused=self._ask(lambda: self._memory.refusals() > self._refusals_before, False),
            )
        failure["phase"] = self._phase
        failure["step"] = min(len(self._steps) + 1, max(self._steps_asked, self._most_steps))
        self._finish(failure)

    def close(self) -> None:
        """The program is over. Fewer steps than asked: the parent says so."""
        if self._begun and not self._done and self._pid == os.getpid():
            self._finish(None)

    # How it is measured.

    def _hello(self) -> Json:
        return {
            "protocol": PROTOCOL,
            "pid": os.getpid(),
            "device_uuid": self._ask(self._memory.uuid, None),
            "device_index": self._memory.index,
            "parameters": self._facts["parameters"],
        }

    def _limits(self) -> Json:
        """What the trial allows on this process's device: `limit_bytes` and `reserve_bytes`."""
        uuid, index = self._memory.uuid(), self._memory.index
        for number, device in enumerate(self._channel.devices):
            if device["uuid"].lower() == uuid.lower() if uuid is not None else number == index:
                return device
        return self._trial

    def _find_memory(self) -> None:
        """The device, as soon as there is one, with its budget."""
        if self._memory_found and not self._on_wrong_device():
            return
        memory = self._open_memory()
        if memory is None:
            return
        self._memory, self._memory_found = memory, True
        total, free = memory.view()
        limits = self._limits()
        budget = limits.get("limit_bytes")
        if free is not None:
            free += memory.held()  # As it would be without this program's tensors.
            room = free - int(limits.get("reserve_bytes", 0))
            budget = room if budget is None else min(budget, room)
        self._view_before = {"total_bytes": total, "free_before_bytes": free, "budget_bytes": budget}
        if budget is not None and budget <= 0:
            self._end_with(
                _failures.failure(
                    "out_of_memory",
                    "no memory is left for training: %s bytes free of %s, less margins of %s"
                    % (free, total, limits.get("reserve_bytes", 0)),
                    "End what else uses the device, or ask for smaller margins.",
                )
            )
        memory.set_limit(budget)
        self._retries_before = memory.retries()
        self._refusals_before = memory.refusals()

    def _open_memory(self) -> Optional[_memory.Memory]:
        if self._on_cpu:
            return _memory.CpuMemory()
        torch = _memory.cuda_in_use()
        if torch is None:
            return None  # Another framework, or torch comes later.
        if not torch.cuda.is_available():
            self._end_with(
                _failures.failure(
                    "cannot_start",
                    "the program's torch %s finds no CUDA device" % torch.__version__,
                    "Install a torch that is built for CUDA and fits the driver, or probe --device cpu.",
                )
            )
        if getattr(torch.cuda, "get_allocator_backend", lambda: "native")() != "native":
            self._end_with(
                _failures.failure(
                    "cannot_start",
                    "torch allocates by cudaMallocAsync, whose peaks are not what the device holds",
                    "Take backend:cudaMallocAsync out of PYTORCH_CUDA_ALLOC_CONF.",
                )
            )
        index = _memory.busiest_device(torch)
        return _memory.CudaMemory(torch, index, self._channel.setup.get("device") == "cuda")

    def _on_wrong_device(self) -> bool:
        """Nothing is on the device that was current at first, and something is on another."""
        memory = self._memory
        if not isinstance(memory, _memory.CudaMemory) or self._steps or memory.held() > 0:
            return False
        return _memory.busiest_device(_memory.cuda_in_use()) != memory.index

    def _budget(self) -> Optional[int]:
        budget: Optional[int] = self._view_before["budget_bytes"]
        return budget

    def _leave_phase(self, now: float) -> None:
        if self._phase is not None:
            self._times[self._phase] = self._times.get(self._phase, 0.0) + (now - self._entered) * 1e3
        self._entered = now

    def _goes_on(self) -> bool:
        """Steps are left, or the allocator has not come to rest yet (GoesOn in autobatch/types/settling.h)."""
        ran = len(self._steps)
        if ran < self._steps_asked:
            return True
        # Ranks keep step with each other: one that went on alone would wait for the others for ever.
        if ran >= self._most_steps or rank_of_world() is not None:
            return False
        calm = _calm_steps(self._steps)
        seen = summarize(self._steps, self._memory.noise)
        warms_up = seen["late_retries"] > 0 and calm < max(self._steps_asked - _WARM_UP_STEPS, 1)
        return calm > 0 and (seen["unsettled"] or warms_up)

    def _judge(self, step: Json, loss: Optional[float]) -> None:
        """What a step can get wrong without an exception."""
        failure = None
        peak, budget = step["peak"]["reserved_bytes"], self._budget()
        if loss is not None and not math.isfinite(loss):
            failure = _failures.failure("non_finite_loss", "the loss was %r in step %d" % (loss, step["step"]))
        elif budget is not None and peak > budget:
            failure = _failures.failure(
                "out_of_memory", "step %d took %d bytes of a budget of %d" % (step["step"], peak, budget)
            )
        if failure is not None:
            failure["step"] = step["step"]
            self._end_with(failure)

    def _went_on_with_less(self) -> Optional[Json]:
        """The allocator ran out, and no step was as large as asked: training tools halve the batch then."""
        refused = self._ask(lambda: self._memory.refusals() > self._refusals_before, False)
        if self._batch_seen is None or self._batch_seen >= self.batch or not refused:
            return None
        return _failures.failure(
            "out_of_memory",
            "out of memory; the program caught it and went on with %d samples instead of %d"
            % (self._batch_seen, self.batch),
        )

    def _host_peak(self) -> int:
        # On the CPU the kernel's own figure begins anew with each step.
        peaks = [step["peak"]["reserved_bytes"] for step in self._steps] if self._on_cpu else []
        return max(_memory.host_peak_bytes(), int(max(peaks, default=0)))

    def _warnings(self) -> List[str]:
        if self._batch_seen is None and self._steps:
            return ["the script never said what batch it ran: give step() its batch, or watch(model)"]
        return []

    # How it ends.

    def _end_with(self, failure: Optional[Json]) -> None:
        self._finish(failure)
        raise TrialEnded()

    def _finish(self, failure: Optional[Json]) -> None:
        self._done = True
        result = {
            "trial": self._trial,
            "failure": failure,
            "steps": self._steps,
            "batch_seen": self._batch_seen,
            "trial_ms": (time.perf_counter() - self._started) * 1e3,
            "host_peak_bytes": self._host_peak(),
            "free_after_bytes": self._ask(lambda: self._memory.view()[1], None),
            "method": "python",
            "warnings": self._warnings(),
        }
        result.update(self._view_before)
        result.update(self._facts)
        result.update(summarize(self._steps, self._memory.noise, has_memory=self._memory_found))
        # The program may have more to do on its way out than the budget allows.
        self._ask(lambda: self._memory.set_limit(None), None)
        # Once more who and where: a rank may have found its device only after it said hello.
        self._send({"type": "result", "hello": self._hello(), "result": result})

    def _send(self, reply: Json) -> None:
        try:
            self._channel.send(reply)
        except OSError:
            # Nobody wants the answer any more.
            self._done = True
            raise TrialEnded() from None

    @staticmethod
    def _ask(question: Any, otherwise: Any) -> Any:
        """After an illegal access no device answers any more."""
        try:
            return question()
        except Exception:
            return otherwise


def summarize(steps: List[Json], noise: Callable[[int], int], has_memory: bool = True) -> Json:
    """The parts of an Observation that follow from its steps, as the C++ worker sums them up."""
    if not steps:
        return {}
    later = steps[1:]
    summary: Json = {
        "retries": sum(step["retries"] for step in steps),
        "late_retries": sum(step["retries"] for step in steps if step["step"] > _WARM_UP_STEPS),
        "unsettled": False,
    }
    for field in ("forward_ms", "backward_ms", "step_ms"):
        value = statistics.median(step[field] for step in later or steps)
        summary[field] = value if value > 0 else None
    if has_memory:
        summary["first_step"] = steps[0]["peak"]
        summary["steady"] = _greatest([step["peak"] for step in later]) if later else None
    if len(steps) > 2:
        earlier = max(step["peak"]["reserved_bytes"] for step in later[:-1])
        summary["unsettled"] = later[-1]["peak"]["reserved_bytes"] > earlier + noise(earlier)
    return summary


def _calm_steps(steps: List[Json]) -> int:
    """Steps at the end without a retry."""
    calm = 0
    while calm < len(steps) and steps[-1 - calm]["retries"] == 0:
        calm += 1
    return calm


def _greatest(peaks: List[Json]) -> Json:
    greatest: Json = {}
    for field in ("reserved_bytes", "allocated_bytes", "requested_bytes"):
        values = [peak[field] for peak in peaks]
        greatest[field] = None if None in values else max(values)
    return greatest


def _watch_the_end(session: Session) -> None:
    """Results of programs that leave the loop without `with autobatch.trial()`, or early."""
    shown_by = sys.excepthook

    def hook(kind: Any, error: BaseException, trace: Any) -> None:
        session.fail(error)
        shown_by(kind, error, trace)

    sys.excepthook = hook
    atexit.register(session.close)
