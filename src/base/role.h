/* What a zone is: the one table of roles. Its name in reports, what its time counts as,
 * and which profile_* setting leaves it out all follow from here. */
#ifndef SB_BASE_ROLE_H
#define SB_BASE_ROLE_H

#include "strobe.h"

#include <stdbool.h>
#include <stdint.h>

/* X(role, key, words, work, kind)
 *   key    in reports, exports and metrics; NULL: an ordinary stage
 *   words  for people
 *   work   the role its time counts as; STAGE: its name decides
 *   kind   what the profile_* settings call it */
/* clang-format off */
#define SB_ROLES(X) \
	X(STAGE,       NULL,          "other",         STAGE,       OTHER) \
	X(GENERATION,  "generation",  "generation",    STAGE,       OTHER) \
	X(ITERATION,   "iteration",   "iteration",     STAGE,       OTHER) \
	X(STEP,        "step",        "step",          DENOISE,     STEP) \
	X(BLOCK,       "block",       "block",         DENOISE,     BLOCK) \
	X(LAYER,       "layer",       "layer",         STAGE,       OTHER) \
	X(IMPORT,      "import",      "imports",       IMPORT,      OTHER) \
	X(LOAD,        "load",        "model load",    LOAD,        OTHER) \
	X(COMPILE,     "compile",     "compile",       COMPILE,     OTHER) \
	X(OFFLOAD,     "offload",     "offload",       OFFLOAD,     OTHER) \
	X(WARMUP,      "warmup",      "warm-up",       STAGE,       OTHER) \
	X(FORWARD,     "forward",     "forward",       DENOISE,     OTHER) \
	X(COLLECTIVE,  "collective",  "communication", COLLECTIVE,  OTHER) \
	X(DENOISE,     "denoise",     "denoise",       DENOISE,     OTHER) \
	X(VAE_DECODE,  "vae_decode",  "VAE decode",    VAE_DECODE,  VAE_DECODE) \
	X(VAE_ENCODE,  "vae_encode",  "VAE encode",    VAE_ENCODE,  OTHER) \
	X(TEXT_ENCODE, "text_encode", "text encode",   TEXT_ENCODE, TEXT_ENCODE) \
	X(DATA,        "data",        "data loading",  DATA,        OTHER) \
	X(EXPORT,      "export",      "export",        EXPORT,      OTHER) \
	X(PROFILER,    "profiler",    "profiling",     PROFILER,    OTHER)
/* clang-format on */

#define SB_ROLE_COUNT_(role, key, words, work, kind) +1
enum { SB_ROLE_COUNT = 0 SB_ROLES(SB_ROLE_COUNT_) };

/* The roles that say what a stage is for, as a mask: zones of these are stages. */
#define SB_STAGE_ROLES                                                                                  \
	(1u << STROBE_ROLE_STAGE | 1u << STROBE_ROLE_DENOISE | 1u << STROBE_ROLE_VAE_DECODE |           \
		1u << STROBE_ROLE_VAE_ENCODE | 1u << STROBE_ROLE_TEXT_ENCODE | 1u << STROBE_ROLE_DATA | \
		1u << STROBE_ROLE_EXPORT | 1u << STROBE_ROLE_PROFILER)

/* The role of a number that was read from a file: one that is not known is an ordinary stage's. */
static inline uint32_t sb_role_read(uint64_t number)
{
	return number < SB_ROLE_COUNT ? (uint32_t)number : STROBE_ROLE_STAGE;
}

const char *sb_role_name(uint32_t role); /* its key; NULL: an ordinary stage, or unknown */
const char *sb_role_words(enum strobe_role role);
enum strobe_kind sb_role_kind(enum strobe_role role);

/* What a zone's time counts as: by its role, else by words in its name; STAGE: nothing
 * known. A step counts as DENOISE. */
enum strobe_role sb_role_work(const char *name, uint32_t role);
/* False for imports and for what strobe itself does: they use no GPU of their own. */
bool sb_role_uses_gpu(const char *name, uint32_t role);

/* What a generation does around its steps, in its own loop. The Python package records these stages in
 * addition to all others. */
#define SB_PHASES(X) X(before_steps) X(between_steps) X(after_steps)
#define SB_PHASE_COUNT_(name) +1
enum { SB_PHASE_COUNT = 0 SB_PHASES(SB_PHASE_COUNT_) };
int sb_role_phase(const char *name); /* the index in SB_PHASES; -1: none of them */

#endif
