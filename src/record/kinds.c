/* The profile_* settings: which kinds of records are wanted. Asked when something
 * of that kind is recorded, so that each session has its own answer. */
#include "record/kinds.h"

#include "base/role.h"
#include "record/recorder.h"

enum strobe_kind strobe_kind_of(const char *name)
{
	return sb_role_kind(sb_role_work(name, STROBE_ROLE_STAGE));
}

bool sb_kind_is_off(enum strobe_kind kind)
{
	const struct sb_settings *s = &REC->settings;

	if (atomic_load_explicit(&REC->state, memory_order_acquire) == SB_ARMED)
		sb_session_open_armed();
	if (atomic_load_explicit(&REC->state, memory_order_acquire) != SB_OPEN)
		return false;
	switch (kind) {
	case STROBE_KIND_STEP: return !s->profile_diffusion_steps || !s->profile_inference_steps;
	case STROBE_KIND_BLOCK: return !s->profile_block_computation;
	case STROBE_KIND_MODEL: return !s->profile_model_parameters;
	case STROBE_KIND_VAE_DECODE: return !s->profile_vae_decode;
	case STROBE_KIND_TEXT_ENCODE: return !s->profile_text_encoding;
	case STROBE_KIND_OTHER: break;
	}
	return false;
}

int strobe_kind_recorded(enum strobe_kind kind)
{
	return STROBE_ON_() && !sb_kind_is_off(kind);
}
