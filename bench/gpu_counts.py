#!/usr/bin/env python3
"""What a section with GPU time and a traced launch add to the thread that launches, in counted instructions and cache lines, over
stand-ins for the CUDA driver and CUPTI: between the launches of a model the caches are full of other things, and what a zone
costs there is the lines that it fetches.

    bench/gpu_counts.py BUILD [--functions]

Runs under `valgrind --tool=callgrind` with simulated caches, with the Python that the build is for. The caches are empty at the begin of
each window, so its misses are the lines it touches. A window is the begin of a section (from the `with` to its first line), the end
of one, or a launch. The floor beside a section is the least context manager written in C (tests/gpu/bare_events.c), beside a
traced launch the least client of CUPTI (tests/gpu/bare_cupti.c). The stand-ins are left out of the sums: they are not the
driver. No two zones share an event here: the clock runs on, and valgrind is slow. For the same reason the driver is asked for the thread's
context each time, and not once a millisecond."""
import argparse
import ctypes
import gc
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, os.pardir, "tests")
TIMES = 16  # windows of each kind: two refills of a thread's events
OURS = ("libstrobe", "_strobe.")
REFILL = ("refill", "sb_gpu_events_take", "sb_ring_pop", "sb_ring_count")  # of events, every eighth: falls into either window
STANDINS = ("libfake_", "libcuda.so", "switch.so")
SWITCH = """
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <valgrind/callgrind.h>
static PyObject *on(PyObject *self, PyObject *unused) { CALLGRIND_START_INSTRUMENTATION; Py_RETURN_NONE; }
static PyObject *off(PyObject *self, PyObject *unused) { CALLGRIND_STOP_INSTRUMENTATION; Py_RETURN_NONE; }
static PyObject *counted(PyObject *self, PyObject *what)
{
	CALLGRIND_DUMP_STATS_AT(PyBytes_AsString(what));
	CALLGRIND_ZERO_STATS;
	Py_RETURN_NONE;
}
/* times, launch: the window has nothing of the interpreter in it. */
static PyObject *launches(PyObject *self, PyObject *args)
{
	unsigned long long address;
	int times;

	if (!PyArg_ParseTuple(args, "iK", &times, &address))
		return NULL;
	for (int i = 0; i < times; i++) {
		CALLGRIND_START_INSTRUMENTATION;
		((unsigned (*)(void))(uintptr_t)address)();
		CALLGRIND_STOP_INSTRUMENTATION;
	}
	Py_RETURN_NONE;
}
static PyMethodDef methods[] = { { "on", on, METH_NOARGS, NULL }, { "off", off, METH_NOARGS, NULL },
	{ "counted", counted, METH_O, NULL }, { "launches", launches, METH_VARARGS, NULL }, { NULL, NULL, 0, NULL } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "switch", NULL, -1, methods, NULL, NULL, NULL, NULL };
PyMODINIT_FUNC PyInit_switch(void) { return PyModule_Create(&module); }
"""


# ---- in the process that is counted ----

def begin(switch, section, gpu):
    switch.on()
    with section("block", gpu=gpu):
        switch.off()


def end(switch, section, gpu):
    with section("block", gpu=gpu):
        switch.on()
    switch.off()


def nothing(switch, section, gpu):
    switch.on()
    switch.off()


def count(switch, name, window, section, gpu):
    """Warm, and with as many events at hand as the windows take."""
    for _ in range(64):
        with section("block", gpu=gpu):
            pass
    time.sleep(0.4)  # the thread that resolves has its turn
    for _ in range(3):
        window(switch, section, gpu)
    switch.counted(b"warm")
    for _ in range(TIMES):
        window(switch, section, gpu)
    switch.counted(name.encode())


def count_sections(switch, strobe, bare):
    least = bare.Bare(0, 0x20)
    with strobe.section("step", gpu=True):
        count(switch, "nothing", nothing, strobe.section, True)
        for form, section, gpu in (("least", lambda name, gpu: least, None), ("cpu", strobe.section, False), ("gpu", strobe.section, True)):
            count(switch, form + " begin", begin, section, gpu)
            count(switch, form + " end", end, section, gpu)


def count_launches(switch, strobe, cupti, bare, library):
    launch = ctypes.cast(cupti.launch, ctypes.c_void_p).value

    def some(name):
        switch.launches(3, launch)
        switch.counted(b"warm")
        switch.launches(TIMES, launch)
        switch.counted(name.encode())

    some("launch untraced")
    assert bare.bare_open(library.encode()) > 0 and bare.bare_start(8 | 2) == 0
    some("launch bare")
    bare.bare_stop((ctypes.c_uint64 * 9)())
    with strobe.gpu_trace():
        while not cupti.subscribed():
            time.sleep(0.01)
        some("launch traced")


def counted_process(build, folder):
    sys.path[:0] = [folder, os.path.join(build, "python"), os.path.join(TESTS, "fake"), os.path.join(TESTS, "gpu")]
    import proving
    import standins
    import strobe
    import switch
    from strobe._core import native
    cuda, cupti = standins.load()
    config = {"generate_final_report": False, "sample_hz": 0}
    strobe.start("counted", output_dir=os.path.join(folder, "runs"), config=config)
    native.stream_install(abs, None)  # as torch's: device number to address, a function of one argument
    gc.collect()
    gc.disable()
    count_sections(switch, strobe, proving.bare_events())
    count_launches(switch, strobe, cupti, proving.bare_library(os.environ["STROBE_CUPTI_PATH"]), os.environ["STROBE_CUPTI_PATH"])
    strobe.stop()


# ---- the runner ----

def build_switch(python, folder):
    source = os.path.join(folder, "switch.c")
    with open(source, "w") as out:
        out.write(SWITCH)
    include = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"], stdout=subprocess.PIPE, text=True, check=True)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-w", "-I", include.stdout.strip(), source, "-o",
                    os.path.join(folder, "switch.so")], check=True)


def run(build, folder):
    python = subprocess.run([os.path.join(HERE, os.pardir, "tools", "find-python")], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    build_switch(python, folder)
    fake = os.path.join(build, "tests", "fake")
    os.symlink(os.path.join(fake, "libfake_cuda.so"), os.path.join(folder, "libcuda.so.1"))  # where a program's driver is
    own = dict(os.environ, PYTHONHASHSEED="0", STROBE_MONITOR="false", LD_LIBRARY_PATH=folder, STROBE_CUDA_PATH="libcuda.so.1",
               STROBE_CUPTI_PATH=os.path.join(fake, "libfake_cupti.so"))
    subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes", "--LL=16777216,16,64", "--separate-threads=yes", "--quiet",
                    "--callgrind-out-file=" + os.path.join(folder, "counts"), python, os.path.abspath(__file__), build, "--counted", folder],
                   check=True, env=own, stderr=subprocess.DEVNULL)


class Counts:
    """Of one window: instructions and lines of code and data, by object and by function."""

    def __init__(self, text):
        self.functions, names, where, called = {}, {}, {}, False
        for line in text.splitlines():
            name = re.match(r"c?(ob|fn)=(\(\d+\))(?: (.*))?$", line)
            if name:
                kind, number, given = name.groups()
                if given:
                    names[kind, number] = given
                if not line.startswith("c"):
                    where[kind] = names[kind, number]
            elif line.startswith("calls="):
                called = True  # the next line is what the called one took
            elif re.match(r"[+*\-\d]", line):
                if not called:
                    self.add((os.path.basename(where["ob"]), where["fn"]), [int(n) for n in line.split()[1:]])
                called = False

    def add(self, function, numbers):
        numbers += [0] * (9 - len(numbers))
        kept = self.functions.setdefault(function, [0, 0, 0])
        kept[0] += numbers[0]
        kept[1] += numbers[6]
        kept[2] += numbers[7] + numbers[8]

    def of(self, ours=False):
        """Per window."""
        taken = [n for (file, function), n in self.functions.items() if function not in REFILL and
                 (file.startswith(OURS) if ours else not file.startswith(STANDINS))]
        return [sum(column) / TIMES for column in zip(*taken)] or [0, 0, 0]


def counts(folder):
    found = {}
    for file in sorted(os.listdir(folder)):
        if not re.match(r"counts\.\d+-01$", file):
            continue
        with open(os.path.join(folder, file), errors="replace") as dump:
            text = dump.read()
        what = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.M)
        if what:
            found[what.group(1)] = Counts(text)
    return found


def say(words, all_of_it, ours=(0, 0, 0)):
    print("  %-42s %8.0f %8.0f %8.0f   %8.0f %8.0f %8.0f" % (words, *all_of_it, *ours))


def say_functions(found, names):
    for name in names:
        print("\n%s, by function" % name)
        for (file, function), numbers in sorted(found[name].functions.items(), key=lambda kept: -sum(kept[1][1:])):
            if file.startswith(OURS) and function not in REFILL:
                say(function[:42], [n / TIMES for n in numbers])


def compare(found, functions):
    none = found["nothing"].of()
    print("  %-42s %26s   %26s" % ("", "all but the stand-ins", "strobe's own"))
    print("  %-42s %8s %8s %8s   %8s %8s %8s" % ("", *("instr.", "code", "data") * 2))
    for form, words in (("least", "the least context manager"), ("cpu", "section, gpu=False"), ("gpu", "section with GPU time")):
        for window in ("begin", "end"):
            kept = found["%s %s" % (form, window)]
            say("%s: %s" % (words, window), [n - m for n, m in zip(kept.of(), none)], kept.of(ours=True))
    for window, words in (("launch bare", "a launch: the least client of CUPTI"), ("launch traced", "a launch: strobe's trace")):
        say(words, [n - m for n, m in zip(found[window].of(), found["launch untraced"].of())], found[window].of(ours=True))
    if functions:
        say_functions(found, ("gpu begin", "gpu end", "launch traced"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--functions", action="store_true", help="strobe's functions, by the lines they touch")
    parser.add_argument("--counted", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.counted:
        return counted_process(os.path.abspath(options.build), options.counted)
    with tempfile.TemporaryDirectory() as folder:
        run(os.path.abspath(options.build), folder)
        compare(counts(folder), options.functions)


if __name__ == "__main__":
    main()
