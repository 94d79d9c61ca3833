class DiffusionPipeline:
    def register_modules(self, **components):
        for name, component in components.items():
            setattr(self, name, component)

    @classmethod
    def from_pretrained(cls, path, **options):
        from ..models.modeling_utils import ModelMixin
        return cls(transformer=ModelMixin.from_pretrained(path))
