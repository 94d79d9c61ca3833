class ModelHook:
    def pre_forward(self, module, *args, **kwargs):
        return args, kwargs


class CpuOffload(ModelHook):
    def __init__(self, execution_device):
        self.execution_device = execution_device

    def pre_forward(self, module, *args, **kwargs):
        module.to(self.execution_device)
        return args, kwargs


class AlignDevicesHook(ModelHook):
    def __init__(self, execution_device=None, offload=False, place_submodules=False):
        self.execution_device, self.offload, self.place_submodules = execution_device, offload, place_submodules

    def pre_forward(self, module, *args, **kwargs):
        return args, kwargs


class UserCpuOffloadHook:
    def __init__(self, model, hook):
        self.model, self.hook = model, hook

    def offload(self):
        self.model.to("cpu")
