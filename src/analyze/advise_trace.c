/* Rules that read the GPU trace. Silent without one. */
#include "analyze/advise_rule.h"

#include <string.h>

void sb_rule_copies(struct sb_advisor *a)
{
	const struct sb_gpu_section *gpu = &a->model->gpu;
	double total_s = 0, bytes = 0;

	for (size_t i = 0; i < gpu->copy_count; i++) {
		total_s += gpu->copies[i].total_s;
		bytes += gpu->copies[i].bytes > 0 ? gpu->copies[i].bytes : 0;
	}
	if (gpu->present && gpu->copy_ratio * 100 > a->limit)
		sb_advisor_find(a, gpu->copy_ratio * 100, total_s,
			sb_say(a, "copies take %.1f %% of the GPU's time", gpu->copy_ratio * 100),
			sb_say(a, "%.2f GB in %s", bytes / 1e9, sb_say_seconds(a, total_s)));
}

void sb_rule_pageable_copies(struct sb_advisor *a)
{
	const struct sb_gpu_section *gpu = &a->model->gpu;
	double pageable = 0, known = 0, percent;

	for (size_t i = 0; gpu->present && i < gpu->copy_count; i++) {
		const struct sb_gpu_copy *c = &gpu->copies[i];

		if (!c->memory || !(c->bytes > 0))
			continue;
		known += c->bytes;
		pageable += strcmp(c->memory, "pageable") == 0 ? c->bytes : 0;
	}
	percent = pageable / known * 100;
	if (known > 1e9 && percent > a->limit)
		sb_advisor_find(a, percent, NAN,
			sb_say(a, "%.0f %% of the copied bytes use pageable memory", percent),
			sb_say(a, "%.2f of %.2f GB", pageable / 1e9, known / 1e9));
}

void sb_rule_gpu_gaps(struct sb_advisor *a)
{
	const struct sb_gpu_section *gpu = &a->model->gpu;
	double percent = gpu->present ? gpu->idle_s / (gpu->busy_s + gpu->idle_s) * 100 : NAN;
	const struct sb_gpu_gap *largest = NULL;

	for (size_t i = 0; i < gpu->gap_count; i++) {
		if (!largest || gpu->gaps[i].duration_s > largest->duration_s)
			largest = &gpu->gaps[i];
	}
	if (!(percent > a->limit))
		return;
	sb_advisor_find(a, percent, gpu->idle_s,
		sb_say(a, "the GPU idles %.1f %% between its kernels", percent),
		largest ? sb_say(a, "%.3f s idle; the longest gap is %.1f ms, the CPU was in '%s'",
				  gpu->idle_s, largest->duration_s * 1e3,
				  largest->cpu_did ? largest->cpu_did : "no stage")
			: sb_say(a, "%.3f s idle, %.3f s busy", gpu->idle_s, gpu->busy_s));
}

void sb_rule_small_kernels(struct sb_advisor *a)
{
	const struct sb_gpu_section *gpu = &a->model->gpu;
	double idle = gpu->present ? gpu->idle_s / (gpu->busy_s + gpu->idle_s) : 0;

	if (gpu->present && gpu->small_kernel_ratio * 100 > a->limit && idle > 0.05)
		sb_advisor_find(a, gpu->small_kernel_ratio * 100, NAN,
			sb_say(a, "%.0f %% of the kernels are short", gpu->small_kernel_ratio * 100),
			sb_say(a, "%lld kernels, %.1f us each on average, the GPU idles %.0f %%",
				(long long)gpu->kernel_count,
				gpu->kernel_total_s / (double)gpu->kernel_count * 1e6, idle * 100));
}

void sb_rule_attention_math(struct sb_advisor *a)
{
	const struct sb_gpu_section *gpu = &a->model->gpu;
	double math_s = 0, percent;

	for (size_t i = 0; gpu->present && i < gpu->attention_count; i++) {
		if (strcasestr(gpu->attention[i].name, "math") || strcasestr(gpu->attention[i].name, "eager"))
			math_s += gpu->attention[i].total_s;
	}
	percent = math_s / gpu->kernel_total_s * 100;
	if (math_s > 0 && percent > a->limit)
		sb_advisor_find(a, percent, math_s / 2,
			sb_say(a, "attention runs unfused (math) for %.1f %% of the time", percent),
			sb_say(a, "%.3f s of %.3f s kernel time", math_s, gpu->kernel_total_s));
}

void sb_rule_communication(struct sb_advisor *a)
{
	const struct sb_gpu_section *gpu = &a->model->gpu;
	double percent = gpu->present ? gpu->exposed_communication_s / gpu->window_s * 100 : NAN;

	if (percent > a->limit)
		sb_advisor_find(a, percent, gpu->exposed_communication_s,
			sb_say(a, "communication nobody hides takes %.1f %%", percent),
			sb_say(a, "%.3f s of %.3f s communication are exposed", gpu->exposed_communication_s,
				gpu->communication_s));
}
