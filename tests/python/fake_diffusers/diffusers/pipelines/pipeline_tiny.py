import types

import torch

from .pipeline_utils import DiffusionPipeline


class TextEncoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.inner(x)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.linear(x))


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block() for _ in range(4)])
        self.skip = False

    def forward(self, x, timestep=None):
        for block in self.blocks[:1] if self.skip else self.blocks:
            x = block(x)
        return x


class Decoder(torch.nn.Module):
    def forward(self, z):
        return z.repeat_interleave(4, 2)


class AutoencoderTiny(torch.nn.Module):
    def __init__(self, tiles=3):
        super().__init__()
        self.decoder = Decoder()
        self.encoder = Decoder()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.use_tiling = tiles > 1
        self.tiles = tiles

    def decode(self, z, return_dict=True):
        return types.SimpleNamespace(sample=[self.decoder(z) for _ in range(self.tiles)][0])

    def encode(self, x):
        return self.encoder(x)


class Scheduler:
    def set_timesteps(self, n):
        self.timesteps = torch.linspace(999, 1, n)

    def step(self, model_output, timestep, sample):
        return sample - 0.1 * model_output


class TinyVideoPipeline(DiffusionPipeline):
    def __init__(self, transformer=None, transformer_2=None, cached_steps=(), tiles=3):
        torch.manual_seed(0)
        self.register_modules(text_encoder=TextEncoder(), transformer=transformer or Transformer(),
                              transformer_2=transformer_2, vae=AutoencoderTiny(tiles), scheduler=Scheduler(),
                              tokenizer=None, requires_safety_checker=False)
        self.cached_steps = cached_steps

    def encode_prompt(self, prompt):
        return self.text_encoder(torch.ones(1, 4))

    def __call__(self, prompt, num_inference_steps=4, guidance_scale=5.0, width=16, height=8):
        self.encode_prompt(prompt)
        self.scheduler.set_timesteps(num_inference_steps)
        latent = torch.ones(1, 4)
        for i, t in enumerate(self.scheduler.timesteps):
            late = self.transformer_2 is not None and i >= num_inference_steps // 2
            model = self.transformer_2 if late else self.transformer
            model.skip = i in self.cached_steps
            conditional = model(latent, timestep=t)
            unconditional = model(latent, timestep=t)
            guided = unconditional + guidance_scale * (conditional - unconditional)
            latent = self.scheduler.step(guided, t, latent)
        video = self.vae.decode(latent.reshape(1, 1, 1, 2, 2).repeat(1, 3, 2, 1, 1)).sample
        return types.SimpleNamespace(frames=video.permute(0, 2, 3, 4, 1).detach().numpy())


class NovelPipeline(DiffusionPipeline):
    """Nothing in it is called what it is called elsewhere."""

    def __init__(self):
        self.register_modules(mystery=object(), brain=Transformer(), count=3)

    def __call__(self, x):
        return self.brain(torch.ones(1, 4) * x)
