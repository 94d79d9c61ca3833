/* Tables of name parts. The first that matches counts. */
#include "analyze/gpu/kernel_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

struct part {
	const char *text;
	const char *also; /* NULL: not needed */
	const char *kind;
};

static const char *find_part(const struct part *parts, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasestr(name, parts[i].text) && (!parts[i].also || strcasestr(name, parts[i].also)))
			return parts[i].kind;
	return NULL;
}

const char *sb_gpu_attention_kind(const char *kernel)
{
	static const struct part parts[] = {
		{ "cudnn", "sdpa", "cuDNN" },
		{ "cudnn", "flash", "cuDNN" },
		{ "cudnn", "mha", "cuDNN" },
		{ "fmha_cutlass", NULL, "memory-efficient" },
		{ "fmha_kernel_cutlass", NULL, "memory-efficient" },
		{ "efficient_attention", NULL, "memory-efficient" },
		{ "AttentionKernel", "cutlass", "memory-efficient" },
		{ "AttentionKernel", "PyTorchMemEff", "memory-efficient" },
		{ "PyTorchMemEffAttention", NULL, "memory-efficient" },
		{ "flash_fwd", NULL, "flash" },
		{ "flash_bwd", NULL, "flash" },
		{ "flashattn", NULL, "flash" },
		{ "flash_attn", NULL, "flash" },
		{ "FlashAttn", NULL, "flash" },
		{ "pytorch_flash", NULL, "flash" },
		{ "fmha", NULL, "flash" },
		{ "softmax_warp", NULL, "math" },
		{ "SoftMaxForward", NULL, "math" },
		{ "SoftMaxBackward", NULL, "math" },
		{ "masked_softmax", NULL, "math" },
	};

	return find_part(parts, sizeof parts / sizeof parts[0], kernel);
}

const char *sb_gpu_collective(const char *kernel)
{
	static const struct part parts[] = {
		{ "AllReduce", NULL, "AllReduce" },
		{ "all_reduce", NULL, "AllReduce" },
		{ "AllGather", NULL, "AllGather" },
		{ "all_gather", NULL, "AllGather" },
		{ "ReduceScatter", NULL, "ReduceScatter" },
		{ "reduce_scatter", NULL, "ReduceScatter" },
		{ "Broadcast", NULL, "Broadcast" },
		{ "AllToAll", NULL, "AllToAll" },
		{ "SendRecv", NULL, "SendRecv" },
		{ "Reduce", NULL, "Reduce" },
	};
	const char *kind;

	if (!strcasestr(kernel, "nccl") && !strcasestr(kernel, "rccl"))
		return NULL;
	kind = find_part(parts, sizeof parts / sizeof parts[0], kernel);
	return kind ? kind : "other";
}

bool sb_gpu_is_runtime_call(const char *zone)
{
	static const char *const heads[] = { "cuda", "cu", "hip", "hsa_" };

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		size_t n = strlen(heads[i]);

		if (!strncmp(zone, heads[i], n) &&
			(isupper((unsigned char)zone[n]) || heads[i][n - 1] == '_'))
			return true;
	}
	return false;
}

bool sb_gpu_is_wait(const char *zone)
{
	return sb_gpu_is_runtime_call(zone) && strstr(zone, "Synchronize");
}
