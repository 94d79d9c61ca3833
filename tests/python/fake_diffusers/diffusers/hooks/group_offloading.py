class ModuleGroup:
    def __init__(self, modules, parameters=None, buffers=None):
        self.modules = modules
        self.parameters = parameters or []
        self.buffers = buffers or []

    def onload_(self):
        pass

    def offload_(self):
        pass
