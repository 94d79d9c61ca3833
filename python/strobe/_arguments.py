"""Profiling flags for a pipeline's command line, and the files that a run with them writes."""
import os
import warnings

DEFAULT_OUTPUT_DIR = "./profiling_results"
ENOUGH_ITERATIONS = 3
_wanted = None  # the folder that gets the four files when the session ends
_warming = False
warmed_count = 0  # warm-up iterations so far


def warming():
    """True inside a warm-up of profiled_iterations(): summaries leave out what is timed now."""
    return _warming


def add_arguments(parser):
    """Adds --enable-profiling, --profiling-config, --profiling-iterations, --profiling-warmup
    and --profiling-output-dir to an argparse parser, and returns it."""
    group = parser.add_argument_group("profiling")
    group.add_argument("--enable-profiling", "--enable_profiling", action="store_true",
                       default=os.environ.get("FRAMEPACK_ENABLE_PROFILING") == "1",
                       help="record this run with strobe")
    group.add_argument("--profiling-config", "--profiling_config", metavar="FILE", default=None,
                       help="a YAML file with a profiling: section (turns profiling on)")
    group.add_argument("--profiling-iterations", "--profiling_iterations", type=_from(1), metavar="N", default=1,
                       help="iterations to profile (default: 1; 3 to 5 say more)")
    group.add_argument("--profiling-warmup", "--profiling_warmup", type=_from(0), metavar="N", default=0,
                       help="iterations before those, recorded as warm-up (default: 0)")
    group.add_argument("--profiling-output-dir", "--profiling_output_dir", metavar="DIR", default=None,
                       help="where trace.json, profiling_report.json, memory_log.json, timing_summary.txt and the "
                            "run folder go (default: %s)" % DEFAULT_OUTPUT_DIR)
    return parser


def _from(least):
    def count(text):
        import argparse
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError("a whole number from %d on, not %r" % (least, text))
        return value
    return count


def start_from_arguments(args, **options):
    """strobe.start() as the parsed flags ask; False where they do not. When the session ends, the
    output folder has the four files that name its results."""
    global _wanted
    if not (args.enable_profiling or args.profiling_config):
        return False
    from . import _config, _session
    from ._core import native
    folder = args.profiling_output_dir
    if folder is None and not options.get("output_dir") and not (
            args.profiling_config and _config.read(os.fspath(args.profiling_config)).get("output_dir")):
        folder = DEFAULT_OUTPUT_DIR
    _session.start(config=args.profiling_config, **dict({"output_dir": folder} if folder else {}, **options))
    if not native.recording():
        return True
    _wanted = os.path.abspath(folder) if folder else os.path.dirname(os.path.abspath(native.run_dir()))
    _session.at_end(_leave_results)
    if args.profiling_iterations < ENOUGH_ITERATIONS:
        words = "%d iteration%s too little data" % (args.profiling_iterations,
                                                    " is" if args.profiling_iterations == 1 else "s are")
        native.missing("statistics over iterations", words, "--profiling-iterations 3 to 5")
        warnings.warn("strobe: %s; --profiling-iterations 3 to 5 say how much times vary" % words, RuntimeWarning,
                      stacklevel=2)
    return True


def profiled_iterations(args, name="iteration"):
    """for i in strobe.profiled_iterations(args): the warm-up first (recorded as such, i from -warmup
    to -1), then the iterations that count, from 0."""
    global _warming, warmed_count
    from ._core import ROLE_ITERATION, ROLE_WARMUP, native
    warmup = getattr(args, "profiling_warmup", 0)
    for i in range(-warmup, args.profiling_iterations):
        label = "warm-up" if i < 0 else name
        native.zone_begin(label)
        native.role(ROLE_WARMUP if i < 0 else ROLE_ITERATION)
        native.attrs(index=i + warmup if i < 0 else i)
        _warming = i < 0
        warmed_count += _warming
        try:
            yield i
        finally:
            _warming = False
            native.zone_end(label)


def _leave_results(run):
    """trace.json, profiling_report.json, memory_log.json and timing_summary.txt beside the run folder."""
    global _wanted
    folder, _wanted = _wanted, None
    import subprocess
    from . import _tool
    tool = _tool.path()
    if folder is None or tool is None or not run:
        return
    for command in (("export", run, "--to", "chrome", "-q", "-o", "trace.json"),
                    ("report", run, "--format", "json", "-o", "profiling_report.json"),
                    ("report", run, "--format", "text", "-o", "timing_summary.txt")):
        command = command[:-1] + (os.path.join(folder, command[-1]),)
        done = subprocess.run((tool,) + command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env=dict(os.environ, STROBE_ENABLED="0"))
        if done.returncode:
            warnings.warn("strobe: %s" % (done.stderr.decode(errors="replace").strip() or "no %s" % command[-1]),
                          RuntimeWarning)
    _leave_memory_log(os.path.join(folder, "profiling_report.json"), os.path.join(folder, "memory_log.json"), run)


def _leave_memory_log(report, path, run):
    """Copies the run's own, or takes the snapshots from its report if the run's is not written yet."""
    import json
    from . import _file
    written = os.path.join(run, "memory_log.json")
    with open(written if os.path.exists(written) else report) as file:
        memory = json.load(file)
    if not os.path.exists(written):
        memory = memory.get("memory", {})
    _file.replace(path, lambda out: json.dump(memory, out, indent=1))
