"""Somebody's Lightning training on two GPUs: Lightning starts the second rank itself.

    lightning_train.py FOLDER STEPS
"""

import json
import sys

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 10))

    def training_step(self, batch, _):
        samples, labels = batch
        loss = nn.functional.cross_entropy(self.layers(samples), labels)
        self.log("loss", loss, sync_dist=True, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def main(folder, steps):
    samples = TensorDataset(torch.randn(512, 64), torch.randint(10, (512,)))
    trainer = lightning.Trainer(strategy="ddp", accelerator="gpu", devices=2, max_steps=int(steps),
                                default_root_dir=folder, enable_progress_bar=False)
    trainer.fit(Classifier(), DataLoader(samples, batch_size=16))
    # One write: both ranks share the pipe.
    sys.stdout.write(json.dumps({"rank": trainer.global_rank, "steps": trainer.global_step,
                                 "log": trainer.log_dir}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
