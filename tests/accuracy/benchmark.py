"""Steps as timm's benchmark.py ran them in July 2022, when the ladder's rows were measured: in one process from the
largest batch down, until one runs.

What differs from other training is kept, since memory hangs on it: the backward pass lies within autocast (half copies
of the weights live until it ends), gradients are zeroed and never freed, the optimizer takes parameters one by one, and
a runner that failed is let go only once the next one stands, so that its memory is in the allocator's cache.
"""

import torch

from tests.accuracy import models

_RATE = 1e-4
# Momentum is born in the first step; two more settle the peak.
_STEPS = 3
# Errors that its benchmark does not try again after.
_LAST = ("required rank", "illegal")


def _check(model, job):
    """Models change from version to version; their parameters tell."""
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    expected = job["million_parameters"]
    if abs(millions - expected) > 0.006 + 0.001 * expected:
        raise models.NotHere(f"another model by now: it has {millions:.2f} million parameters, not {expected:g}")


class _Runner:
    def __init__(self, job, batch):
        self._job = job
        self._batch = batch
        model = models.make(job)
        _check(model, job)
        self._layout = torch.channels_last if job["channels_last"] else torch.contiguous_format
        self._model = model.to("cuda", memory_format=self._layout)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=_RATE, momentum=0.9, nesterov=True,
                                          foreach=False)
        self._inputs = None

    def _step(self):
        self._optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cuda", dtype=torch.float16):
            output = self._model(self._inputs)
            if isinstance(output, tuple):
                output = output[0]
            target = torch.zeros(output.shape[0], dtype=torch.long, device="cuda")
            torch.nn.functional.cross_entropy(output, target).backward()
        self._optimizer.step()

    def run(self):
        image = self._job["image"]
        inputs = torch.zeros(self._batch, 3, image, image, device="cuda")
        self._inputs = inputs.contiguous(memory_format=self._layout)
        del inputs
        for _ in range(_STEPS):
            self._step()
        torch.cuda.synchronize()


def descend(job):
    """{"ran": the largest of the job's batches that runs, "reserved": its peak}; 0 where none does.

    "other": the first error, if any, that the benchmark tried again after though it did not say out of memory.
    """
    other = {}
    torch.backends.cudnn.benchmark = True
    for batch in job["batches"]:
        try:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            runner = _Runner(job, batch)
            runner.run()
            return {"ran": batch, "reserved": torch.cuda.max_memory_reserved(), **other}
        except torch.OutOfMemoryError:
            pass
        except RuntimeError as error:
            if any(words in str(error).lower() for words in _LAST):
                raise
            other.setdefault("other", f"at {batch}: {error}"[:300])
    return {"ran": 0, **other}
