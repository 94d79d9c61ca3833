/* Prometheus text: samples collected in any order, written family by family as
 * the format asks. */
#ifndef SB_SERVE_EXPOSITION_H
#define SB_SERVE_EXPOSITION_H

#include "base/buf.h"

#include <stddef.h>

struct sb_family {
	char name[128];
	const char *type; /* "gauge", "counter", "histogram" */
	char help[200];
	struct sb_buf samples;
};

struct sb_exposition {
	struct sb_family *families;
	size_t count;
	bool open_metrics; /* set before the first sample: OpenMetrics, with exemplars; else Prometheus text */
	bool failed;
};

void sb_exposition_done(struct sb_exposition *e); /* e may be zeroed */
/* The family of that name, which must be legal; NULL: no memory. Valid until the next one is made. */
struct sb_family *sb_exposition_family(
	struct sb_exposition *e, const char *name, const char *type, const char *help);
/* One sample of it; more: further labels, with their comma. */
void sb_family_put(
	struct sb_family *f, const char *suffix, const char *labels, const char *more, double value);
/* Adds an exemplar to the sample that was put last: one observation that it counted. Written in OpenMetrics only. labels
 * must not be longer than 128 characters, quotes and signs left out. */
void sb_family_exemplar(struct sb_family *f, const char *labels, double value, double real_s);
/* One sample. name's characters are made legal; labels is "" or what
 * sb_exposition_label wrote; suffix ("", "_bucket"...) is part of the sample's
 * name, not of the family's. NaN values are left out. */
void sb_exposition_add(struct sb_exposition *e, const char *name, const char *type, const char *help,
	const char *suffix, const char *labels, double value);
/* Appends key="value", with a comma where needed; the value is escaped. */
void sb_exposition_label(struct sb_buf *labels, const char *key, const char *value);
/* Writes every family. */
void sb_exposition_write(const struct sb_exposition *e, struct sb_buf *out);

#endif
