"""Problems that lie in versions and layouts, and programs beside them that have none."""
import torch
import torch.nn.functional as F

from problem import planted
from video import Decoder, Pipeline, Size

CUDA = torch.cuda.is_available()


@planted("known_version", "fallback_conv", stage="vae_decode|Decoder", needs="cuda")
def a_version_known_to_be_slow(fixed):
    """Says that it is torch 2.9.0 and does what that does: 3D convolutions in 16 bits are unfolded. With a trace the unfolding is seen,
    and the version is its cause."""
    pipe = Pipeline(Size(CUDA, steps=4, dim=1024, videos=40, grid=(16, 48, 48)))
    whole = pipe.vae.forward

    def unfolded(z):
        with torch.backends.cudnn.flags(enabled=False):
            return whole(z)

    if not fixed:
        torch.__version__ = "2.9.0"
        pipe.vae.forward = unfolded
    pipe.run()


@planted("gradients_unused", stage="Transformer", needs="torch")
def gradients_are_recorded(fixed):
    """Each step's latents hang on all steps before them: that is memory, and time where launches are what it waits for."""
    size = Size(CUDA)
    size.videos = 6
    pipe = Pipeline(size)
    whole = pipe.predict

    def predict(x, timestep, text):
        with torch.set_grad_enabled(not fixed):
            return whole(x, timestep, text)

    pipe.predict = predict
    pipe.run()


class ChannelsLast(Decoder):
    """One layout from the first layer to the last: a single copy on the way in."""

    def forward(self, z):
        y = F.interpolate(self.inside(z.contiguous(memory_format=torch.channels_last_3d)), scale_factor=(1, 4, 4))
        for layer in self.layers:
            y = F.silu(layer(y))
        return self.outside(y)


@planted(healthy=True, needs="cuda")
def healthy_channels_last(fixed):
    size = Size(CUDA, steps=2, dim=1024, grid=(16, 48, 48))
    pipe = Pipeline(size)
    made = ChannelsLast(size.vae_dim)
    made.load_state_dict(pipe.vae.state_dict())
    pipe.vae = made.to(size.device, size.dtype).to(memory_format=torch.channels_last_3d)
    pipe.run()
