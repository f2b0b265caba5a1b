"""Whether all ranks that train together hold the same record."""

from __future__ import annotations

import os
import sys
from typing import List, Optional

from ._plan import PlanError


def verify() -> None:
    """Compares the agreed record's digest across all ranks of torch.distributed's default group.

    Raises PlanError on every rank where two ranks hold different records. Every rank has to call it, after
    init_process_group(). `trial()` does, so that no first step is taken on two records. Without a process
    group, or where no launch hook has set AUTOBATCH_DIGEST on any rank, it finds nothing to object to.
    """
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return
    held: List[Optional[str]] = [None] * distributed.get_world_size()
    own = "%s of round %s" % (os.environ.get("AUTOBATCH_DIGEST"), os.environ.get("AUTOBATCH_ROUND"))
    distributed.all_gather_object(held, own)
    if len(set(held)) > 1:
        raise PlanError(
            "ranks hold different records, and must not train together: "
            + "; ".join("rank %d: %s" % (rank, digest) for rank, digest in enumerate(held))
        )
