"""A toy of each kind that CONTRIBUTING.md has a room for. ROOMS: kind -> the files it promises, each with what is put
into it: the whole text of a new file, or (before which line, what), or (after which words, what, AFTER)."""

AFTER = "after"

ROOMS = {
    "command": {
        "cli/cmd_toy.c": """\
/* strobe toy: says hello. */
#include "command.h"

#include <stdio.h>

static const struct command_option options[] = { { "loud", 'l', NULL, "say it louder", false, false }, { 0 } };

static int run(struct args *args)
{
	puts(args_has(args, "loud") ? "HELLO" : "hello");
	return EXIT_OK;
}

const struct command cmd_toy = { .name = "toy", .usage = "[OPTIONS]", .summary = "say hello",
	.description = "Says hello.", .options = options, .run = run };
""",
        "cli/commands.c": [("extern const struct command cmd_doctor;", "extern const struct command cmd_toy;"), ("\t&cmd_doctor,", "\t&cmd_toy,")],
    },
    "exporter": {
        "src/exchange/toy_out.c": """\
/* toy out: the names of all zones, one a line. */
#include "exchange/export.h"

#include <string.h>

struct toy {
	struct sb_run *run;
	struct sb_out *out;
	struct sb_export_summary *summary;
};

static void take_zone(void *self, const struct sb_zone *z)
{
	struct toy *t = self;
	const char *name = t->run->names[z->name].text;
	char *to = sb_out_room(t->out, 300);

	to = sb_out_put(to, name, strnlen(name, 256));
	t->out->at = SB_PUT(to, "\\n");
	t->summary->zones++;
}

static int write_toy(struct sb_run *run, const struct sb_markers *markers, struct sb_out *out,
	struct sb_export_summary *summary)
{
	struct toy t = { run, out, summary };
	struct sb_visitor visitor = { .self = &t, .roles = SB_EVERY_ZONE, .zone = take_zone };
	int err = sb_run_visit(run, &visitor, 1);

	return err ? err : out->err;
}

const struct sb_exporter sb_toy_exporter = { .name = "toy", .file_name = "toy.txt", .summary = "names of zones", .write = write_toy };
""",
        "src/exchange/export.h": [("\texporter(csv) ", "\texporter(toy) \\")],
    },
    "finding": {
        "src/advise/table.c": [('\t{ { "unattributed",', '\t{ { "toy", "stages", LOW, DAYS, false, "toy_count", "count", 0, "stages", "there are '
                                'more stages than this", "Play." },\n\t\tsb_rule_toy },')],
        "src/advise/rule.h": [("\tX(unattributed) ", "\tX(toy) \\")],
        "src/advise/stages.c": [("void sb_rule_offload(", "void sb_rule_toy(struct sb_advisor *a)\n{\n\tif ((double)a->model->stages.stage_count > "
                                 "a->limit)\n\t\tsb_advisor_find(a, (double)a->model->stages.stage_count, NAN, \"a toy finding\", \"stages\");\n}\n")],
    },
    "GPU vendor": {
        "src/monitor/toy.c": """\
/* Toy GPUs: one, always half busy. */
#include "monitor/gpus.h"

#include <stdio.h>

static int open_toy(struct sb_gpus_device *devices, int limit, const char **out_why, const char **out_how)
{
	(void)limit, (void)out_why, (void)out_how;
	snprintf(devices[0].name, sizeof devices[0].name, "Toy 1");
	return 1;
}

static enum sb_gpus_state read_toy(struct sb_gpus_device *device, uint32_t *wanted, double *values)
{
	(void)device;
	*wanted &= SB_GPUS_BIT(SB_GPUS_UTILIZATION);
	values[SB_GPUS_UTILIZATION] = 50;
	return SB_GPUS_READ;
}

static void close_toy(void)
{
}

static void driver(char *out, int size)
{
	snprintf(out, (size_t)size, "1.0");
}

const struct sb_gpus_vendor sb_gpus_toy = { .name = "Toy", .open = open_toy, .read = read_toy, .close = close_toy, .driver = driver };
""",
        "src/monitor/gpus.h": [("vendor(nvml) vendor(amd)", " vendor(toy)", AFTER)],
    },
    "monitor": {
        "src/monitor/toys.c": """\
/* A toy monitor: always 42; at its end it writes a record of the toy type. */
#include "monitor/source.h"

#include "monitor/samples.h"
#include "record/put.h"

static const struct sb_column columns[] = { { "toy_percent", SB_MERGE_MEAN } };
static struct sb_samples series;

static bool wanted(const struct sb_settings *s)
{
	return s->monitor_cpu_usage;
}

static void start(const struct sb_settings *settings)
{
	sb_samples_open(&series, "toys", -1, columns, 1, settings->max_data_points);
}

static void sample(const struct sb_tick *tick)
{
	sb_samples_push(&series, tick->ticks, (double[]){ 42 });
}

static void finish(const struct sb_tick *tick)
{
	const uint64_t payload[] = { tick->ticks, 0x4035000000000000 };

	sb_samples_close(&series, tick->ticks);
	sb_put(SB_STREAM_KEEP, SB_TOY, sb_name_intern("toy_record", NULL), payload, 2);
}

const struct sb_source sb_source_toys = { "toys", wanted, start, sample, finish };
""",
        "src/monitor/source.h": [("source(disk) source(pressure)", " source(toys)", AFTER)],
    },
    "record type": {
        "src/format/wire.h": [("\tSB_COUNT64 = 27 ", "\tSB_TOY = 28, /* aux: name; [ticks, value] */")],
        "src/format/cursor.c": [("\t\t[SB_COUNT64] = HOT };", "\t\t[SB_TOY] = KEEP,")],
        "src/run/records.c": [("\t[SB_COUNT64] = {", "\t[SB_TOY] = { 2, NAMED | TIMED, SB_EVENT_GAUGE, take_gauge },")],
        "src/exchange/share_records.c": [("\tcase SB_COUNT64: break;", "\tcase SB_TOY:")],
        "docs/format.md": [("| 27 | COUNT64 |", "| 28 | TOY | name | ticks, value |")],
    },
}
FRAMEWORK = '''\
"""toyvideo: its generate() is a generation."""
from .. import vocabulary
from ..wrapping import wrap


def _generating(original):
    def generate(*args, **kwargs):
        with vocabulary.generation("toyvideo", frames=8):
            return original(*args, **kwargs)
    return generate


WAITS_FOR = {"toyvideo": lambda module: wrap(module, "generate", _generating)}
'''


def add(tree):
    """Puts every toy into a copy of the tree."""
    for files in ROOMS.values():
        for name, content in files.items():
            path = tree / name
            if isinstance(content, str):
                assert not path.exists()
                path.write_text(content)
                continue
            text = path.read_text()
            for at, what, *after in content:
                assert text.count(at) == 1, (name, at)
                text = text.replace(at, at + what if after else what + "\n" + at)
            path.write_text(text)
