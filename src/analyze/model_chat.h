/* The report model, on models that write tokens: how soon the first token comes, how fast the others
 * follow. */
#ifndef SB_ANALYZE_MODEL_CHAT_H
#define SB_ANALYZE_MODEL_CHAT_H

#include "stats/fields.h"

struct sb_chat_panel {
	struct sb_chat {
		const char *stage; /* that has the attribute new_tokens */
		int64_t count; /* calls of it */
		double new_tokens; /* of all sequences of all calls */
		double first_token_s,
			first_token_max_s; /* mean and longest, from the call's begin; NAN: not known */
		double tokens_per_s; /* behind the first token; NAN: there is none */
		double prompt_tokens; /* NAN: not known */
		double prefill_s, prefill_tokens_per_s; /* NAN: no such stage inside */
		double decode_s; /* forwards behind the first token; NAN: none */
		double vision_s; /* NAN: no such stage inside */
		double input_frames, input_frames_per_s; /* NAN: it was given none */
	} * all; /* in the order of their first call */
	size_t count;
};

extern const struct sb_fields sb_chat_fields;

#endif
