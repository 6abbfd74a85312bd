"""Trains a vision transformer of timm with Lightning, in bfloat16."""

import argparse

import lightning
import timm
import torch
from models import report

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = timm.create_model("vit_large_patch16_224", pretrained=False)

    def training_step(self, batch, _):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return torch.zeros(3, 224, 224), index % 1000


trainer = lightning.Trainer(
    accelerator="gpu", devices=1, max_steps=arguments.steps, precision="bf16-mixed", logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(Classifier(), torch.utils.data.DataLoader(Images(), batch_size=arguments.batch))
report()
