"""Layer by layer, with hooks: components, blocks, the slowest five. The hooks come
off again whatever happens; nothing synchronizes."""
import contextlib
import statistics

from .._core import ROLE_LAYER, native, section
from .device import Stopwatch, cpu_ms, device_of, gpu_ms, torch


def _parts(model):
    """(name, module, block index or None): the direct children, with the lists of
    blocks among them taken apart."""
    found = []
    for name, child in model.named_children():
        if isinstance(child, (torch().nn.ModuleList, torch().nn.Sequential)) and len(child) > 1:
            found += [(name, block, i) for i, block in enumerate(child)]
        else:
            found.append((name, child, None))
    if not found:
        found.append((type(model).__name__, model, None))
    return found


class _Hooks:
    """Marks before and after each part; the handles are kept to be removed."""

    def __init__(self, parts, before, after):
        self._handles = []
        try:
            for part in parts:
                self._handles.append(part[1].register_forward_pre_hook(lambda m, args, p=part: before(p)))
                self._handles.append(part[1].register_forward_hook(lambda m, args, out, p=part: after(p)))
        except BaseException:
            self.remove()
            raise

    def remove(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []


@contextlib.contextmanager
def layers(model, name=None):
    """Inside the block, each call of the model's parts is a zone of the recording."""
    prefix = (name or type(model).__name__) + "."
    open_zones = []

    def before(part):
        label = prefix + part[0]
        zone = section(label, **({"strobe.role": ROLE_LAYER} if part[2] is None
                                 else {"strobe.role": ROLE_LAYER, "index": part[2]}))
        zone.__enter__()
        open_zones.append(zone)

    def after(part):
        if open_zones:
            open_zones.pop().__exit__(None, None, None)

    hooks = _Hooks(_parts(model), before, after)
    try:
        yield model
    finally:
        hooks.remove()
        while open_zones:
            open_zones.pop().__exit__(None, None, None)


class LayerReport:
    """Milliseconds per part, the mean over iterations. gpu_ms is None without CUDA."""

    def __init__(self, components, blocks, total_ms, on_gpu):
        self.components = components  # name -> ms, lists of blocks as one component
        self.blocks = blocks          # list name -> [ms of block 0, ...]
        self.total_ms = total_ms      # of the whole model
        self.on_gpu = on_gpu

    @property
    def other_ms(self):
        """What is in no component: the components and this add up to the total."""
        return max(0.0, self.total_ms - sum(self.components.values()))

    def slowest(self, count=5):
        """[(list name, index, ms)]"""
        rows = [(name, i, ms) for name, values in self.blocks.items() for i, ms in enumerate(values)]
        return sorted(rows, key=lambda row: -row[2])[:count]

    def block_std_ms(self, name):
        values = self.blocks[name]
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def as_dict(self):
        return {"components_ms": dict(self.components), "blocks_ms": {k: list(v) for k, v in self.blocks.items()},
                "other_ms": self.other_ms, "total_ms": self.total_ms, "clock": "gpu" if self.on_gpu else "cpu"}

    def __str__(self):
        lines = ["Component timings (%s time, mean per call):" % ("GPU" if self.on_gpu else "CPU")]
        for name, ms in self.components.items():
            share = 100.0 * ms / self.total_ms if self.total_ms else 0.0
            count = "  (%d blocks)" % len(self.blocks[name]) if name in self.blocks else ""
            lines.append("  %-24s %9.2f ms  %5.1f %%%s" % (name + ":", ms, share, count))
            if name in self.blocks:
                lines.append("  %-24s %9.2f ms" % ("- per block (mean):", statistics.fmean(self.blocks[name])))
                lines.append("  %-24s %9.2f ms" % ("- per block (std):", self.block_std_ms(name)))
        lines.append("  %-24s %9.2f ms" % ("other:", self.other_ms))
        lines.append("  %-24s %9.2f ms" % ("Total:", self.total_ms))
        slowest = self.slowest()
        if slowest:
            lines += ["", "Slowest %d blocks:" % len(slowest)]
            lines += ["  %s %d: %.2f ms" % row for row in slowest]
        return "\n".join(lines)


def profile_layers(model, *inputs, iterations=10, warmup=2, **kwargs):
    """Times each part of model(*inputs) and returns a LayerReport."""
    watch = Stopwatch(device_of(model))
    marks, begun, whole = {}, {}, []

    def before(part):
        begun.setdefault(id(part), []).append(watch.mark())

    def after(part):
        marks.setdefault(id(part), []).append((begun[id(part)].pop(), watch.mark()))

    parts = _parts(model)
    with torch().no_grad():
        for _ in range(warmup):
            model(*inputs, **kwargs)
        hooks = _Hooks(parts, before, after)
        try:
            for _ in range(iterations):
                begin = watch.mark()
                with layers(model) if native.recording() else contextlib.nullcontext():
                    model(*inputs, **kwargs)
                whole.append((begin, watch.mark()))
        finally:
            hooks.remove()
    return _report(parts, marks, whole, iterations, watch.gpu)


def _report(parts, marks, whole, iterations, on_gpu):
    ms_of = gpu_ms if on_gpu else cpu_ms
    components, blocks = {}, {}
    for part in parts:
        ms = sum(ms_of(*pair) for pair in marks.get(id(part), ())) / iterations
        components[part[0]] = components.get(part[0], 0.0) + ms
        if part[2] is not None:
            blocks.setdefault(part[0], []).append(ms)
    total = sum(ms_of(*pair) for pair in whole) / iterations
    return LayerReport(components, blocks, total, on_gpu)
