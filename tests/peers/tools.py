"""The tools beside ours, each called as its documentation says, unmodified."""

import tempfile

import torch

# Where find_executable_batch_size starts to come down from; its own default, 128, would be the answer on most cards.
_ACCELERATE_FROM = 1024
# Its default number of steps that a size has to last.
_STEPS = 3


class NotForThis(Exception):
    """The tool cannot be asked about such a workload."""


def _counted(model, counter):
    """The model; every sample that goes into it is counted."""
    def count(_, positional, named):
        first = positional[0] if positional else next(iter(named.values()))
        counter["samples"] += first.shape[0]
    model.register_forward_pre_hook(count, with_kwargs=True)
    return model


def _image_model(workload, counter):
    if workload.kind.image is None:
        raise NotForThis("knows images only")
    return _counted(workload.model(), counter).cuda()


def ultralytics(workload, counter):
    from ultralytics.utils.autobatch import check_train_batch_size
    model = _image_model(workload, counter)
    if not hasattr(model, "yaml"):
        model.yaml = {}  # where it looks for the channels: three
    # No objects: the loss that stands in for the detectors' knows none.
    return check_train_batch_size(model, workload.kind.image, workload.amp, max_num_obj=0)


def yolov5(workload, counter):
    from yolov5.utils.autobatch import check_train_batch_size
    return check_train_batch_size(_image_model(workload, counter), workload.kind.image, workload.amp)


def _lightning(mode, workload, counter):
    import lightning
    from lightning.pytorch.tuner import Tuner

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.batch_size = 2
            self.inner = _counted(workload.model(), counter)

        def training_step(self, count):
            return workload.kind.loss(self.inner, workload.kind.batch(count, self.device))

        def configure_optimizers(self):
            return workload.optimizer(self.inner.parameters())

        def train_dataloader(self):
            # The batch is made on the device: nobody waits for images that nobody looks at.
            return torch.utils.data.DataLoader(range(1 << 20), batch_size=self.batch_size, collate_fn=len)

    with tempfile.TemporaryDirectory() as folder:  # where it keeps the state that it goes back to
        trainer = lightning.Trainer(
            accelerator="cuda", devices=1, precision="16-mixed" if workload.amp else "32-true", max_epochs=1,
            default_root_dir=folder, logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False)
        return Tuner(trainer).scale_batch_size(Module(), mode=mode)


def lightning_power(workload, counter):
    return _lightning("power", workload, counter)


def lightning_binsearch(workload, counter):
    return _lightning("binsearch", workload, counter)


def accelerate(workload, counter):
    from accelerate.utils import find_executable_batch_size

    @find_executable_batch_size(starting_batch_size=_ACCELERATE_FROM)
    def train(batch_size):
        model = _counted(workload.model(), counter).cuda()
        optimizer = workload.optimizer(model.parameters())
        for _ in range(_STEPS):
            workload.step(model, optimizer, workload.kind.batch(batch_size, "cuda"))
        return batch_size

    return train()


TOOLS = {
    "ultralytics": ultralytics,
    "yolov5": yolov5,
    "lightning power": lightning_power,
    "lightning binsearch": lightning_binsearch,
    "accelerate": accelerate,
}
