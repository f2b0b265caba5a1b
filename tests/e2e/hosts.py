"""Hosts on one machine: each has a network, a name and files of its own, and all are on one switch.

A host is a set of namespaces, held by a process that waits for the end of the test. Without the right to make
them, NO_HOSTS says why.
"""

import os
import pathlib
import subprocess
import sys

# Where nft and ip are is not everybody's PATH.
ENVIRONMENT = {**os.environ, "PATH": "/usr/sbin:/sbin:" + os.environ.get("PATH", "/usr/bin:/bin")}
SPACES = ["--net", "--uts", "--mount"]
_AS_ROOT = "AUTOBATCH_TEST_AS_ROOT"


def run(*command, text=""):
    """Runs it to its end, which has to be a good one."""
    done = subprocess.run(command, input=text, text=True, env=ENVIRONMENT, capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stderr}")
    return done.stdout


def become_able():
    """Starts this program once more as root of a user namespace, where it is not root. Why it cannot have hosts:
    empty, it can."""
    try:
        if os.geteuid() != 0 and _AS_ROOT not in os.environ:
            run("unshare", "--map-root-user", "true")
            os.execvpe("unshare", ["unshare", "--map-root-user", sys.executable, *sys.argv],
                       {**os.environ, _AS_ROOT: "1"})
        run("unshare", *SPACES, "ip", "link", "set", "lo", "up")
        run("unshare", *SPACES, "nft", "add", "table", "inet", "faults")
        run("unshare", *SPACES, "mount", "--bind", "/etc/hosts", "/etc/resolv.conf")
    except (AssertionError, OSError) as error:
        return f"no namespaces can be made here: {error}"
    return ""


NO_HOSTS = become_able()


class Host:
    """One of them, by its number from 1; `files` are its own /etc/NAME."""

    def __init__(self, network, number, files):
        self.network = network
        self.name = f"h{number}"
        self.address = f"10.99.0.{number}"
        self.address6 = f"fd00:99::{number}"
        binds = ""
        for name, text in {"hosts": f"127.0.0.1 localhost\n127.0.1.1 {self.name}\n", "resolv.conf": "",
                           "nsswitch.conf": "hosts: files dns\n", **files}.items():
            path = network.folder / f"{self.name}.{name}"
            path.write_text(text, encoding="utf-8")
            binds += f"mount --bind {path} /etc/{name} || exit 1\n"
        self.holder = network.hold(binds + f"hostname {self.name}")
        port = f"p{number}"
        network.switch("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns",
                       str(self.holder.pid))
        network.switch("ip", "link", "set", port, "master", "br0", "up")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "address", "add", f"{self.address6}/64", "dev", "eth0", "nodad")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "route", "add", "default", "via", "10.99.0.254")

    def command(self, *words):
        """The command line that runs this command on this host."""
        return ["nsenter", "--target", str(self.holder.pid), *SPACES, "--wd", *words]

    def run(self, *words, text=""):
        return run(*self.command(*words), text=text)

    def refuse(self, rule):
        """What comes in and fits this rule of nft is lost from now on, without a word."""
        self.run("nft", "-f", "-", text="table inet faults {\n chain in {\n"
                 f"  type filter hook input priority 0;\n  {rule} drop;\n }}\n}}\n")

    def heal(self):
        self.run("nft", "-f", "-", text="table inet faults\ndelete table inet faults\n")


class Network:
    """A switch and so many hosts, until the end of the test."""

    def __init__(self, test, folder, count, files=None):
        self.test = test
        self.folder = pathlib.Path(folder)
        self._switch = self.hold("ip link add br0 type bridge && ip link set br0 up")
        self.hosts = [Host(self, number, (files or {}).get(number, {})) for number in range(1, count + 1)]

    def hold(self, script):
        """A process that holds new namespaces, in which the script has run."""
        holder = subprocess.Popen(["unshare", *SPACES, "sh", "-c", script + "\necho held; exec cat"], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)

        def end():
            holder.stdin.close()
            holder.stdout.close()
            holder.wait()

        self.test.addCleanup(end)
        self.test.assertEqual(holder.stdout.readline(), "held\n")
        return holder

    def switch(self, *words):
        run("nsenter", "--target", str(self._switch.pid), "--net", *words)

    def block(self, sender, receiver):
        """What one host sends to another is lost; the way back is another one."""
        receiver.refuse(f"ip saddr {sender.address}")

    def heal(self):
        for host in self.hosts:
            host.heal()
