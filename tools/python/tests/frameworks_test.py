"""The real torch, Lightning and transformers on the CPU, where tools/ci_setup has installed them."""

import os
import subprocess
import sys

import parent
import pytest

for _folder in filter(None, os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "").split(os.pathsep)):
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), _folder]))


def _has(module):
    return subprocess.call(
        [sys.executable, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec(%r))" % module],
        env=parent.environment(),
    ) == 0


pytestmark = pytest.mark.skipif(not _has("torch"), reason="torch is not here: run tools/ci_setup")

MODEL = """
import torch, autobatch
model = torch.nn.Linear(1000, 1000)
optimizer = torch.optim.AdamW(model.parameters())
def train_on(inputs):
    loss = model(inputs).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss
"""


def kinds(ran):
    """Without phases, whose number is the framework's matter."""
    return [kind for kind in ran.kinds if kind != "phase"]


def test_Torch_OwnLoop_IsMeasured():
    ran = parent.run_trial(
        MODEL
        + """
autobatch.watch(model)
with autobatch.trial():
    while True:
        autobatch.step(loss=train_on(torch.randn(autobatch.batch(1), 1000)))
""",
        batch=64,
        steps=4,
    )
    assert kinds(ran) == ["hello", "step", "step", "step", "step", "result"]
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.of("phase")[:5] == ["forward", "loss", "backward", "optimizer", "forward"]
    result = ran.result
    assert result["failure"] is None
    assert result["batch_seen"] == 64
    assert result["parameters"] == 1001000
    assert result["input_shapes"] == ["(64, 1000)"]
    assert result["output_shapes"] == ["(64, 1000)"]
    assert all(step["forward_ms"] > 0 and step["optimizer_ms"] > 0 for step in result["steps"])


def test_Torch_Peak_GrowsWithTheBatch():
    script = MODEL + "while True: autobatch.step(loss=train_on(torch.randn(autobatch.batch(1), 1000)))"
    small, large = (parent.run_trial(script, batch=batch).result["steady"] for batch in (64, 20064))
    # Inputs, outputs, their squares and both gradients: 4 bytes each.
    growth = large["reserved_bytes"] - small["reserved_bytes"]
    assert 3 * 20000 * 1000 * 4 < growth < 7 * 20000 * 1000 * 4


def test_Torch_HostMemoryRunsOut_IsOutOfMemoryWithWhatWasAsked():
    ran = parent.run_trial(
        MODEL + "autobatch.watch(model)\nwith autobatch.trial(): train_on(torch.randn(autobatch.batch(1), 1000))",
        batch=2_000_000,
        limit_bytes=1 << 30,
    )
    failure = ran.result["failure"]
    assert failure["kind"] == "out_of_memory"
    assert failure["requested_bytes"] == 8_000_000_000


def test_Torch_ModelRaises_PhaseIsTold():
    ran = parent.run_trial(
        MODEL
        + """
autobatch.watch(model)
with autobatch.trial():
    autobatch.step(loss=train_on(torch.randn(2, 1000)))
    model(torch.randn(2, 999))
"""
    )
    failure = ran.result["failure"]
    assert (failure["kind"], failure["phase"], failure["step"]) == ("model_error", "forward", 2)
    assert "shapes cannot be multiplied" in failure["message"]


def test_Torch_OutsideOfATrial_ModelHasNoHooks():
    ran = parent.run_plain(MODEL + "autobatch.watch(model)\nprint(len(model._forward_pre_hooks))")
    assert ran.stdout == "0\n"


def test_Torch_CopyOfAWatchedModel_CanBeMade():
    ran = parent.run_trial(
        MODEL
        + """
import copy
autobatch.watch(model)
copy.deepcopy(model)
autobatch.step()
""",
        steps=1,
    )
    assert ran.code == 0, ran.stderr


def test_Torchrun_EveryRank_Reports(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        """
import autobatch, torch
import torch.distributed as distributed
distributed.init_process_group("gloo")
model = autobatch.watch(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 10)))
with autobatch.trial():
    while True:
        loss = model(torch.randn(autobatch.batch(1), 100)).square().mean()
        loss.backward()
        autobatch.step(loss=loss)
"""
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    ran = parent.run_trial("", command=command, batch=8)
    assert ran.code == 0, ran.stderr
    for rank in (0, 1):
        own = [reply for reply in ran.replies if reply["rank"] == rank]
        assert [reply["type"] for reply in own if reply["type"] != "phase"] == ["hello"] + ["step"] * 3 + ["result"]
        assert own[-1]["result"]["batch_seen"] == 8


def test_Lightning_RealTrainer_IsMeasuredAndEnds():
    ran = parent.run_trial(
        """
        import torch, autobatch
        from lightning.pytorch import LightningModule, Trainer
        from autobatch.lightning import callback
        class Net(LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(32, 2)
            def training_step(self, batch, index):
                return self.layer(batch[0]).square().mean()
            def configure_optimizers(self):
                return torch.optim.AdamW(self.parameters())
        data = torch.utils.data.TensorDataset(torch.randn(640, 32))
        loader = torch.utils.data.DataLoader(data, batch_size=autobatch.batch(2), drop_last=True)
        trainer = Trainer(max_epochs=9, accelerator="cpu", logger=False, enable_checkpointing=False,
                          accumulate_grad_batches=2, callbacks=[callback()], enable_progress_bar=False)
        trainer.fit(Net(), loader)
        print("went on")
        """,
        batch=64,
        steps=6,
    )
    assert kinds(ran) == ["hello"] + ["step"] * 6 + ["result"], ran.stderr
    assert (ran.code, ran.stdout) == (0, "")
    assert ran.result["batch_seen"] == 64
    assert all(step["loss"] > 0 for step in ran.result["steps"])


def test_Transformers_RealTrainer_IsMeasuredAndEnds(tmp_path):
    ran = parent.run_trial(
        """
        import sys, torch, autobatch
        from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
        from autobatch.transformers import callback
        config = GPT2Config(n_layer=1, n_embd=32, n_head=2, vocab_size=64, n_positions=16)
        data = [{"input_ids": torch.randint(64, (16,)), "labels": torch.randint(64, (16,))} for _ in range(64)]
        arguments = TrainingArguments(
            output_dir=sys.argv[1], per_device_train_batch_size=autobatch.batch(2), use_cpu=True,
            report_to=[], gradient_accumulation_steps=2, num_train_epochs=50, save_strategy="no")
        Trainer(GPT2LMHeadModel(config), arguments, train_dataset=data, callbacks=[callback()]).train()
        print("went on")
        """,
        str(tmp_path),
        batch=16,
        steps=3,
    )
    assert kinds(ran) == ["hello"] + ["step"] * 3 + ["result"], ran.stderr
    assert (ran.code, ran.stdout) == (0, "")
    result = ran.result
    assert result["batch_seen"] == 16
    assert result["input_shapes"][0] == "(16, 16)"


if __name__ == "__main__":
    raise SystemExit(parent.run_tests(__file__))
