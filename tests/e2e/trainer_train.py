"""Somebody's fine-tuning with Hugging Face's Trainer: sentences of unlike lengths, padded by attention masks.

    trainer_train.py FOLDER BATCH STEPS     the batch and steps from the command line
    trainer_train.py FOLDER own             the batch from autobatch, with its callback
"""

import random
import sys

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Sentences(Dataset):
    """Each as long as its random numbers say, padded to 128."""

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        length = random.Random(index).randint(16, 128)
        mask = torch.zeros(128, dtype=torch.long)
        mask[:length] = 1
        tokens = torch.randint(1, 1000, (128,)) * mask
        return {"input_ids": tokens, "attention_mask": mask, "labels": tokens.masked_fill(mask == 0, -100)}


def main(folder, batch, steps="100"):
    callbacks = []
    if batch == "own":
        import autobatch
        from autobatch.transformers import callback
        batch, callbacks = autobatch.batch(8), [callback()]
    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_positions=128, n_embd=128, n_layer=2, n_head=4))
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=int(batch), max_steps=int(steps),
                                  max_grad_norm=1.0, report_to=[], save_strategy="no", logging_steps=2)
    Trainer(model, arguments, train_dataset=Sentences(), callbacks=callbacks).train()


if __name__ == "__main__":
    main(*sys.argv[1:])
