"""Slurm's own expansion of host lists beside ours."""

import os
import random
import shutil
import subprocess
import unittest

from tests.e2e import launched

EXPAND = os.path.abspath("tests/e2e/expand_hosts")
# What Slurm and we see alike, legal or not; where we differ on purpose, hostlist.h says so.
KNOWN = ["n[1-3]", "a,b,c[1-2]", "n[01-03,5]-ib[0-1]", "n[9-011]", "n[098-101,5,007]", "[1-3]", "1-3", "n-[1-3]",
         "n[1,1]", ",a,,b,", "n[0-1][2-3]", "n[3-1]", "n[]", "n[1,,2]", "n[a-b]", "n[-2]", "n[1-2,[4-5]]",
         "n[[1-2]]", "n[1-2:3]", "n[ 1-2 ]", "n[99-101]", "n[0-9,08-12]x[1]"]


@unittest.skipUnless(shutil.which("scontrol"), "tools/ci_setup has not installed slurm-wlm")
class HostlistOracleTest(unittest.TestCase):
    def setUp(self):
        configuration = launched.short_folder(self) / "slurm.conf"
        configuration.write_text("ClusterName=t\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n")
        self.environment = dict(os.environ, SLURM_CONF=str(configuration))

    def slurms(self, text):
        run = subprocess.run(["scontrol", "show", "hostnames", text], env=self.environment, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        # It reports success whatever it could read.
        return " ".join(run.stdout.split()) or "refused"

    def ours(self, texts):
        run = subprocess.run([EXPAND], input="".join(text + "\n" for text in texts), check=True,
                             stdout=subprocess.PIPE, text=True)
        return run.stdout.splitlines()

    def test_both_expand_alike(self):
        seed = random.randrange(1 << 32)
        pick = random.Random(seed)

        def number():
            return ("0" * pick.randrange(3) if pick.random() < 0.4 else "") + str(pick.randrange(200))

        def group():
            ranges = []
            for _ in range(pick.randint(1, 3)):
                first = number()
                last = str(int(first) + pick.randrange(15))
                ranges.append(first if pick.random() < 0.4 else first + "-" + last)
            return "[" + ",".join(ranges) + "]"

        def item():
            head = pick.choice(["n", "gpu-", "r1n", "x"])
            return head + "".join(pick.choice(["", "-ib", "s"]) + group() for _ in range(pick.randrange(3)))

        texts = KNOWN + [",".join(item() for _ in range(pick.randint(1, 3))) for _ in range(150)]
        for text, ours in zip(texts, self.ours(texts)):
            self.assertEqual(ours, self.slurms(text), "%s (seed %d)" % (text, seed))


if __name__ == "__main__":
    unittest.main()
