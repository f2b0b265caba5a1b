"""What a launcher hands to training, read back."""

import json
import sys
import types

import parent  # noqa: F401  (finds the package)
import pytest

import autobatch

VARIABLES = {
    "AUTOBATCH_MICRO_BATCH": "24",
    "AUTOBATCH_ACCUMULATION": "2",
    "AUTOBATCH_GLOBAL_BATCH": "192",
    "AUTOBATCH_WEIGHT": "0.5",
    "AUTOBATCH_LR_FACTOR": "1.5",
    "AUTOBATCH_STEPS_PER_EPOCH": "6672",
    "AUTOBATCH_WORLD_SIZE": "4",
    "AUTOBATCH_RANK": "3",
    "AUTOBATCH_ROUND": "0",
    "AUTOBATCH_RUN_ID": "job 17",
}


def with_changes(**changes):
    changed = dict(VARIABLES)
    for field, text in changes.items():
        changed["AUTOBATCH_" + field.upper()] = text
    return changed


def test_Plan_AllVariables_AreRead():
    assert autobatch.plan(VARIABLES) == autobatch.Plan(
        micro_batch=24,
        accumulation=2,
        global_batch=192,
        weight=0.5,
        lr_factor=1.5,
        steps_per_epoch=6672,
        world_size=4,
        rank=3,
        round=0,
        run_id="job 17",
    )


def test_Plan_OfTheEnvironment_IsRead(monkeypatch):
    for variable, text in VARIABLES.items():
        monkeypatch.setenv(variable, text)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.delenv("RANK", raising=False)
    assert autobatch.plan().global_batch == 192


def test_Plan_NothingIsSet_EveryVariableIsNamed():
    with pytest.raises(autobatch.PlanError) as caught:
        autobatch.plan({})
    for variable in VARIABLES:
        assert (variable + " is missing" in str(caught.value)) == (variable != "AUTOBATCH_STEPS_PER_EPOCH")


@pytest.mark.parametrize(
    "field, text",
    [
        ("micro_batch", "0"),
        ("micro_batch", "-1"),
        ("micro_batch", "1.5"),
        ("micro_batch", ""),
        ("micro_batch", " 1"),
        ("micro_batch", "\u0663"),
        ("micro_batch", str(1 << 63)),
        ("accumulation", "none"),
        ("global_batch", "0x10"),
        ("weight", "nan"),
        ("weight", "-0.5"),
        ("weight", "inf"),
        ("lr_factor", "0"),
        ("lr_factor", "1,5"),
        ("steps_per_epoch", "0"),
        ("world_size", "0"),
        ("rank", "-1"),
        ("round", "x"),
        ("run_id", ""),
        ("digest", ""),
        ("fallback", "yes"),
        ("micro_batches", "24"),
        ("micro_batches", "24x0"),
        ("micro_batches", "24x1,"),
        ("micro_batches", "1x9999999999"),
    ],
)
def test_Plan_ValueMakesNoSense_IsNamed(field, text):
    with pytest.raises(autobatch.PlanError) as caught:
        autobatch.plan(with_changes(**{field: text}))
    assert "AUTOBATCH_%s=%r: expected " % (field.upper(), text) in str(caught.value)
    assert str(caught.value).count("expected") == 1


def test_Plan_RankWithoutSamples_HasWeightZero():
    assert autobatch.plan(with_changes(weight="0")).weight == 0


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"rank": "4"}, "AUTOBATCH_RANK=4: expected a rank below AUTOBATCH_WORLD_SIZE=4"),
        ({"global_batch": "23"}, "AUTOBATCH_GLOBAL_BATCH=23 is less than AUTOBATCH_MICRO_BATCH=24"),
    ],
)
def test_Plan_ValuesContradictEachOther_IsAnError(changes, words):
    with pytest.raises(autobatch.PlanError, match=words):
        autobatch.plan(with_changes(**changes))


def test_Plan_LauncherStartedAnotherWorld_IsAnError():
    agreed = dict(VARIABLES, WORLD_SIZE="4", RANK="3")
    assert autobatch.plan(agreed).rank == 3
    with pytest.raises(autobatch.PlanError, match="for world size 4, and the launcher started WORLD_SIZE=3"):
        autobatch.plan(dict(agreed, WORLD_SIZE="3"))
    with pytest.raises(autobatch.PlanError, match="for rank 3, and the launcher started RANK=2"):
        autobatch.plan(dict(agreed, RANK="2"))


def test_Plan_DataSetOfUnknownSize_HasNoSteps():
    known = dict(VARIABLES)
    del known["AUTOBATCH_STEPS_PER_EPOCH"]
    assert autobatch.plan(known).steps_per_epoch is None


def test_Plan_UnevenPasses_WeighTheirSamples():
    # Three ranks, 512 samples: two take 57, 57, 57, and this one 57, 57, 56.
    uneven = with_changes(micro_batch="57", accumulation="3", global_batch="512", world_size="3", rank="2",
                          weight=repr(170 * 3 / 512 / 3), micro_batches="57x2,56x1")
    plan = autobatch.plan(uneven)
    assert plan.micro_batches == (57, 57, 56)
    assert plan.weights == pytest.approx([57 * 3 / 512, 57 * 3 / 512, 56 * 3 / 512])
    assert autobatch.plan(VARIABLES).micro_batches == (24, 24)
    assert autobatch.plan(VARIABLES).weights == (0.5, 0.5)
    assert autobatch.plan(with_changes(weight="0", fallback="1")).fallback
    with pytest.raises(autobatch.PlanError, match="AUTOBATCH_MICRO_BATCHES has 3 passes"):
        autobatch.plan(dict(uneven, AUTOBATCH_ACCUMULATION="2"))


ROW = {
    "world_size": 3, "processes": 6, "global_batch": 512, "micro_batch": 57, "accumulation": 3, "lr_factor": 0.5,
    "steps_per_epoch": None, "devices": [],
    "groups": [{"ranks": 2, "steps": [{"count": 3, "micro_batch": 57}]},
               {"ranks": 1, "steps": [{"count": 2, "micro_batch": 57}, {"count": 1, "micro_batch": 56}]}],
}
RECORD = {"round": 4, "run_id": "job1", "digest": "abc", "fallback": False, "plan": {"rows": [ROW]}}


def of_record(tmp_path, record, rank, world="6"):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    return autobatch.plan({"AUTOBATCH_RECORD": str(path), "RANK": rank, "WORLD_SIZE": world})


def test_Plan_OfAWholeWorldsLaunch_ComesFromTheRecord(tmp_path):
    first, last = of_record(tmp_path, RECORD, "3"), of_record(tmp_path, RECORD, "5")
    assert (first.micro_batches, last.micro_batches) == ((57, 57, 57), (57, 57, 56))
    assert last.weight == pytest.approx(170 * 3 / 512 / 3)
    assert (last.global_batch, last.lr_factor, last.round, last.digest) == (512, 0.5, 4, "abc")
    assert (last.rank, last.world_size, last.steps_per_epoch) == (5, 6, None)


def test_Plan_RecordThatDoesNotServe_SaysWhy(tmp_path):
    with pytest.raises(autobatch.PlanError, match=r"no row for WORLD_SIZE 4; it has \[6\]"):
        of_record(tmp_path, RECORD, "3", "4")
    with pytest.raises(autobatch.PlanError, match="expected a rank below the world size"):
        of_record(tmp_path, RECORD, "6")
    with pytest.raises(autobatch.PlanError, match="is no record"):
        of_record(tmp_path, {"plan": {"rows": 7}}, "3")
    with pytest.raises(autobatch.PlanError, match="launch --worker"):
        of_record(tmp_path, dict(RECORD, plan={"rows": [dict(ROW, devices=["GPU-1"])]}), "3")


class Distributed:
    """torch.distributed, of which every other rank holds `others`."""

    def __init__(self, others):
        self.others = others

    def is_available(self):
        return True

    def is_initialized(self):
        return True

    def get_world_size(self):
        return 1 + len(self.others)

    def all_gather_object(self, held, own):
        held[:] = [own] + self.others


def test_Verify_RanksOnDifferentRecords_IsAnError(monkeypatch):
    monkeypatch.setenv("AUTOBATCH_RUN_ID", "job1")
    monkeypatch.setenv("AUTOBATCH_DIGEST", "abc")
    monkeypatch.setenv("AUTOBATCH_ROUND", "4")
    autobatch.verify()
    torch = types.SimpleNamespace(distributed=Distributed(["abc of round 4"]))
    monkeypatch.setitem(sys.modules, "torch", torch)
    autobatch.verify()
    torch.distributed = Distributed(["abc of round 4", "abd of round 5"])
    with pytest.raises(autobatch.PlanError, match="rank 2: abd of round 5"):
        with autobatch.trial():
            raise AssertionError("a step was taken")


if __name__ == "__main__":
    raise SystemExit(parent.run_tests(__file__))
