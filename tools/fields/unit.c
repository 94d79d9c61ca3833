/* Every unit that a key can end in. */
#include "unit.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *end, *words;
} units[] = {
	{ "gb_per_s", "GB/s" },
	{ "bytes_per_s", "bytes/s" },
	{ "per_s", "per second" },
	{ "ms", "milliseconds" },
	{ "s", "seconds" },
	{ "bytes", "bytes" },
	{ "mb", "MB (2^20 bytes)" },
	{ "ratio", "ratio" },
	{ "percent", "%" },
	{ "count", "count" },
	{ "fps", "frames/s" },
	{ "bps", "blocks/s" },
	{ "mhz", "MHz" },
	{ "w", "W" },
	{ "wh", "Wh" },
	{ "c", "°C" },
	{ "flops", "operations" },
	{ "tflops", "10^12 operations/s" },
	{ "px", "pixels" },
	{ "db", "dB" },
	{ "index", "index" },
	{ "rank", "rank" },
	{ "cost", "currency" },
	{ "value", "value" },
	{ "id", "id" },
};

/* Words that are their own unit; and three keys that were there before the rule. */
static const char *const words[] = { "count", "bytes", "frames", "blocks", "steps", "events", "zones", "fps",
	"bps", "index", "pid", "rank", "depth", "per_second", "line", "first_offset", "exit_code",
	"timestamp", NULL };

static const char *unit_at_end(const char *key, size_t size)
{
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		size_t length = strlen(units[i].end);

		if (size > length && key[size - length - 1] == '_' &&
			!strncmp(key + size - length, units[i].end, length))
			return units[i].words;
		if (size == length && !strncmp(key, units[i].end, length))
			return units[i].words;
	}
	return NULL;
}

const char *unit_of(const char *key)
{
	static const char *const suffixes[] = { "_min", "_max", "_avg", "_sum",
		NULL }; /* aggregated_metrics */
	size_t size = strlen(key);
	const char *unit = unit_at_end(key, size);

	for (const char *const *w = words; !unit && *w; w++)
		if (!strcmp(key, *w))
			return "";
	for (const char *const *s = suffixes; !unit && *s; s++)
		if (size > 4 && !strcmp(key + size - 4, *s))
			unit = unit_at_end(key, size - 4);
	if (!unit && size > 11 && !strcmp(key + size - 11, "_per_second"))
		return "per second";
	return unit;
}
