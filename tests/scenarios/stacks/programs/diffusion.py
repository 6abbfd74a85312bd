"""Makes images with a UNet of Stable Diffusion's size and its decoder (diffusers), in half precision."""

import argparse

import torch
from diffusers import AutoencoderKL, DDIMScheduler, UNet2DConditionModel
from models import report

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--size", type=int, default=512, help="pixels of a side")
parser.add_argument("--steps", type=int, default=8)
arguments = parser.parse_args()

with torch.device("cuda"):
    unet = UNet2DConditionModel(sample_size=64, cross_attention_dim=768, attention_head_dim=8).half().eval()
    vae = AutoencoderKL(
        block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4, sample_size=512,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
    ).half().eval()
scheduler = DDIMScheduler()
scheduler.set_timesteps(arguments.steps)
shape = (arguments.batch, 4, arguments.size // 8, arguments.size // 8)
latents = torch.randn(shape, dtype=torch.half, device="cuda")
words = torch.randn(arguments.batch, 77, 768, dtype=torch.half, device="cuda")
with torch.inference_mode():
    for time in scheduler.timesteps:
        noise = unet(latents, time.cuda(), encoder_hidden_states=words).sample
        latents = scheduler.step(noise, time, latents).prev_sample
    images = vae.decode(latents).sample
report(shape=list(images.shape))
