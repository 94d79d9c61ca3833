"""What a pipeline does, counted by the tests themselves: hooks on its own parts, nothing of strobe's."""
import hashlib

DENOISERS = ("transformer", "transformer_2", "unet")
TEXT = ("text_encoder", "text_encoder_2", "text_encoder_3")


class Counts:
    def __init__(self, pipeline):
        self.forwards_per_step = []   # of denoisers, between two scheduler steps
        self.text_forwards = 0
        self.image_encodes = 0
        self.decodes = []             # latent shape of each
        self.encodes = 0
        self.timesteps = []
        self._since_step = 0
        self._pipeline = pipeline
        self._undo = []
        for name in DENOISERS:
            self._hook(getattr(pipeline, name, None), self._denoised)
        for name in TEXT:
            self._hook(getattr(pipeline, name, None), self._text)
        self._hook(getattr(pipeline, "image_encoder", None), self._image)
        self._wrap(pipeline.scheduler, "step", self._stepped)
        self._wrap(pipeline.vae, "decode", lambda args, kwargs: self.decodes.append(list(args[0].shape)))
        self._wrap(pipeline.vae, "encode", self._encoded)

    def _hook(self, module, count):
        if module is not None:
            module = getattr(module, "_orig_mod", module)
            self._undo.append(module.register_forward_pre_hook(count).remove)

    def _wrap(self, owner, name, count):
        original = getattr(owner, name)

        def counted(*args, **kwargs):
            count(args, kwargs)
            return original(*args, **kwargs)
        setattr(owner, name, counted)
        self._undo.append(lambda: delattr(owner, name))

    def _denoised(self, *_):
        self._since_step += 1

    def _text(self, *_):
        self.text_forwards += 1

    def _image(self, *_):
        self.image_encodes += 1

    def _encoded(self, args, kwargs):
        self.encodes += 1

    def _stepped(self, args, kwargs):
        self.forwards_per_step.append(self._since_step)
        self._since_step = 0

    def done(self):
        for undo in self._undo:
            undo()
        self.timesteps = [float(t) for t in self._pipeline.scheduler.timesteps]
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


def digest(value):
    """Of an array, a tensor, or a list of images: equal for bit-equal outputs only."""
    import numpy
    if hasattr(value, "detach"):
        value = value.detach().cpu().float().numpy()
    if isinstance(value, (list, tuple)):
        return hashlib.sha256("".join(digest(one) for one in value).encode()).hexdigest()
    return hashlib.sha256(numpy.ascontiguousarray(numpy.asarray(value)).tobytes()).hexdigest()
