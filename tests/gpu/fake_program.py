"""Programs with stand-ins for the CUDA driver and CUPTI, and the running of cases: each in a process of its own."""
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

import wire

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fake"))
import standins  # noqa: E402
from standins import P, S  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
CASES = {}
NS = 1000000


def case(f):
    CASES[f.__name__] = f
    return f


class Program:
    """A program that uses CUDA and libstrobe."""

    def __init__(self, before=lambda cupti: None):
        self.folder, self.names = tempfile.mkdtemp(prefix="strobe-fakes-"), []
        os.environ.update(STROBE_CUDA_PATH=BUILD + "/tests/fake/libfake_cuda.so",
                          STROBE_CUPTI_PATH=BUILD + "/tests/fake/libfake_cupti.so",
                          STROBE_OUTPUT_DIR=self.folder, STROBE_GENERATE_FINAL_REPORT="false", STROBE_MONITOR="false")
        self.strobe = ctypes.CDLL(BUILD + "/libstrobe.so")
        self.strobe.strobe_error.restype = S
        self.pm = standins.load_pm()
        self.cuda, self.cupti = standins.load()
        before(self.cupti)
        assert self.strobe.strobe_start(None) == 0, self.strobe.strobe_error()

    def zone(self, name, ms):
        self.strobe.strobe_gpu_zone_begin(name, P(0x20))
        self.cuda.work(0x20, ms * NS)
        self.kernel(b"kernel_of_" + name)
        self.strobe.strobe_gpu_zone_end(P(0x20))
        self.cuda.advance(ms * NS)

    def kernel(self, name, ns=1000):
        self.names.append(name)  # records point to it, as to a module's text
        launch, now = self.cupti.launch(), self.cupti.now()
        self.cupti.kernel(launch, now, now + ns, name)

    def step(self, name, ns=1000):
        self.strobe.strobe_step_begin(name, None)
        self.kernel(b"kernel_of_" + name, ns)
        self.strobe.strobe_step_end()

    def until(self, condition, what):
        end = time.time() + 20
        while not condition():
            assert time.time() < end, "waited 20 s for " + what
            os.sched_yield()

    def stop(self):
        self.strobe.strobe_stop()
        return wire.load(self.folder)


class Sampled(Program):
    """A program whose GPU makes a sample every half millisecond of its own clock."""

    def __init__(self, spec=None, before=lambda cupti: None):
        if spec:
            os.environ["STROBE_GPU_COUNTERS"] = spec
        super().__init__(before)
        os.environ.pop("STROBE_GPU_COUNTERS", None)

    def sampling(self, device=0):
        self.until(lambda: self.pm.sampling(device), "the sampling to begin")

    def samples(self, count, sm, device=0, start=None):
        """Samples that end a millisecond before now; where they began: two clocks never agree to the last."""
        self.until(lambda: self.cupti.now() - self.begun > (count + 4) * 500000, "the samples' time to pass")
        start = start or self.cupti.now() - (count + 2) * 500000
        for i in range(count):
            self.pm.sample(device, start + i * 500000, start + (i + 1) * 500000, sm, sm / 2, 50000, 25000)  # DRAM moves 500 MB/s at most
        return start

    def begin(self, spec=b""):
        assert self.strobe.strobe_gpu_counters_start(spec) == 0, self.strobe.strobe_error()
        self.sampling()
        self.begun = self.cupti.now()

    def given_back(self):
        self.until(lambda: self.pm.held() == 0, "the hardware to be given back")
        assert self.pm.mistakes() == 0, self.pm.mistakes()

    def stop(self):
        self.strobe.strobe_stop()
        self.given_back()
        return max(wire.load_all(self.folder), key=lambda r: len(r.samples))


def values_of(recording, column="sm_active_percent"):
    return [v[column] for _, _, v in recording.sampled("gpu_pm") if v[column] == v[column]]


def said_of(recording, what):
    return [why for seen, why in recording.missing if seen.startswith(what)]


def names_of(recording, *kinds):
    return sorted(g.name for g in recording.of(*kinds))


def report_of(folder):
    done = subprocess.run([BUILD + "/strobe", "report", folder, "--format", "json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main():
    if len(sys.argv) > 2:
        CASES[sys.argv[2]]()
        return 0
    failed = 0
    for name in CASES:
        done = subprocess.run([sys.executable, sys.argv[0], BUILD, name], capture_output=True, text=True, timeout=60)
        print("%-44s %s" % (name, "ok" if done.returncode == 0 else "FAILED (%d)" % done.returncode), flush=True)
        if done.returncode:
            print(done.stdout + done.stderr)
        failed += done.returncode != 0
    return 1 if failed else 0
