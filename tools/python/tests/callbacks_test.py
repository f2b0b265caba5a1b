"""The callbacks, on stand-ins that call them as their frameworks do."""

import parent

LIGHTNING = """
import sys, types
name = %r
module = types.ModuleType(name)
class Callback:
    def on_train_start(self, trainer, pl_module): pass
module.Callback = Callback
if "." in name: sys.modules["lightning"] = types.ModuleType("lightning")
sys.modules[name] = module

class Tensor:
    def __init__(self, *shape): self.shape, self.dtype = shape, "float32"
class Trainer:
    global_step = 0
    def fit(self, callback, batch, accumulate, batches):
        callback.setup(self, None, "fit")
        for index in range(1, batches + 1):
            if index %% accumulate == 0: self.global_step += 1
            callback.on_train_batch_end(self, None, {"loss": 0.5}, batch, index)

from autobatch.lightning import callback
ours = callback()
assert isinstance(ours, Callback)
"""


def test_Lightning_EitherName_IsFound():
    for name in ("lightning.pytorch", "pytorch_lightning"):
        ran = parent.run_plain(LIGHTNING % name + "Trainer().fit(ours, [Tensor(4, 3)], 1, 5)")
        assert ran.code == 0, ran.stderr


def test_Lightning_NoneInstalled_ImportErrorNamesIt():
    script = "import sys; sys.modules.update({'lightning': None, 'pytorch_lightning': None})\n"
    ran = parent.run_plain(script + "from autobatch.lightning import callback\ncallback()")
    assert ran.stderr.splitlines()[-1].startswith("ModuleNotFoundError"), ran.stderr


def test_Lightning_Accumulation_OptimizerStepsCount():
    fit = "Trainer().fit(ours, ({'ids': 'none'}, {'pixels': Tensor(6, 3, 32, 32)}), 4, 100)\nprint('went on')"
    ran = parent.run_trial(LIGHTNING % "lightning.pytorch" + fit, steps=3)
    assert ran.kinds == ["hello", "step", "step", "step", "result"]
    assert (ran.code, ran.stdout) == (0, "")
    assert ran.result["batch_seen"] == 6
    assert ran.result["steps"][0]["loss"] == 0.5


TRANSFORMERS = """
import sys, types
module = sys.modules["transformers"] = types.ModuleType("transformers")
class TrainerCallback:
    def on_epoch_begin(self, args, state, control, **rest): pass
module.TrainerCallback = TrainerCallback

from autobatch.transformers import callback
ours = callback()
assert isinstance(ours, TrainerCallback)

class Model:
    def __init__(self): self.hooks = []
    def parameters(self): return []
    def register_forward_pre_hook(self, hook, with_kwargs):
        assert with_kwargs
        self.hooks.append(hook)
    def register_forward_hook(self, hook, with_kwargs): pass
    def __call__(self, **inputs):
        for hook in self.hooks: hook(self, (), inputs)
class Tensor:
    def __init__(self, *shape): self.shape, self.dtype = shape, "int64"
model = Model()
def train():
    ours.on_train_begin(None, None, None, model=model)
    while True:
        # A count of items, without dimensions, is no batch.
        model(num_items=Tensor(), input_ids=Tensor(12, 128))
        ours.on_step_end(None, None, None, model=model)
"""


def test_Transformers_Steps_AreCountedAndTheBatchIsSeen():
    ran = parent.run_trial(TRANSFORMERS + "train()", steps=2, batch=12)
    assert [kind for kind in ran.kinds if kind != "phase"] == ["hello", "step", "step", "result"]
    assert ran.result["batch_seen"] == 12
    assert ran.result["input_shapes"] == []


def test_Transformers_BeginsAgain_ModelIsHookedOnce():
    begin = "ours.on_train_begin(None, None, None, model=model)\n"
    ran = parent.run_trial(TRANSFORMERS + begin + begin + "print(len(model.hooks))")
    assert ran.stdout == "1\n"


def test_Transformers_OutsideOfATrial_NothingHappens():
    script = TRANSFORMERS.replace("while True", "for _ in range(3)") + "train(); print(len(model.hooks))"
    ran = parent.run_plain(script)
    assert (ran.stdout, ran.stderr) == ("0\n", "")


ULTRALYTICS = """
import types, autobatch
from autobatch.ultralytics import add_callbacks

class Yolo:
    def __init__(self): self.callbacks = {}
    def add_callback(self, event, function): self.callbacks.setdefault(event, []).append(function)
class Tensor:
    def __init__(self, *shape): self.shape, self.dtype = shape, "float32"
class Model:
    hooks = []
    def parameters(self): return []
    def register_forward_pre_hook(self, hook, with_kwargs): self.hooks.append(hook)
    def register_forward_hook(self, hook, with_kwargs): pass
yolo = Yolo()
assert add_callbacks(yolo) is yolo
trainer = types.SimpleNamespace(
    args=types.SimpleNamespace(nbs=64, batch=autobatch.batch(4)), model=Model(), loss=2.5, _oom_retries=0)
def run(event):
    for function in yolo.callbacks.get(event, []): function(trainer)
run("on_pretrain_routine_start")
run("on_train_start")
run("on_train_epoch_start")
print(trainer.args.nbs, trainer._oom_retries, len(trainer.model.hooks), flush=True)
for _ in range(20):
    for hook in trainer.model.hooks: hook(None, ({"cls": Tensor(99, 1), "img": Tensor(16, 3, 64, 64)},), {})
    run("on_train_batch_end")
"""


def test_Ultralytics_InATrial_EveryBatchIsAStepAndIsNeverHalved():
    ran = parent.run_trial(ULTRALYTICS, batch=16, steps=3)
    assert ran.stdout == "16 3 1\n"
    assert ran.code == 0
    result = ran.result
    assert (result["failure"], result["batch_seen"], len(result["steps"])) == (None, 16, 3)
    assert result["steps"][0]["loss"] == 2.5


def test_Ultralytics_OutsideOfATrial_IsLeftAlone():
    ran = parent.run_plain(ULTRALYTICS)
    assert (ran.stdout, ran.stderr) == ("64 0 0\n", "")


if __name__ == "__main__":
    raise SystemExit(parent.run_tests(__file__))
