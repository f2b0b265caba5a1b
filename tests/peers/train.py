"""The workload as a user's own script: what ours is asked about. `python -m tests.peers.train WORKLOAD`."""

import sys

import autobatch

from tests.peers import workloads

# Where nobody asks for a batch.
_BATCH = 8
_STEPS = 100


def main(name):
    workload = workloads.WORKLOADS[name]
    with autobatch.trial():
        model = workload.model().cuda()
        optimizer = workload.optimizer(model.parameters())
        count = autobatch.batch(_BATCH)
        for _ in range(_STEPS):
            loss = workload.step(model, optimizer, workload.kind.batch(count, "cuda"))
            autobatch.step(loss=loss, batch=count)


if __name__ == "__main__":
    main(sys.argv[1])
