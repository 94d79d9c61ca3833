/* Words in the names of kernels that say nothing about what a kernel does, and types in their short spelling. */
#ifndef SB_ANALYZE_GPU_NAME_WORDS_H
#define SB_ANALYZE_GPU_NAME_WORDS_H

#include <stdbool.h>

enum sb_word_kind {
	SB_WORD_NOTHING = 0,
	SB_WORD_NUMBER,
	SB_WORD_SWITCH, /* true, false */
	SB_WORD_INDEX, /* a type that counts elements: int, unsigned long */
	SB_WORD_SCALAR, /* a type that is computed with: bf16 */
	SB_WORD_NAMED
};

/* Around a kernel or an operation, and nothing of its own. */
bool sb_name_is_wrapper(const char *word);

/* How an operation reads and writes. */
bool sb_name_is_noise(const char *word);

/* What classes call their parts: "type". */
bool sb_name_is_member(const char *word);

/* A namespace of a library that has many kernels. */
bool sb_name_is_dull(const char *word);

/* What a word is, with its short spelling; SB_WORD_NAMED: no type of the language. */
enum sb_word_kind sb_name_type(const char **word);

#endif
