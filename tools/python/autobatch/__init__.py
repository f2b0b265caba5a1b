"""Lets autobatch measure a training loop of your own, and hands it the batch that fits.

    import autobatch

    loader = DataLoader(data, batch_size=autobatch.batch(32), drop_last=True)
    with autobatch.trial():
        for images, labels in loader:
            loss = train_on(images, labels)  # forward, backward, optimizer.step()
            autobatch.step(loss=loss, batch=images)

Then `probe -- python train.py` runs the script at one batch after another. In a run that no probe
started all of this does nothing, and costs about as much as an empty function.

This package has no dependency and never imports torch itself: it uses the one that you imported, if any.
"""

from ._agreement import verify
from ._api import accumulation, batch, in_trial, step, trial, watch
from ._plan import Plan, PlanError, plan
from ._session import TrialEnded

__all__ = [
    "Plan",
    "PlanError",
    "TrialEnded",
    "accumulation",
    "batch",
    "in_trial",
    "plan",
    "step",
    "trial",
    "verify",
    "watch",
]
