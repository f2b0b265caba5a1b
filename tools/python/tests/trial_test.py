"""A program with its own loop, in a trial and outside of one. No framework: plain memory on the CPU."""

import json

import parent
import pytest

LOOP = """
    import autobatch, sys
    try:
        with autobatch.trial():
            while True:
                data = bytearray(autobatch.batch(1) * 4_000_000)
                autobatch.step(loss=0.5, batch=autobatch.batch(1))
                del data
    finally:
        print("cleaned up")
    print("went on")
"""

FOREVER = "while True: autobatch.step(batch=autobatch.batch(1))"


def test_Loop_OutsideOfATrial_NothingHappens():
    ran = parent.run_plain(
        """
        import autobatch, sys
        model = object()
        with autobatch.trial():
            for _ in range(100):
                autobatch.step(loss=float("nan"), batch=3)
        assert autobatch.watch(model) is model
        assert not autobatch.in_trial()
        print(autobatch.batch(7), autobatch.accumulation(), "torch" in sys.modules)
        """
    )
    assert (ran.stdout, ran.stderr, ran.code) == ("7 1 False\n", "", 0)


def test_Loop_OutsideOfATrial_ExceptionsPass():
    ran = parent.run_plain("import autobatch\nwith autobatch.trial(): 1 / 0")
    assert "ZeroDivisionError" in ran.stderr


def test_Batch_AgreedForTraining_IsTaken():
    script = "import autobatch; print(autobatch.batch(7), autobatch.accumulation(5))"
    ran = parent.run_plain(script, AUTOBATCH_MICRO_BATCH="24", AUTOBATCH_ACCUMULATION="2")
    assert ran.stdout == "24 2\n"
    for wrong in ("0", "-1", "x", "", "1.5"):
        ran = parent.run_plain(script, AUTOBATCH_MICRO_BATCH=wrong)
        assert "AUTOBATCH_MICRO_BATCH=%r: expected a positive whole number" % wrong in ran.stderr


def test_Trial_OfThreeSteps_SpeaksTheProtocolAndEndsTheProgram():
    ran = parent.run_trial(LOOP, batch=5, steps=3)
    assert ran.kinds == ["hello", "step", "step", "step", "result"]
    assert ran.code == 0
    assert ran.stdout == "cleaned up\n"
    assert ran.stderr == ""
    assert ran.of("hello")[0]["protocol"] == 1
    assert [step["step"] for step in ran.of("step")] == [1, 2, 3]
    result = ran.result
    assert result["failure"] is None
    assert result["batch_seen"] == 5
    assert result["trial"]["batch"] == 5
    assert result["method"] == "python"
    assert len(result["steps"]) == 3
    assert all(step["loss"] == 0.5 and step["step_ms"] > 0 for step in result["steps"])
    assert result["step_ms"] > 0
    assert result["retries"] == result["late_retries"] == 0


def test_Trial_PeaksGrowWithTheBatch():
    small, large = (parent.run_trial(LOOP, batch=batch).result for batch in (1, 11))
    for part in ("first_step", "steady"):
        growth = large[part]["reserved_bytes"] - small[part]["reserved_bytes"]
        assert abs(growth - 40_000_000) < 4_000_000


def test_Trial_PeakOfOneStep_IsNotThatOfTheNext():
    ran = parent.run_trial(
        """
        import autobatch
        with autobatch.trial():
            for size in (64_000_000, 1_000_000, 1_000_000):
                data = bytearray(size)
                del data
                autobatch.step()
        """
    )
    result = ran.result
    assert result["first_step"]["reserved_bytes"] > 60_000_000
    assert result["steady"]["reserved_bytes"] < 30_000_000
    assert not result["unsettled"]


def test_Trial_PeakGrowsToTheEnd_IsUnsettled():
    ran = parent.run_trial(
        """
        import autobatch
        with autobatch.trial():
            kept = []
            while True:
                kept.append(bytearray(20_000_000))
                autobatch.step()
        """,
        steps=4,
    )
    assert ran.result["unsettled"]


def test_Trial_FlatPeakOfTheCpu_IsSettledWithinItsNoise():
    from autobatch import _memory, _session

    def unsettled(last):
        steps = [
            {
                "step": number + 1,
                "peak": {"reserved_bytes": mib << 20, "allocated_bytes": mib << 20, "requested_bytes": None},
                "retries": 0,
                "forward_ms": 0.0,
                "backward_ms": 0.0,
                "step_ms": 1.0,
            }
            for number, mib in enumerate((700, 726, 722, last))
        ]
        return _session.summarize(steps, _memory.CpuMemory().noise)["unsettled"]

    assert not unsettled(732)
    assert unsettled(736)


def test_Trial_NoContextManager_StepsCountAllTheSame():
    ran = parent.run_trial("import autobatch\n" + FOREVER)
    assert ran.kinds == ["hello", "step", "step", "step", "result"]
    assert ran.code == 0


def test_Trial_ProgramCatchesExceptions_EndsAllTheSame():
    ran = parent.run_trial(
        """
        import autobatch
        with autobatch.trial():
            for _ in range(100):
                try:
                    autobatch.step()
                except Exception:
                    print("caught")
        """
    )
    assert (ran.code, ran.stdout) == (0, "")


def test_Trial_ProgramCatchesEverything_NextStepEndsIt():
    ran = parent.run_trial(
        """
        import autobatch
        caught = 0
        while caught < 5:
            try:
                autobatch.step()
            except BaseException as error:
                caught += 1
                print(type(error).__name__)
        """
    )
    assert ran.stdout == "TrialEnded\n" * 5
    assert ran.kinds.count("result") == 1


def test_Trial_DataEndsEarly_ResultHasTheStepsThatRan():
    ran = parent.run_trial("import autobatch\nwith autobatch.trial(): autobatch.step()", steps=8)
    assert ran.kinds == ["hello", "step", "result"]
    assert ran.result["failure"] is None
    assert len(ran.result["steps"]) == 1


def test_Trial_SecondEpoch_GoesOnCounting():
    ran = parent.run_trial(
        """
        import autobatch
        for epoch in range(10):
            with autobatch.trial():
                for _ in range(2):
                    autobatch.step()
            print("epoch", epoch)
        """,
        steps=5,
    )
    assert ran.stdout == "epoch 0\nepoch 1\n"
    assert len(ran.result["steps"]) == 5


def test_Trial_LastBatchIsSmaller_LargestIsSeen():
    ran = parent.run_trial(
        """
        import autobatch
        with autobatch.trial():
            for samples in (8, 3, 8):
                autobatch.step(batch=samples)
        """,
        batch=8,
    )
    assert ran.result["batch_seen"] == 8


def test_Trial_BatchIsGivenAsATensor_FirstDimensionCounts():
    ran = parent.run_trial(
        """
        import autobatch
        class Tensor:
            shape = (6, 3, 32, 32)
        while True: autobatch.step(batch=Tensor())
        """
    )
    assert ran.result["batch_seen"] == 6


INSIDE, OUTSIDE = "with autobatch.trial(): ", ""


@pytest.mark.parametrize(
    "statement, kind, message",
    [
        (INSIDE + "raise ValueError('shapes differ')", "model_error", "ValueError: shapes differ"),
        (OUTSIDE + "raise ValueError('shapes differ')", "model_error", "ValueError: shapes differ"),
        (INSIDE + "raise MemoryError('no')", "out_of_memory", "MemoryError: no"),
        (OUTSIDE + "raise MemoryError('no')", "out_of_memory", "MemoryError: no"),
        (INSIDE + "raise KeyboardInterrupt", "cancelled", "interrupted"),
        (INSIDE + "raise SystemExit(3)", "model_error", "the program ended itself: exit(3)"),
    ],
)
def test_Trial_Exception_IsClassifiedAndGoesOn(statement, kind, message):
    ran = parent.run_trial("import autobatch\nautobatch.step()\n" + statement)
    assert ran.kinds == ["hello", "step", "result"]
    failure = ran.result["failure"]
    assert (failure["kind"], failure["message"], failure["step"]) == (kind, message, 2)
    assert ran.code != 0


def test_Trial_ProgramExitsCleanlyInTheBlock_IsNoFailure():
    ran = parent.run_trial("import autobatch\nwith autobatch.trial():\n autobatch.step()\n raise SystemExit")
    assert ran.result["failure"] is None
    assert len(ran.result["steps"]) == 1


def test_Trial_AllocationAboveTheBudget_IsRefusedAsOutOfMemory():
    ran = parent.run_trial(
        """
        import autobatch
        with autobatch.trial():
            data = bytearray(4 << 30)
        """,
        limit_bytes=64 << 20,
    )
    assert ran.result["failure"]["kind"] == "out_of_memory"
    assert ran.result["budget_bytes"] == 64 << 20


def test_Trial_PeakAboveTheBudget_IsOutOfMemory():
    ran = parent.run_trial(LOOP, batch=4, limit_bytes=8 << 20)
    failure = ran.result["failure"]
    assert failure["kind"] == "out_of_memory"
    assert "of a budget of 8388608" in failure["message"]
    assert failure["step"] == 1
    assert ran.stdout == "cleaned up\n"


def test_Trial_ReserveExceedsFreeMemory_HasNoRoomAtAll():
    ran = parent.run_trial(LOOP, reserve_bytes=1 << 50)
    assert ran.kinds == ["result"]
    assert ran.result["failure"]["kind"] == "out_of_memory"
    assert ran.code == 0


def test_Trial_HostPeak_IsThatOfTheLargestStep():
    ran = parent.run_trial(
        """
        import autobatch
        for size in (200_000_000, 1_000_000, 1_000_000):
            data = bytearray(size)
            del data
            autobatch.step()
        """
    )
    assert ran.result["host_peak_bytes"] > 200_000_000


def test_Trial_BatchIsNeverTold_IsWarnedOf():
    [warning] = parent.run_trial("import autobatch\nwhile True: autobatch.step()").result["warnings"]
    assert "never said what batch" in warning
    assert parent.run_trial(LOOP).result["warnings"] == []


def test_Trial_LossIsNotFinite_Fails():
    for loss in ("nan", "inf"):
        ran = parent.run_trial("import autobatch\nwhile True: autobatch.step(loss=float(%r))" % loss)
        assert ran.kinds == ["hello", "step", "result"]
        assert ran.result["failure"]["kind"] == "non_finite_loss"
        assert ran.result["steps"][0]["loss"] is None


def test_Trial_OfAnotherProtocol_IsRefused():
    ran = parent.run_trial(LOOP, setup={"protocol": 2})
    assert ran.kinds == ["result"]
    assert ran.result["failure"]["kind"] == "protocol"


def test_Trial_DataLoaderForks_OnlyTheProgramSpeaks():
    ran = parent.run_trial(
        """
        import autobatch, os
        with autobatch.trial():
            while True:
                child = os.fork()
                if child == 0:
                    try:
                        autobatch.step()
                        raise ValueError("in the data loader")
                    finally:
                        os._exit(0)
                os.waitpid(child, 0)
                autobatch.step()
        """
    )
    assert ran.kinds == ["hello", "step", "step", "step", "result"]
    assert ran.result["failure"] is None


def test_Trial_LongTexts_StayJson():
    ran = parent.run_trial("import autobatch\nwith autobatch.trial(): raise ValueError('ä\\n\\0' * 9000)")
    assert len(json.dumps(ran.result["failure"])) < 2000


if __name__ == "__main__":
    raise SystemExit(parent.run_tests(__file__))
