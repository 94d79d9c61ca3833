#!/usr/bin/env python3
"""What strobe adds to the thread that launches, in counted instructions: a Wan of real diffusers with tiny tensors on the
CPU, where all time is Python and torch's dispatching, as on a GPU that waits for launches.

    bench/launching.py BUILD [--layers 30] [--functions]

Runs under `valgrind --tool=callgrind`, with the Python that runs this; it needs torch, diffusers and transformers (make
test-real has one). Four processes, forked after the imports: without strobe; with an empty forward hook of torch's on every
module, for scale; with strobe's hooks and no session; and recorded, as by default. Each counts two generations, of 2 and of 6
steps, after two that are not counted: what they differ by is of 4 steps. No garbage is collected meanwhile,
and no weights are listed (which strobe bounds to 0.5 % of the time, by the clock). The sampler is left out there (under valgrind a step takes so long that it would look fifty times as often); one of its
looks is counted by itself. The clock of the machine plays no part."""
import argparse
import ctypes
import gc
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = (2, 6)
SETTLES = 17  # steps of two forwards, after which no new class of a model is looked for
LOOKS = 50
NAMES = ("alone", "floor", "hooked", "recorded")
SWITCH = """
#include <valgrind/callgrind.h>
void counting_on(void) { CALLGRIND_START_INSTRUMENTATION; }
void counting_off(void) { CALLGRIND_STOP_INSTRUMENTATION; }
void counted(const char *what) { CALLGRIND_DUMP_STATS_AT(what); CALLGRIND_ZERO_STATS; }
"""


# ---- in the process that is counted ----

def pipeline(tiny, torch, layers):
    torch.set_num_threads(1)
    pipe = tiny.wan(transformer=tiny.wan_transformer(num_layers=layers))
    pipe.set_progress_bar_config(disable=True)

    def generate(steps):
        return pipe(prompt="w1 w2 w3", negative_prompt="w4", max_sequence_length=16, height=16, width=16, num_frames=5,
                    num_inference_steps=steps, output_type="latent", generator=torch.Generator().manual_seed(0)).frames
    return pipe, generate


def hook_every_module(pipe):
    for module in pipe.transformer.modules():
        module.register_forward_hook(lambda module, args, output: None)


def hook(build):
    sys.path.insert(0, os.path.join(build, "python"))
    from strobe.auto import install
    install()


def prepare(name, build, folder):
    if name in ("alone", "floor"):
        return
    hook(build)
    if name == "recorded":
        import strobe
        from strobe import _growth
        strobe.start("counted", output_dir=os.path.join(folder, "runs"), config={"generate_final_report": False, "sample_hz": 0})
        _growth.SEARCHES_MOST, _growth._searched = 0, True  # valgrind's own memory grows: no search for what holds it


def count(name, build, folder, layers, switch):
    import tiny
    import torch
    prepare(name, build, folder)
    pipe, generate = pipeline(tiny, torch, layers)
    if name == "floor":
        hook_every_module(pipe)
    for steps in (SETTLES, STEPS[0]):
        generate(steps)
    if name == "recorded":
        from strobe import _residency
        _residency._next_s = float("inf")  # its list of weights takes at most 0.5 % of the time, by the clock
    gc.collect()
    gc.disable()
    counter = ctypes.CDLL(switch)
    for steps in STEPS:
        counter.counting_on()
        generate(steps)
        counter.counting_off()
        counter.counted(b"%d steps" % steps)
    if name == "recorded":
        look_often(counter)
    with open(os.path.join(folder, name + ".pid"), "w") as out:
        out.write(str(os.getpid()))


def look_often(counter):
    from strobe._core import native
    counter.counting_on()
    for _ in range(LOOKS):
        native.sampler_look(0)
    counter.counting_off()
    counter.counted(b"looks")


def count_all(build, folder, layers, switch):
    sys.path.insert(0, os.path.join(HERE, os.pardir, "tests", "real"))
    import tiny  # noqa: F401
    for name in NAMES:
        made = os.fork()
        if not made:
            os.environ["STROBE_ENABLED"] = "1" if name == "recorded" else "0"
            count(name, build, folder, layers, switch)
            os._exit(0)
        if os.waitpid(made, 0)[1]:
            sys.exit("it failed: " + name)


# ---- the runner ----

def switch_in(folder):
    source, made = os.path.join(folder, "switch.c"), os.path.join(folder, "switch.so")
    with open(source, "w") as out:
        out.write(SWITCH)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", source, "-o", made], check=True)
    return made


def run(build, folder, layers):
    own = dict(os.environ, ATEN_CPU_CAPABILITY="avx2", PYTHONHASHSEED="0", HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1",
               STROBE_FLOPS="0")
    subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes", "--quiet",
                    "--callgrind-out-file=" + os.path.join(folder, "counts.%p"), sys.executable, os.path.abspath(__file__), build,
                    "--layers", str(layers), "--keep", folder, "--switch", switch_in(folder)], check=True, env=own)


def counts(folder, name):
    """{"4 steps": (instructions of the thread that launches, callgrind's file)}"""
    with open(os.path.join(folder, name + ".pid")) as pid:
        begin, found = "counts.%s." % pid.read(), {}
    for file in sorted(os.listdir(folder)):
        if not file.startswith(begin) or not file.endswith("-01"):
            continue
        with open(os.path.join(folder, file)) as dump:
            text = dump.read()
        what, total = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M), re.search(r"^totals: (\d+)", text, re.M)
        if what and total:
            found[what.group(1).strip()] = int(total.group(1)), os.path.join(folder, file)
    return found


def per_step(found):
    few, many = ("%d steps" % steps for steps in STEPS)
    return (found[many][0] - found[few][0]) / (STEPS[1] - STEPS[0])


def say(words, found, alone):
    step, generation = per_step(found), found["%d steps" % STEPS[1]][0]
    words = "%-26s %9.3f M instructions a step, %9.3f M a generation of %d steps" % (words, step / 1e6, generation / 1e6, STEPS[1])
    if found is not alone:
        words += "; %.4f x a step, %.4f x a generation" % (step / per_step(alone), generation / alone["%d steps" % STEPS[1]][0])
    print(words, flush=True)


def compare(folder, options):
    alone, floor, hooked, recorded = (counts(folder, name) for name in NAMES)
    say("without strobe", alone, alone)
    say("an empty hook a module", floor, alone)
    say("hooks, no session", hooked, alone)
    say("recorded, as by default", recorded, alone)
    print("one look of the sampler    %9.3f M instructions, 20 a second" % (recorded["looks"][0] / LOOKS / 1e6))
    if options.functions:
        shown = subprocess.run(["callgrind_annotate", "--threshold=95", recorded["%d steps" % STEPS[1]][1]], stdout=subprocess.PIPE, text=True)
        print("\n".join(shown.stdout.splitlines()[:80]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--layers", type=int, default=30, help="blocks of the transformer: 30 are Wan 1.3B's")
    parser.add_argument("--functions", action="store_true", help="the functions of the recorded process that cost most")
    parser.add_argument("--keep", help="a folder for callgrind's files")
    parser.add_argument("--switch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.switch:
        return count_all(os.path.abspath(options.build), options.keep, options.layers, options.switch)
    with tempfile.TemporaryDirectory() as made:
        folder = os.path.abspath(options.keep or made)
        os.makedirs(folder, exist_ok=True)
        run(os.path.abspath(options.build), folder, options.layers)
        compare(folder, options)


if __name__ == "__main__":
    main()
