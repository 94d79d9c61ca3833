"""Which driver calls a stream under capture (mode global, as torch captures) survives.

strobe makes only those that do: run it on a new driver before trusting that list.
"""
import ctypes
import threading

import torch

cuda = ctypes.CDLL("libcuda.so.1")
number, small, handle, ms = ctypes.c_ulonglong(), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_float()
x = torch.ones(8, device="cuda")
events = [ctypes.c_void_p() for _ in range(2)]
for e in events:
    cuda.cuEventCreate(ctypes.byref(e), 0)
    cuda.cuEventRecord(e, None)
context = ctypes.c_void_p()
cuda.cuCtxGetCurrent(ctypes.byref(context))
torch.cuda.synchronize()


def elsewhere(relaxed, *calls):
    def run():
        mode = ctypes.c_int(2)
        if relaxed:
            cuda.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
        cuda.cuCtxPushCurrent_v2(context)
        for c in calls:
            c()
        cuda.cuCtxPopCurrent_v2(ctypes.byref(handle))
    t = threading.Thread(target=run)
    t.start()
    t.join()


def record_own():
    s, e = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuStreamCreateWithPriority(ctypes.byref(s), 1, -5)
    cuda.cuEventCreate(ctypes.byref(e), 0)
    cuda.cuEventRecord(e, s)
    while cuda.cuEventQuery(e) == 600:
        pass


def elapsed():
    cuda.cuEventElapsedTime(ctypes.byref(ms), events[0], events[1])


CASES = {
    "nothing": lambda s: None,
    "cuCtxGetCurrent": lambda s: cuda.cuCtxGetCurrent(ctypes.byref(handle)),
    "cuStreamIsCapturing": lambda s: cuda.cuStreamIsCapturing(s, ctypes.byref(small)),
    "cuStreamIsCapturing, default stream": lambda s: cuda.cuStreamIsCapturing(None, ctypes.byref(small)),
    "cuStreamGetId": lambda s: cuda.cuStreamGetId(s, ctypes.byref(number)),
    "cuCtxGetId": lambda s: cuda.cuCtxGetId(context, ctypes.byref(number)),
    "other thread, relaxed: query": lambda s: elsewhere(True, lambda: cuda.cuEventQuery(events[0])),
    "other thread, relaxed: elapsed": lambda s: elsewhere(True, elapsed),
    "other thread, relaxed: stream, event, record": lambda s: elsewhere(True, record_own),
    "other thread, not relaxed: elapsed": lambda s: elsewhere(False, elapsed),
}
for name, call in CASES.items():
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            code = call(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
            y = x + 1
        graph.replay()
        torch.cuda.synchronize()
        print("survives  %-46s %s" % (name, code if code is not None else ""))
    except Exception as error:
        print("BREAKS    %-46s %s" % (name, str(error).splitlines()[0][:50]))
