"""Pipelines with the shapes of real ones: how they call their parts, not what those compute."""
import types

import torch

from .pipeline_utils import DiffusionPipeline


class TinyAttention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.to_q = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.to_q(x)


class CachedBlock(torch.nn.Module):
    """As first-block caching leaves a block: called each time, computing only when told to."""

    def __init__(self):
        super().__init__()
        self.attn1 = TinyAttention()
        self.skip = False

    def forward(self, x):
        return x if self.skip else torch.tanh(self.attn1(x))


class Transformer3D(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([CachedBlock() for _ in range(4)])

    def forward(self, hidden_states, timestep=None, return_dict=True):
        for block in self.blocks:
            hidden_states = block(hidden_states)
        return (hidden_states,)


class CausalDecoder(torch.nn.Module):
    def forward(self, x, feat_cache=None, feat_idx=None, first_chunk=False):
        return x.repeat_interleave(1 if first_chunk else 4, 2)


class AutoencoderKLWanLike(torch.nn.Module):
    """One decoder call for each latent frame of each tile, with a cache that is new for each tile."""

    def __init__(self, tiles):
        super().__init__()
        self.encoder, self.decoder = CausalDecoder(), CausalDecoder()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.use_tiling, self.tiles = tiles > 0, max(tiles, 1)

    def encode(self, x, return_dict=True):
        return types.SimpleNamespace(latent_dist=x)

    def decode(self, z, return_dict=True):
        for _ in range(self.tiles):
            self._feat_map = [None] * 3
            parts = [self.decoder(z[:, :, k:k + 1], feat_cache=self._feat_map, feat_idx=[0], first_chunk=k == 0)
                     for k in range(z.shape[2])]
        video = torch.cat(parts, 2)
        return types.SimpleNamespace(sample=video) if return_dict else (video,)


class BatchedDecoder(torch.nn.Module):
    def forward(self, x, conv_cache=None):
        return x.repeat_interleave(4, 2), {"conv_in": x}


class AutoencoderKLCogVideoXLike(AutoencoderKLWanLike):
    def __init__(self, tiles):
        super().__init__(tiles)
        self.decoder = BatchedDecoder()

    def decode(self, z, return_dict=True):
        for _ in range(self.tiles):
            conv_cache, parts = None, []
            for k in range(0, z.shape[2], 2):
                part, conv_cache = self.decoder(z[:, :, k:k + 2], conv_cache=conv_cache)
                parts.append(part)
        return types.SimpleNamespace(sample=torch.cat(parts, 2))


class AutoencoderKLLike(torch.nn.Module):
    """Frame by frame: it knows images only."""

    def __init__(self):
        super().__init__()
        self.decoder = self.encoder = torch.nn.Identity()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.use_tiling = False

    def encode(self, x):
        return x

    def decode(self, z, return_dict=True):
        return types.SimpleNamespace(sample=self.decoder(z))


class FlowScheduler:
    order = 1

    def set_timesteps(self, num_inference_steps=None, device=None, **kwargs):
        self.timesteps = torch.linspace(999, 1, num_inference_steps)

    def step(self, model_output, timestep, sample, return_dict=True):
        return (sample - 0.1 * model_output,)


class CogVideoXDPMLike(FlowScheduler):
    def step(self, model_output, old_pred_original_sample, timestep, timestep_back, sample, return_dict=True):
        return sample - 0.1 * model_output, model_output


class TextEncoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.embed(x)


class WanLikePipeline(DiffusionPipeline):
    def __init__(self, vae=None, scheduler=None, cached_steps=(), first_cached=1, guided_steps=100):
        torch.manual_seed(0)
        self.first_cached, self.guided_steps = first_cached, guided_steps
        self.register_modules(tokenizer=None, text_encoder=TextEncoder(), transformer=Transformer3D(),
                              transformer_2=Transformer3D(), vae=vae or AutoencoderKLWanLike(12),
                              scheduler=scheduler or FlowScheduler())
        self.cached_steps = cached_steps

    def encode_prompt(self, prompt, negative_prompt=None, device=None):
        return self.text_encoder(torch.ones(1, 4)), self.text_encoder(torch.zeros(1, 4))

    @torch.no_grad()
    def __call__(self, prompt=None, negative_prompt=None, height=16, width=32, num_frames=9, num_inference_steps=4,
                 guidance_scale=5.0, output_type="np", return_dict=True):
        self.encode_prompt(prompt=prompt, negative_prompt=negative_prompt)
        self.scheduler.set_timesteps(num_inference_steps, device="cpu")
        latents, old = torch.ones(1, 4, 3, 2, 4), None
        for i, t in enumerate(self.scheduler.timesteps):
            model = self.transformer if i < num_inference_steps // 2 else self.transformer_2
            for block in list(model.blocks)[self.first_cached:]:
                block.skip = i in self.cached_steps
            flat = latents.reshape(-1, 4)
            conditional = model(hidden_states=flat, timestep=t, return_dict=False)[0]
            unconditional = model(hidden_states=flat, timestep=t, return_dict=False)[0] if i < self.guided_steps else conditional
            noise = (unconditional + guidance_scale * (conditional - unconditional)).reshape(latents.shape)
            if isinstance(self.scheduler, CogVideoXDPMLike):
                latents, old = self.scheduler.step(noise, old, t, None, latents, return_dict=False)
            else:
                latents = self.scheduler.step(noise, t, latents, return_dict=False)[0]
        if output_type == "latent":
            video = latents
        else:
            video = self.vae.decode(latents[:, :3], return_dict=False)[0] if isinstance(self.vae, AutoencoderKLWanLike) \
                and not isinstance(self.vae, AutoencoderKLCogVideoXLike) else self.vae.decode(latents[:, :3]).sample
            video = video.permute(0, 2, 3, 4, 1).numpy()
            if output_type == "pil":
                video = [list(one) for one in video]
        return types.SimpleNamespace(frames=video) if return_dict else (video,)


class AnimateLikePipeline(DiffusionPipeline):
    """Frames are images to its VAE, a few at a time."""

    def __init__(self):
        torch.manual_seed(0)
        self.register_modules(unet=Transformer3D(), vae=AutoencoderKLLike(), scheduler=FlowScheduler(), text_encoder=None)

    @torch.no_grad()
    def __call__(self, prompt=None, num_frames=16, num_inference_steps=2, decode_chunk_size=8, output_type="pt"):
        self.scheduler.set_timesteps(num_inference_steps)
        latents = torch.ones(num_frames, 3, 2, 4)
        for t in self.scheduler.timesteps:
            noise = self.unet(latents.reshape(-1, 4), t)[0].reshape(latents.shape)
            latents = self.scheduler.step(noise, t, latents)[0]
        video = torch.cat([self.vae.decode(part).sample for part in latents.split(decode_chunk_size)])
        return types.SimpleNamespace(frames=video[None])


class ImageLikePipeline(AnimateLikePipeline):
    @torch.no_grad()
    def __call__(self, prompt=None, num_inference_steps=2, return_dict=True):
        self.scheduler.set_timesteps(num_inference_steps)
        latents = torch.ones(2, 3, 2, 4)
        for t in self.scheduler.timesteps:
            latents = self.scheduler.step(self.unet(latents.reshape(-1, 4), t)[0].reshape(latents.shape), t, latents)[0]
        return (list(self.vae.decode(latents).sample),)
