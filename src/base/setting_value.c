/* Settings as numbers: the same for a run and for a report. */
#include "base/setting_value.h"

#include "base/numerals.h"

#include <math.h>
#include <string.h>

/* " MiB" as settings write sizes; 0: no size. */
static double unit_of(const char *text)
{
	static const char units[] = "KMGT";
	const char *unit;
	double size = 1024;

	text += strspn(text, " ");
	unit = *text ? strchr(units, *text) : NULL;
	if (!unit || strncmp(text + 1, "iB", 2) || (text[3] && text[3] != ';'))
		return strcmp(text, "B") && strcmp(text, "bytes") ? 0 : 1;
	for (const char *u = units; u < unit; u++)
		size *= 1024;
	return size;
}

static double text_number(const char *text)
{
	char *end;
	double value;

	if (!text || !*text)
		return NAN;
	value = sb_numerals_read(text, &end);
	if (end != text && unit_of(end) > 0)
		return value * unit_of(end);
	return end == text || (*end && *end != ';') ? NAN : value;
}

double sb_setting_value(enum strobe_type type, int64_t i, double f, const char *s)
{
	switch (type) {
	case STROBE_TYPE_INT:
	case STROBE_TYPE_BOOL: return (double)i;
	case STROBE_TYPE_FLOAT: return f;
	case STROBE_TYPE_STRING: return text_number(s);
	}
	return NAN;
}

double sb_setting_listed(const char *list, const char *name)
{
	size_t size = strlen(name);

	while (list) {
		if (strncmp(list, name, size) == 0 && list[size] == '=')
			return text_number(list + size + 1);
		list = strchr(list, ';');
		list = list ? list + 1 : NULL;
	}
	return NAN;
}
