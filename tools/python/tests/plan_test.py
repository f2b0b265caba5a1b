"""What a launcher hands to training, read back."""

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
        assert variable + " is missing" in str(caught.value)


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


if __name__ == "__main__":
    raise SystemExit(parent.run_tests(__file__))
