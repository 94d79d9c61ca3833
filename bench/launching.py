#!/usr/bin/env python3
"""What strobe adds to the thread that launches, in counted instructions: a Wan of real diffusers with tiny tensors on the
CPU, where all time is Python and torch's dispatching, as on a GPU that waits for launches.

    bench/launching.py BUILD [--layers 30] [--functions] [--anew]

Runs under `valgrind --tool=callgrind`, with the Python that runs this; it needs torch, diffusers and transformers (make
test-real has one). Four processes, forked after the imports: without strobe; with an empty forward hook of torch's on every
module, for scale; with strobe's hooks and no session; and recorded, as by default. Each counts two generations, of 2 and of 6
steps, after two that are not counted: what they differ by is of 4 steps. No garbage is collected meanwhile,
and no weights are listed (which strobe bounds to 0.5 % of the time, by the clock). The sampler is left out there (under valgrind a step takes so long that it would look fifty times as often); one of its
looks is counted by itself. The clock of the machine plays no part.
With --anew each generation makes its pipeline first, as a program that builds one for each video; a step is then a whole
generation of 2 steps, of which two are counted, and eighteen go before; the first and the last process alone are made."""
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
ANEW = (1, 3)  # generations that are counted
ANEW_BEFORE = 18  # more pipelines than are read each, more models than have an outline
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


def pipelines_anew(tiny, torch, layers):
    def generate(times):
        for _ in range(times):
            pipeline(tiny, torch, layers)[1](STEPS[0])
    return generate


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
        from strobe._memory import growth
        strobe.start("counted", output_dir=os.path.join(folder, "runs"), config={"generate_final_report": False, "sample_hz": 0})
        growth.SEARCHES_MOST, growth._searched = 0, True  # valgrind's own memory grows: no search for what holds it


def count(name, build, folder, layers, switch, anew):
    import tiny
    import torch
    prepare(name, build, folder)
    pipe, generate = (None, pipelines_anew(tiny, torch, layers)) if anew else pipeline(tiny, torch, layers)
    if name == "floor":
        hook_every_module(pipe)
    for steps in (ANEW_BEFORE,) if anew else (SETTLES, STEPS[0]):
        generate(steps)
    if name == "recorded":
        from strobe._memory import residency
        residency._share.next_s = float("inf")  # its list of weights takes at most 0.5 % of the time, by the clock
    gc.collect()
    gc.disable()
    counter = ctypes.CDLL(switch)
    for steps in ANEW if anew else STEPS:
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


def count_all(build, folder, layers, switch, anew):
    sys.path.insert(0, os.path.join(HERE, os.pardir, "tests", "real"))
    import tiny  # noqa: F401
    for name in NAMES[::3] if anew else NAMES:
        made = os.fork()
        if not made:
            os.environ["STROBE_ENABLED"] = "1" if name == "recorded" else "0"
            count(name, build, folder, layers, switch, anew)
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


def run(build, folder, layers, anew):
    own = dict(os.environ, ATEN_CPU_CAPABILITY="avx2", PYTHONHASHSEED="0", HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1",
               STROBE_FLOPS="0")
    subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes", "--quiet",
                    "--callgrind-out-file=" + os.path.join(folder, "counts.%p"), sys.executable, os.path.abspath(__file__), build,
                    "--layers", str(layers), "--keep", folder, "--switch", switch_in(folder), *(["--anew"] if anew else [])], check=True, env=own)


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


def ends(found):
    """How many steps were counted, few and many."""
    return sorted(int(words.split()[0]) for words in found if words.endswith(" steps"))


def per_step(found):
    few, many = ends(found)
    return (found["%d steps" % many][0] - found["%d steps" % few][0]) / (many - few)


def say(words, found, alone):
    many = ends(found)[1]
    step, generation = per_step(found), found["%d steps" % many][0]
    words = "%-26s %9.3f M instructions a step, %9.3f M a generation of %d steps" % (words, step / 1e6, generation / 1e6, many)
    if found is not alone:
        words += "; %.4f x a step, %.4f x a generation" % (step / per_step(alone), generation / alone["%d steps" % many][0])
    print(words, flush=True)


def compare(folder, options):
    alone, recorded = counts(folder, "alone"), counts(folder, "recorded")
    say("without strobe", alone, alone)
    if not options.anew:
        say("an empty hook a module", counts(folder, "floor"), alone)
        say("hooks, no session", counts(folder, "hooked"), alone)
    say("recorded, as by default", recorded, alone)
    print("one look of the sampler    %9.3f M instructions, 20 a second" % (recorded["looks"][0] / LOOKS / 1e6))
    if options.functions:
        shown = subprocess.run(["callgrind_annotate", "--threshold=95", recorded["%d steps" % ends(recorded)[1]][1]], stdout=subprocess.PIPE, text=True)
        print("\n".join(shown.stdout.splitlines()[:80]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--layers", type=int, default=30, help="blocks of the transformer: 30 are Wan 1.3B's")
    parser.add_argument("--functions", action="store_true", help="the functions of the recorded process that cost most")
    parser.add_argument("--anew", action="store_true", help="each generation makes its pipeline first")
    parser.add_argument("--keep", help="a folder for callgrind's files")
    parser.add_argument("--switch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.switch:
        return count_all(os.path.abspath(options.build), options.keep, options.layers, options.switch, options.anew)
    with tempfile.TemporaryDirectory() as made:
        folder = os.path.abspath(options.keep or made)
        os.makedirs(folder, exist_ok=True)
        run(os.path.abspath(options.build), folder, options.layers, options.anew)
        compare(folder, options)


if __name__ == "__main__":
    main()
