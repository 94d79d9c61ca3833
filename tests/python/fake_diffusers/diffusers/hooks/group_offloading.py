class ModuleGroup:
    def __init__(self, modules):
        self.modules = modules

    def onload_(self):
        pass

    def offload_(self):
        pass
