"""The table of planted problems: each file of them adds its own with @planted."""

FAMILIES = ("plain", "between", "memory", "switches", "gpu", "kernels", "settings", "diffusion", "callbacks", "trackers")  # the files
TABLE = {}


class Problem:
    def __init__(self, function, ids, healthy, stage, marks, needs, traced):
        self.name, self.function = function.__name__, function
        self.ids, self.healthy, self.stage, self.needs, self.traced = ids, healthy, stage, needs, traced
        self.file = function.__code__.co_filename
        self.lines = self._planted_lines(marks)

    def _planted_lines(self, marks):
        """Lines that say `# planted` in its own code, and those elsewhere in the file that say it with its name."""
        with open(self.file) as source:
            text = source.read().split("\n")
        first = self.function.__code__.co_firstlineno
        last = next((i for i in range(first, len(text)) if text[i].startswith(("@", "def ", "class ")) and i > first + 1), len(text))
        own = [i + 1 for i in range(first, last) if text[i].rstrip().endswith("# planted")]
        return own + [i + 1 for i, line in enumerate(text) if marks and line.rstrip().endswith("# planted: " + marks)]


def planted(*ids, healthy=False, stage=None, marks=None, needs="", traced=False):
    """ids: the findings that name it, any of them. stage: where, if no line does it. needs: "", "torch", "diffusers", "cuda".
    traced: only a trace of the kernels shows it."""
    def add(function):
        TABLE[function.__name__] = Problem(function, ids, healthy, stage, marks, needs, traced)
        return function
    return add
