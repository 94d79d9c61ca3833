"""The four flags every pipeline's command line wants."""
import os

DEFAULT_OUTPUT_DIR = "./strobe-runs"


def add_arguments(parser):
    """Adds --enable-profiling, --profiling-config, --profiling-iterations and
    --profiling-output-dir to an argparse parser, and returns it."""
    group = parser.add_argument_group("profiling")
    group.add_argument("--enable-profiling", "--enable_profiling", action="store_true",
                       default=os.environ.get("FRAMEPACK_ENABLE_PROFILING") == "1",
                       help="record this run with strobe")
    group.add_argument("--profiling-config", "--profiling_config", metavar="FILE", default=None,
                       help="a YAML file with a profiling: section (turns profiling on)")
    group.add_argument("--profiling-iterations", "--profiling_iterations", type=_count, metavar="N", default=1,
                       help="iterations to profile (default: 1)")
    group.add_argument("--profiling-output-dir", "--profiling_output_dir", metavar="DIR", default=None,
                       help="where run folders go (default: %s)" % DEFAULT_OUTPUT_DIR)
    return parser


def _count(text):
    import argparse
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on, not %r" % text)
    return value


def start_from_arguments(args, **options):
    """strobe.start() as the parsed flags ask; False where they do not."""
    if not (args.enable_profiling or args.profiling_config):
        return False
    from ._session import start
    start(config=args.profiling_config, output_dir=args.profiling_output_dir, **options)
    return True
