import torch


class ModelMixin(torch.nn.Module):
    @classmethod
    def from_pretrained(cls, path):
        from ..pipelines.pipeline_tiny import Transformer
        return Transformer()
