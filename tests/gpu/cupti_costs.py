import ctypes, os, glob, sys, time, statistics as st, subprocess
import torch
sys.path.insert(0, os.path.dirname(__file__))
from dit import make, denoise
import nvidia
bare = ctypes.CDLL(sys.argv[1])
bare.bare_timestamp.restype = ctypes.c_uint64
cands = sorted(glob.glob(os.path.join(list(nvidia.__path__)[0], "*", "lib", "libcupti.so*"))) + glob.glob("/usr/local/cuda*/**/libcupti.so*", recursive=True)
print("cupti:", cands)
mapped = {l.split()[-1] for l in open("/proc/self/maps") if "cupti" in l or "libcuda" in l or "libstdc++" in l}
print("mapped after import torch:", mapped)
print("version", bare.bare_open([c for c in cands if "13" in c][0].encode()))
torch.cuda.init(); torch.zeros(1, device="cuda")
mapped = {l.split()[-1] for l in open("/proc/self/maps") if "cupti" in l or "libcuda" in l or "libstdc++" in l}
print("mapped after cuda init:", mapped)
def stop():
    o = (ctypes.c_uint64 * 9)(); bare.bare_stop(o); return dict(zip("kernels copies memsets other matched ns callbacks first last".split(), o))
model, rich = make(), make(rich=True)
for m in (model, rich):
    denoise(m, 3)
torch.cuda.synchronize()
def timed(m, n=4):
    torch.cuda.synchronize(); t = time.perf_counter(); denoise(m, n); torch.cuda.synchronize(); return (time.perf_counter() - t) / n * 1e3
for name, f in (("plain", 0), ("rt-cb", 1), ("drv-cb", 2), ("both-cb", 3), ("rt-records", 4), ("prezero", 8), ("api-before", 16), ("api-after", 32)):
    rc = bare.bare_start(f)
    ts = [timed(model) for _ in range(3)]
    print(name, "rc", rc, "ms", [round(t, 2) for t in ts], stop())
x = torch.randn(1 << 20); p = x.pin_memory()
for f in (1, 2):
    bare.bare_start(f); g = x.cuda(); h = p.cuda(non_blocking=True); g.zero_(); g.cpu(); torch.cuda.synchronize(); print("copies", f, stop())
    bare.bare_start(f); g = torch.cuda.CUDAGraph()
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        denoise(model, 1)
    torch.cuda.synchronize(); stop()
import triton, triton.language as tl
bare.bare_start(0); timed(rich, 1); print("rich kernels", stop())
# interleaved overhead
def ratios(m, flags, n=16):
    r = []
    for i in range(n):
        a = timed(m); bare.bare_start(flags); b = timed(m); stop(); r.append(b / a)
    return round(st.median(r), 3)
for name, f in (("plain", 0), ("prezero", 8), ("rt-cb", 9), ("drv-cb", 10), ("both", 11)):
    print("ratio", name, ratios(model, f), flush=True)
# kineto and subscription
from torch.profiler import profile, ProfilerActivity
def prof():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        denoise(model, 2); torch.cuda.synchronize()
        inner = None
    return sum(1 for e in p.events() if e.device_type.name == "CUDA")
print("profiler alone:", prof())
print("subscribe after profiler:", bare.bare_start(1)); denoise(model, 2); torch.cuda.synchronize(); now = bare.bare_timestamp(); o = stop(); print(o, "ts now", now, "now-last", now - o["last"], "real", time.time_ns())
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
    denoise(model, 1); torch.cuda.synchronize()
    print("subscribe while profiler runs:", bare.bare_start(3))
    denoise(model, 1); torch.cuda.synchronize()
    try: print(stop())
    except Exception as e: print(e)
print("events it saw:", sum(1 for e in p.events() if e.device_type.name == "CUDA"))
print("profiler again:", prof())
print("ours:", bare.bare_start(1)); n = None
try: n = prof()
except Exception as e: print("profiler raised", e)
print("profiler while ours runs:", n, stop())
print("profiler after:", prof())
# driver costs
cu = ctypes.CDLL("libcuda.so.1")
sid = ctypes.c_ulonglong(); 
for s in (torch.cuda.current_stream(), torch.cuda.Stream()):
    print("cuStreamGetId rc", cu.cuStreamGetId(ctypes.c_void_p(s.cuda_stream), ctypes.byref(sid)), sid.value)
def costs(label):
    o = (ctypes.c_double * 8)(); bare.bare_driver_costs(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), o)
    print(label, dict(zip("ctx capturing record query elapsed streamid roundtrip_min roundtrip_median".split(), (round(v) for v in o))))
costs("driver ns, idle gpu")
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
s2 = torch.cuda.Stream()
with torch.cuda.stream(s2):
    for _ in range(200): a @ a
costs("driver ns, busy gpu on another stream")
torch.cuda.synchronize()
