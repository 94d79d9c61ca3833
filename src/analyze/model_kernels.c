/* Kernel families, key by key. */
#include "analyze/model_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_total(const void *a, const void *b)
{
	const struct sb_kernel_share *x = a, *y = b;
	int order;

	if (x->total_s != y->total_s)
		return x->total_s < y->total_s ? 1 : -1;
	order = strcmp(x->family, y->family);
	if (!order)
		order = strcmp(x->kind ? x->kind : "", y->kind ? y->kind : "");
	return order ? order : strcmp(x->precision ? x->precision : "", y->precision ? y->precision : "");
}

double sb_kernel_shares_total_s(const struct sb_kernel_share *shares, size_t count)
{
	double total_s = 0;

	for (size_t i = 0; i < count; i++)
		total_s += shares[i].total_s;
	return total_s;
}

double sb_kernel_shares_of_s(const struct sb_kernel_share *shares, size_t count, const char *family)
{
	double total_s = 0;

	for (size_t i = 0; i < count; i++)
		total_s += strcmp(shares[i].family, family) ? 0 : shares[i].total_s;
	return total_s;
}

/* Sorted: a family's place is that of its largest share. */
static void number_families(struct sb_kernel_share *shares, size_t count)
{
	int64_t families = 0;

	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (k < i && strcmp(shares[k].family, shares[i].family))
			k++;
		shares[i].family_at = k < i ? shares[k].family_at : families++;
	}
}

void sb_kernel_shares_sort(struct sb_kernel_share *shares, size_t count)
{
	double total_s = sb_kernel_shares_total_s(shares, count);

	for (size_t i = 0; i < count; i++)
		shares[i].ratio = total_s > 0 ? shares[i].total_s / total_s : NAN;
	if (count)
		qsort(shares, count, sizeof *shares, by_total);
	number_families(shares, count);
}

static const struct sb_field sb_kernel_share_fields_rows[] = {
	SB_FIELD(sb_kernel_share, family, "family", SB_ALWAYS,
		"GEMM, attention, convolution, normalisation, element-wise, reduction, copy and layout, "
		"quantisation, communication, sampling, codec; else \"not recognised\""),
	SB_FIELD(sb_kernel_share, kind, "kind", SB_KNOWN, "which of the family: \"flash 2\", \"AllReduce\""),
	SB_FIELD(sb_kernel_share, precision, "precision", SB_KNOWN,
		"precision of what is multiplied: fp32, tf32, bf16, fp16, fp8, int8, fp4"),
	SB_FIELD(sb_kernel_share, count, "kernel_count", SB_ALWAYS, "kernels in it"),
	SB_FIELD(sb_kernel_share, total_s, "total_s", SB_ALWAYS, "their time added up"),
	SB_FIELD(sb_kernel_share, ratio, "share_ratio", SB_KNOWN,
		"share of the time of all kernels in the list", .range = SB_SHARE),
	SB_FIELD(sb_kernel_share, family_at, "family_index", SB_ALWAYS,
		"the place of its family among those of the list, from 0: the family with the largest share "
		"first"),
};
SB_FIELDS(
	sb_kernel_share_fields, sb_kernel_share, "KernelShare", "Kernels of one family, kind and precision.");
