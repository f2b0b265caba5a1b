"""Three Slurm nodes on this machine, with daemons and a munge of their own."""

import os
import pathlib
import select
import shutil
import socket
import subprocess
import time

from tests.e2e import launched

PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "sinfo", "sbatch"]

CONFIGURATION = """
ClusterName=t
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/sock,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
SwitchType=switch/none
KillWait=2
TaskProlog={folder}/taskprolog.sh
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/log/ctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
{nodes}
PartitionName=p Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """What of Slurm is not installed, in words; None where all is."""
    names = [name for name in PROGRAMS if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]
    return "tools/ci_setup has not installed " + ", ".join(names) if names else None


def _until(condition, what, process=None, seconds=60):
    """Waits until the condition holds. There is nothing to wait on but the clock: daemons say nothing."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline or (process is not None and process.poll() is not None):
            raise AssertionError("Slurm did not start: " + what)
        select.select([], [], [], 0.05)


class Cluster:
    """Nodes n1 to n3 of four CPUs; `task_prolog` is the text of the TaskProlog."""

    def __init__(self, test, folder, task_prolog):
        self.folder = pathlib.Path(folder)
        self._test = test
        for name in ("state", "spool", "log", "munge"):
            (self.folder / name).mkdir()
        (self.folder / "munge").chmod(0o711)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        prolog = self.folder / "taskprolog.sh"
        prolog.write_text(task_prolog)
        prolog.chmod(0o755)
        host = socket.gethostname().split(".")[0]
        ports = launched.free_ports(4)
        nodes = "\n".join(f"NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[n]} CPUs=4 "
                          "RealMemory=1000" for n in (1, 2, 3))
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(host=host, folder=folder, ports=ports, nodes=nodes))
        self.environment = dict(os.environ, SLURM_CONF=str(configuration), HOME=str(folder),
                                PATH=os.environ["PATH"] + ":/usr/sbin")
        munge = self._start("munged", "--foreground", f"--key-file={key}", *(
            f"--{name}={folder}/munge/{file}" for name, file in
            (("socket", "sock"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))))
        _until((self.folder / "munge" / "sock").exists, "munged has no socket", munge)
        controller = self._start("slurmctld", "-D", "-f", str(configuration))
        for node in ("n1", "n2", "n3"):
            self._start("slurmd", "-D", "-N", node, "-f", str(configuration))
        _until(lambda: self.run("sinfo", "-h", "-N", "-o", "%t").stdout.split() == ["idle"] * 3,
               "its nodes are not idle", controller)

    def _start(self, *command):
        with open(self.folder / "log" / (command[0] + ".out"), "a") as log:
            process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        self._test.addCleanup(process.wait)
        self._test.addCleanup(process.terminate)
        return process

    def run(self, *command, **options):
        """A command of Slurm's, to its end."""
        return subprocess.run([*map(str, command)], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=120, **options)
