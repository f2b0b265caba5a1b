"""A trial on a GPU, with an allocator that a test plays."""

import parent

GIB = 1 << 30

BEGIN = """
import autobatch, fake_torch
cuda = fake_torch.install(%s)
"""


def run(script, devices=1, limits=(), **trial):
    setup = dict({"device": "cuda"}, **trial.pop("setup", {}))
    return parent.run_trial(BEGIN % devices + script, setup=setup, devices=limits, **trial)


def test_Budget_IsWhatIsFreeLessTheMargins():
    ran = run("with autobatch.trial(): print(cuda.fractions[0])", reserve_bytes=4 * GIB)
    # Of 80 GiB the context has 1.
    assert float(ran.stdout) == 75 / 80
    result = ran.result
    assert result["budget_bytes"] == 75 * GIB
    assert result["total_bytes"] == 80 * GIB
    assert result["free_before_bytes"] == 79 * GIB
    assert ran.of("hello")[0]["device_uuid"] == "GPU-00000000-0000"


def test_Budget_WithALimit_IsTheLesser():
    script = "with autobatch.trial(): print(cuda.fractions[0])"
    assert float(run(script, limit_bytes=20 * GIB, reserve_bytes=4 * GIB).stdout) == 20 / 80
    assert float(run(script, limit_bytes=78 * GIB, reserve_bytes=4 * GIB).stdout) == 75 / 80


def test_Budget_ModelIsThereAlready_CountsAsOurs():
    ran = run("cuda.use(10 << 30)\nwith autobatch.trial(): print(cuda.fractions[0])", reserve_bytes=4 * GIB)
    assert float(ran.stdout) == 75 / 80
    # The growth of the context is what this misses at the end, and not less by what the model holds.
    assert ran.result["free_before_bytes"] == 79 * GIB


def test_Budget_IsLiftedAtTheEnd():
    ran = run(
        "try:\n with autobatch.trial(): autobatch.step()\nfinally: print(cuda.fractions[0])",
        steps=1,
        limit_bytes=GIB,
    )
    assert float(ran.stdout) == 1.0


TWO = (
    {"uuid": "gpu-00000000-0000", "limit_bytes": None, "reserve_bytes": 4 * GIB},
    {"uuid": "GPU-00000001-0000", "limit_bytes": 20 * GIB, "reserve_bytes": 2 * GIB},
)


def test_TrialOnTwoDevices_EachHasItsOwnLimits():
    script = "cuda.current = %d\nwith autobatch.trial(): print(cuda.fractions[%d])"
    assert float(run(script % (0, 0), devices=2, limits=TWO, reserve_bytes=9 * GIB).stdout) == 75 / 80
    assert float(run(script % (1, 1), devices=2, limits=TWO, reserve_bytes=9 * GIB).stdout) == 20 / 80


def test_RankThatMovesToItsDeviceLater_SaysWhereInItsResult():
    ran = run("with autobatch.trial():\n cuda.use(1 << 30, 1)\n autobatch.step()",
              devices=2, limits=TWO, steps=1)
    hellos = [reply["hello"] for reply in ran.replies if "hello" in reply]
    assert [hello["device_index"] for hello in hellos] == [0, 1]
    assert hellos[1]["device_uuid"] == "GPU-00000001-0000"
    assert ran.result["budget_bytes"] == 20 * GIB


def test_Mig_NamesNoDevice():
    assert run("autobatch.step()", setup={"device": "mig"}, steps=1).of("hello")[0]["device_uuid"] is None


def test_Steps_ReportPeaksAndRetries():
    ran = run(
        """
with autobatch.trial():
    for reserved, retries in ((9, 2), (11, 0), (10, 0), (10, 1), (10, 1), (10, 0)):
        cuda.use(reserved << 30)
        cuda.num_alloc_retries += retries
        cuda.use(1 << 30)
        autobatch.step()
""",
        steps=6,
    )
    result = ran.result
    assert [step["peak"]["reserved_bytes"] // GIB for step in result["steps"]] == [9, 11, 10, 10, 10, 10]
    assert [step["retries"] for step in result["steps"]] == [2, 0, 0, 1, 1, 0]
    assert (result["retries"], result["late_retries"]) == (4, 2)
    assert result["first_step"] == {
        "reserved_bytes": 9 * GIB,
        "allocated_bytes": 9 * GIB // 2,
        "requested_bytes": 9 * GIB // 4,
    }
    assert result["steady"]["reserved_bytes"] == 11 * GIB
    assert result["unsettled"] is False


def test_Peak_GrowsInTheLastStep_IsUnsettled():
    script = """
for reserved in (9, 9, 9, %d):
    cuda.use(reserved << 30)
    autobatch.step()
"""
    assert run(script % 10, steps=4).result["unsettled"] is True
    assert run(script % 9, steps=4).result["unsettled"] is False


RETRIES = """
with autobatch.trial():
    for retries in %s + [0] * 30:
        cuda.use(10 << 30)
        cuda.num_alloc_retries += retries
        autobatch.step()
"""


def steps_run(retries, **trial):
    return len(run(RETRIES % retries, steps=8, **trial).result["steps"])


def test_LongWarmUp_GoesOnUntilFiveStepsAreCalm():
    # As GoesOn of autobatch/types/settling.h, whose test has the same cases.
    assert steps_run([2, 1, 4, 0, 0, 0, 0, 0], most_steps=32) == 8
    assert steps_run([1, 0, 1, 2, 1, 0, 0, 0], most_steps=32) == 10
    assert steps_run([1, 1, 1, 1, 1, 1, 1, 1], most_steps=32) == 8
    assert steps_run([1, 0, 0, 0, 1, 0, 0, 0, 1], most_steps=32) == 9
    assert steps_run([1, 0, 1, 2, 1, 0, 0, 0], most_steps=9) == 9
    assert steps_run([1, 0, 1, 2, 1, 0, 0, 0]) == 8


def test_PeakThatStillGrows_GoesOnUpToTheMost():
    script = "for step in range(40):\n cuda.use(step + 1 << 30)\n autobatch.step()"
    assert len(run(script, steps=8, most_steps=12).result["steps"]) == 12


def test_OneOfSeveralRanks_KeepsStepWithTheOthers(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert steps_run([1, 0, 1, 2, 1, 0, 0, 0], most_steps=32) == 8


def test_OutOfMemory_IsReportedWithWhatWasAsked():
    ran = run("with autobatch.trial():\n autobatch.step()\n cuda.run_out(7 << 30)")
    failure = ran.result["failure"]
    assert failure["kind"] == "out_of_memory"
    assert failure["requested_bytes"] == 7 * GIB
    assert failure["step"] == 2
    assert ran.code == 1


def test_OutOfMemory_HiddenByAnotherError_AllocatorsRecordDecides():
    ran = run(
        """
with autobatch.trial():
    try:
        cuda.run_out(7 << 30)
    except RuntimeError:
        pass
    raise KeyError("outputs")
"""
    )
    assert ran.result["failure"]["kind"] == "out_of_memory"


def test_OutOfMemory_BeforeTheTrial_IsNoneOfIt():
    ran = run(
        """
try:
    cuda.run_out(7 << 30)
except RuntimeError:
    pass
with autobatch.trial(): raise KeyError("outputs")
"""
    )
    assert ran.result["failure"]["kind"] == "model_error"


def test_OutOfMemory_ProgramHalvesTheBatch_IsStillOutOfMemory():
    ran = run(
        """
with autobatch.trial():
    try:
        cuda.run_out(7 << 30)
    except RuntimeError:
        pass
    while True: autobatch.step(batch=autobatch.batch(1) // 2)
""",
        batch=64,
    )
    failure = ran.result["failure"]
    assert failure["kind"] == "out_of_memory"
    assert "32 samples instead of 64" in failure["message"]


def test_OutOfMemory_LibraryTriedAndWentOn_IsNone():
    # cuDNN's search for an algorithm asks for more than there is, and takes another.
    ran = run(
        """
while True:
    try:
        cuda.run_out(7 << 30)
    except RuntimeError:
        pass
    autobatch.step(batch=autobatch.batch(1))
""",
        batch=64,
    )
    assert ran.result["failure"] is None


def test_LibraryError_MemoryNearlyFull_IsSuspected():
    script = """
with autobatch.trial():
    cuda.use(%d << 30)
    raise RuntimeError("CUDNN_STATUS_EXECUTION_FAILED")
"""
    assert run(script % 19, limit_bytes=20 * GIB).result["failure"]["kind"] == "suspected_out_of_memory"
    assert run(script % 9, limit_bytes=20 * GIB).result["failure"]["kind"] == "model_error"


def test_Device_ModelIsOnAnother_IsMeasuredThere():
    ran = run("with autobatch.trial():\n cuda.use(5 << 30, device=2)\n autobatch.step()", devices=4, steps=1)
    assert ran.result["steps"][0]["peak"]["reserved_bytes"] == 5 * GIB


def test_Torch_ComesLater_IsMeasuredFromThen():
    ran = parent.run_trial(
        """
        import autobatch
        with autobatch.trial():
            import fake_torch
            cuda = fake_torch.install()
            cuda.use(5 << 30)
            autobatch.step()
            print(cuda.fractions[0])
            autobatch.step()
        """,
        setup={"device": "cuda"},
        steps=2,
        limit_bytes=20 * GIB,
    )
    assert float(ran.stdout) == 0.25
    assert ran.result["budget_bytes"] == 20 * GIB
    assert ran.result["first_step"]["reserved_bytes"] == 5 * GIB


def test_Torch_IsNotUsed_OnlyTimesAreReported():
    ran = parent.run_trial("import autobatch\nwhile True: autobatch.step()", setup={"device": "cuda"})
    assert ran.result["failure"] is None
    assert "first_step" not in ran.result
    assert ran.result["budget_bytes"] is None


def test_Torch_HasNoCuda_CannotStart():
    ran = run("cuda.available = False\nwith autobatch.trial(): print('went on')")
    assert ran.kinds == ["result"]
    assert ran.result["failure"]["kind"] == "cannot_start"
    assert "torch 2.11.0 finds no CUDA device" in ran.result["failure"]["message"]
    assert (ran.code, ran.stdout) == (0, "")


def test_Torch_UsesTheDriversAllocator_CannotStart():
    ran = run("cuda.backend = 'cudaMallocAsync'\nautobatch.step()")
    assert ran.kinds == ["result"]
    assert "cudaMallocAsync" in ran.result["failure"]["message"]


def test_Device_IsLost_FailureIsReportedAllTheSame():
    ran = run(
        """
def lost(*_): raise RuntimeError("CUDA error: an illegal memory access was encountered")
with autobatch.trial():
    autobatch.step()
    cuda.mem_get_info = cuda.memory_stats = cuda.set_per_process_memory_fraction = lost
    lost()
"""
    )
    assert ran.result["failure"]["kind"] == "illegal_access"
    assert ran.result["free_after_bytes"] is None


if __name__ == "__main__":
    raise SystemExit(parent.run_tests(__file__))
