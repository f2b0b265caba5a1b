"""Holds an agent's probe up: its worker waits before its first trial until the test lets it through."""

import os


class Gate:
    """One agent's: start it with `environment`."""

    def __init__(self, test, path):
        self.environment = {"FAKE_FIFO": str(path)}
        self._test = test
        self._path = path
        os.mkfifo(path)

    def wait_for(self, phase):
        """The worker is in this phase, and goes on to the next, where it waits."""
        with open(self._path, encoding="utf-8") as worker:
            self._test.assertEqual(worker.readline().split()[0], phase)

    def open(self):
        """It waits no more, nor does any worker after it."""
        # With somebody who reads, a writer does not wait for one.
        self._test.addCleanup(os.close, os.open(self._path, os.O_RDWR))
