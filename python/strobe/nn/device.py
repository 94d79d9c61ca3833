"""Time on the CPU, and on a GPU where one is in use, without waiting for it."""
import time


def torch():
    import torch as found
    return found


def device_of(model):
    """The device of the first parameter or buffer; cpu without any."""
    for tensors in (model.parameters(), model.buffers()):
        for tensor in tensors:
            return tensor.device
    return torch().device("cpu")


class Stopwatch:
    """Marks on the CPU's clock and, on CUDA, on the stream."""

    def __init__(self, device):
        self.gpu = device.type == "cuda"
        self._device = device

    def mark(self):
        event = None
        if self.gpu:
            event = torch().cuda.Event(enable_timing=True)
            event.record(torch().cuda.current_stream(self._device))
        return time.perf_counter(), event


def cpu_ms(begin, end):
    return (end[0] - begin[0]) * 1e3


def gpu_ms(begin, end):
    """None on the CPU. Asks the event until it is ready: the stream alone decides when."""
    if end[1] is None:
        return None
    while not end[1].query():
        time.sleep(0.0002)
    return begin[1].elapsed_time(end[1])
