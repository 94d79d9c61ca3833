/* Kernels by family: kinds have a row each where they are other work, of attention and communication. */
#include "report/panels/family_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void share_name(const struct sb_kernel_share *k, bool named, char *out, size_t size)
{
	bool by_kind = named && k->kind &&
		       (!strcmp(k->family, "attention") || !strcmp(k->family, "communication"));
	bool precise = named && k->precision;

	snprintf(out, size, "%s%s%s%s%s", k->family, by_kind ? " " : "", by_kind ? k->kind : "",
		precise ? " " : "", precise ? k->precision : "");
}

static int row_by_total(const void *a, const void *b)
{
	double x = ((const struct sb_gpu_row *)a)->total_s, y = ((const struct sb_gpu_row *)b)->total_s;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Adds a share to the row of this name; true if it is a new one. */
static bool add_share(struct sb_gpu_row *rows, size_t n, const char *name, const struct sb_kernel_share *k)
{
	size_t at = 0;

	while (at < n && strcmp(rows[at].name, name))
		at++;
	if (at == n)
		rows[at] = (struct sb_gpu_row){ .name = name, .bytes = NAN };
	rows[at].count += k->count;
	rows[at].total_s += k->total_s;
	rows[at].ratio += k->ratio;
	return at == n;
}

void sb_family_rows_fill(
	const struct sb_kernel_share *shares, size_t count, bool named, struct sb_family_rows *out)
{
	size_t n = 0;

	for (size_t i = 0; i < count && n < SB_FAMILY_ROWS_MOST; i++) {
		share_name(&shares[i], named, out->names[n], sizeof out->names[n]);
		n += add_share(out->all, n, out->names[n], &shares[i]);
	}
	qsort(out->all, n, sizeof *out->all, row_by_total);
	out->count = n;
}
