"""The descriptors of the protocol: shared by ranks, closed by launchers, left over in an environment."""

import os
import sys
import textwrap

import parent

STEPS = """
import autobatch
with autobatch.trial():
    while True:
        autobatch.step(loss=0.25, batch=autobatch.batch(1))
"""

# What torchrun does: a process for each rank, which inherits none but the standard descriptors.
LAUNCHER = """
import os, subprocess, sys
script = sys.argv[1]
ranks = [
    subprocess.Popen(
        [sys.executable, "-c", script],
        env=dict(os.environ, RANK=str(rank), WORLD_SIZE="3"),
        close_fds=True,
    )
    for rank in range(3)
]
sys.exit(max(rank.wait() for rank in ranks))
"""


def by_rank(ran):
    ranks = {}
    for reply in ran.replies:
        assert reply["world_size"] == 3
        ranks.setdefault(reply["rank"], []).append(reply)
    return [ranks[rank] for rank in sorted(ranks)]


def test_Ranks_OfALauncherThatClosesDescriptors_AllReport():
    ran = parent.run_trial(LAUNCHER, STEPS, batch=6)
    assert ran.code == 0, ran.stderr
    ranks = by_rank(ran)
    assert len(ranks) == 3
    for replies in ranks:
        assert [reply["type"] for reply in replies] == ["hello", "step", "step", "step", "result"]
        assert replies[-1]["result"]["batch_seen"] == 6


def test_Ranks_ThatInheritTheDescriptors_AllReport():
    ran = parent.run_trial(LAUNCHER.replace("close_fds=True", "close_fds=False"), STEPS)
    assert [len(replies) for replies in by_rank(ran)] == [5, 5, 5]


def test_Ranks_ManySteps_EveryLineIsOneWrite():
    ran = parent.run_trial(LAUNCHER, STEPS, steps=300)
    assert [len(replies) for replies in by_rank(ran)] == [302, 302, 302]
    for replies in by_rank(ran):
        # Its steps were told one by one.
        assert replies[-1]["result"]["steps"] == []
        assert replies[-1]["result"]["batch_seen"] == 4


def test_Rank_ThatFails_IsNamed():
    script = STEPS.replace("autobatch.step(", "assert __import__('os').environ['RANK'] != '1'; autobatch.step(")
    ran = parent.run_trial(LAUNCHER, script)
    failures = [replies[-1]["result"]["failure"] for replies in by_rank(ran)]
    assert [failure and failure["kind"] for failure in failures] == [None, "model_error", None]


def test_Launcher_WithPipesOfItsOwnAtTheNumbers_IsNotSpokenTo():
    # A grandchild has other pipes under the same numbers: what they hold decides.
    launcher = """
    import os, subprocess, sys
    ends = [int(os.environ[name]) for name in ("AUTOBATCH_REQUEST_FD", "AUTOBATCH_REPORT_FD")]
    inner = '''
    import os, sys
    for fd in %r:
        other_read, other_write = os.pipe()
        os.dup2(other_write if fd == %d else other_read, fd)
    ''' % (ends, ends[1])
    import textwrap
    sys.exit(subprocess.call([sys.executable, "-c", textwrap.dedent(inner) + sys.argv[1]]))
    """
    ran = parent.run_trial(launcher, STEPS)
    assert ran.kinds == ["hello", "step", "step", "step", "result"], ran.stderr


def test_Program_BehindAShell_Reports():
    command = ["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, STEPS]
    ran = parent.run_trial("", command=command)
    assert ran.kinds == ["hello", "step", "step", "step", "result"]


def test_Environment_LeftOverFromATrial_IsAnError():
    ran = parent.run_plain(STEPS, AUTOBATCH_REQUEST_FD="5", AUTOBATCH_REPORT_FD="6")
    assert ran.code == 1
    assert "AUTOBATCH_REQUEST_FD is set, but no trial is on that descriptor" in ran.stderr


def test_Environment_NamesNoNumber_IsAnError():
    ran = parent.run_plain(STEPS, AUTOBATCH_REQUEST_FD="five", AUTOBATCH_REPORT_FD="6")
    assert "AUTOBATCH_REQUEST_FD='five' names no descriptor" in ran.stderr


def test_Requests_LookedAt_StayInThePipe():
    from autobatch import _channel

    read, write = os.pipe()
    os.write(write, b'{"type":"setup","device":"cpu"}\n{"type":"trial","trial":{"batch":2}}\n')
    path = "/proc/self/fd/%d" % read
    for _ in range(3):
        setup, asked = _channel._look(path)
        assert (setup["device"], asked["trial"]["batch"]) == ("cpu", 2)
    os.close(write)
    assert os.read(read, 4096).count(b"\n") == 2
    os.close(read)


def test_Requests_CutShortOrForeign_AreNone():
    from autobatch import _channel

    for text in (b"", b"\n", b'{"type":"setup"}\n', b'{"type":"setup"}\n{"type":"tri', b"a\nb\n", b"1\n2\n"):
        read, write = os.pipe()
        os.write(write, text)
        assert _channel._look("/proc/self/fd/%d" % read) is None
        os.close(read)
        os.close(write)


def test_Parent_IsGone_ProgramEnds():
    # The parent's end is closed by the program itself: nobody else holds it.
    script = textwrap.dedent(
        """
        import os, json, sys
        request_read, request_write = os.pipe()
        report_read, report_write = os.pipe()
        for line in ({"type": "setup", "device": "cpu"}, {"type": "trial", "trial": {"batch": 1, "steps": 9}}):
            os.write(request_write, json.dumps(line).encode() + b"\\n")
        os.environ.update(AUTOBATCH_REQUEST_FD=str(request_read), AUTOBATCH_REPORT_FD=str(report_write))
        import autobatch
        autobatch.step()
        os.close(report_read)
        autobatch.step()
        print("went on")
        """
    )
    ran = parent.run_plain(script)
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")


if __name__ == "__main__":
    raise SystemExit(parent.run_tests(__file__))
