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
	bool failed;
};

void sb_exposition_done(struct sb_exposition *e); /* e may be zeroed */
/* The family of that name, which must be legal; NULL: no memory. Valid until the next one is made. */
struct sb_family *sb_exposition_family(
	struct sb_exposition *e, const char *name, const char *type, const char *help);
/* One sample of it; more: further labels, with their comma. */
void sb_family_put(
	struct sb_family *f, const char *suffix, const char *labels, const char *more, double value);
/* One sample. name's characters are made legal; labels is "" or what
 * sb_exposition_label wrote; suffix ("", "_bucket"...) is part of the sample's
 * name, not of the family's. NaN values are left out. */
void sb_exposition_add(struct sb_exposition *e, const char *name, const char *type, const char *help,
	const char *suffix, const char *labels, double value);
/* Appends key="value", with a comma where needed; the value is escaped. */
void sb_exposition_label(struct sb_buf *labels, const char *key, const char *value);
/* Writes every family: as Prometheus text, or as OpenMetrics. */
void sb_exposition_write(const struct sb_exposition *e, bool open_metrics, struct sb_buf *out);

#endif
