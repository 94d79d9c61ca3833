/* Lists of words. What is in none of them is kept. */
#include "analyze/gpu/name_words.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

bool sb_name_is_wrapper(const char *word)
{
	static const char *const words[] = { "Kernel", "Kernel2", "device_kernel", "kentry",
		"gpu_kernel_impl", "gpu_kernel_impl_nocast", "gpu_index_kernel", "ReduceOp",
		"func_wrapper_t" };

	return is_one_of(word, words, COUNT(words)) || !strncmp(word, "enable_", 7);
}

bool sb_name_is_noise(const char *word)
{
	static const char *const words[] = { "array", "Array", "OffsetCalculator", "TrivialOffsetCalculator",
		"LoadWithCast", "LoadWithoutCast", "StoreWithCast", "StoreWithoutCast", "CUDAGeneratorImpl",
		"TensorListMetadata", "TensorIteratorBase", "integral_constant", "void" };

	return is_one_of(word, words, COUNT(words));
}

bool sb_name_is_member(const char *word)
{
	static const char *const words[] = { "type", "Params", "Arguments", "value" };

	return is_one_of(word, words, COUNT(words)) || !strncmp(word, "Policy", 6);
}

bool sb_name_is_dull(const char *word)
{
	static const char *const words[] = { "at", "native", "c10", "cuda", "cutlass", "cute", "std",
		"detail", "internal", "kernel", "kernels", "impl", "at_cuda_detail", "engines_precompiled",
		"ck_tile" };

	return is_one_of(word, words, COUNT(words));
}

enum sb_word_kind sb_name_type(const char **word)
{
	static const struct {
		const char *word, *spelt;
		enum sb_word_kind kind;
	} types[] = {
		{ "BFloat16", "bf16", SB_WORD_SCALAR },
		{ "__nv_bfloat16", "bf16", SB_WORD_SCALAR },
		{ "nv_bfloat16", "bf16", SB_WORD_SCALAR },
		{ "bfloat16_t", "bf16", SB_WORD_SCALAR },
		{ "hip_bfloat16", "bf16", SB_WORD_SCALAR },
		{ "__hip_bfloat16", "bf16", SB_WORD_SCALAR },
		{ "Half", "fp16", SB_WORD_SCALAR },
		{ "__half", "fp16", SB_WORD_SCALAR },
		{ "half", "fp16", SB_WORD_SCALAR },
		{ "half_t", "fp16", SB_WORD_SCALAR },
		{ "bf16", "bf16", SB_WORD_SCALAR },
		{ "fp16", "fp16", SB_WORD_SCALAR },
		{ "float", "float", SB_WORD_SCALAR },
		{ "double", "double", SB_WORD_SCALAR },
		{ "Float8_e4m3fn", "fp8_e4m3", SB_WORD_SCALAR },
		{ "float_e4m3_t", "fp8_e4m3", SB_WORD_SCALAR },
		{ "Float8_e5m2", "fp8_e5m2", SB_WORD_SCALAR },
		{ "float_e5m2_t", "fp8_e5m2", SB_WORD_SCALAR },
		{ "int8_t", "int8", SB_WORD_SCALAR },
		{ "signed char", "int8", SB_WORD_SCALAR },
		{ "unsigned char", "uint8", SB_WORD_SCALAR },
		{ "uint8_t", "uint8", SB_WORD_SCALAR },
		{ "bool", "bool", SB_WORD_SCALAR },
		{ "char", "char", SB_WORD_INDEX },
		{ "short", "short", SB_WORD_INDEX },
		{ "int", "int", SB_WORD_INDEX },
		{ "long", "long", SB_WORD_INDEX },
		{ "long long", "long", SB_WORD_INDEX },
		{ "unsigned", "unsigned", SB_WORD_INDEX },
		{ "unsigned int", "unsigned", SB_WORD_INDEX },
		{ "unsigned short", "unsigned short", SB_WORD_INDEX },
		{ "unsigned long", "unsigned long", SB_WORD_INDEX },
		{ "unsigned long long", "unsigned long", SB_WORD_INDEX },
		{ "int32_t", "int", SB_WORD_INDEX },
		{ "uint32_t", "unsigned", SB_WORD_INDEX },
		{ "int64_t", "long", SB_WORD_INDEX },
		{ "size_t", "unsigned long", SB_WORD_INDEX },
	};

	for (size_t i = 0; i < COUNT(types); i++) {
		if (!strcmp(*word, types[i].word)) {
			*word = types[i].spelt;
			return types[i].kind;
		}
	}
	return SB_WORD_NAMED;
}
