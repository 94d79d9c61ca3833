/* Roles: what a zone's time counts as, by its role or its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/role.h"

#include <string.h>

static void names_of_stages_say_what_they_are_for(void **state)
{
	static const struct {
		const char *name;
		uint32_t role;
		enum strobe_role work;
	} cases[] = {
		{ "denoise", 0, STROBE_ROLE_DENOISE },
		{ "sampling_chunk_17", 0, STROBE_ROLE_DENOISE },
		{ "UNet+BrushNet+VAE pipeline", 0, STROBE_ROLE_DENOISE },
		{ "vae_decode", 0, STROBE_ROLE_VAE_DECODE },
		{ "AutoencoderKLWan VAE decode", 0, STROBE_ROLE_VAE_DECODE },
		{ "VaeDecode", 0, STROBE_ROLE_VAE_DECODE },
		{ "decode_latents", 0, STROBE_ROLE_VAE_DECODE },
		{ "VAE encode", 0, STROBE_ROLE_VAE_ENCODE },
		{ "text_encoder_forward", 0, STROBE_ROLE_TEXT_ENCODE },
		{ "encode_prompt", 0, STROBE_ROLE_TEXT_ENCODE },
		{ "offload:vae", 0, STROBE_ROLE_OFFLOAD },
		{ "Video write", 0, STROBE_ROLE_EXPORT },
		{ "Video encoding", 0, STROBE_ROLE_EXPORT },
		{ "load_model", 0, STROBE_ROLE_LOAD },
		{ "I/O (read video/mask, preprocess)", 0, STROBE_ROLE_DATA },
		{ "video_decode", 0, STROBE_ROLE_DATA },
		{ "video_encode", 0, STROBE_ROLE_EXPORT },
		{ "anything", STROBE_ROLE_LOAD, STROBE_ROLE_LOAD },
		{ "vae_decode", STROBE_ROLE_OFFLOAD, STROBE_ROLE_OFFLOAD }, /* the role beats the name */
		{ "strobe: memory snapshot", 0,
			STROBE_ROLE_PROFILER }, /* as it was recorded without a role */
		{ "4c", STROBE_ROLE_VAE_DECODE, STROBE_ROLE_VAE_DECODE },
		{ "anything", STROBE_ROLE_STEP, STROBE_ROLE_DENOISE },
		{ "vae_decode", STROBE_ROLE_LAYER,
			STROBE_ROLE_VAE_DECODE }, /* a layer is anything: its name tells */
		{ "my_stage", 4000000000u, STROBE_ROLE_STAGE },
		{ "compile", 0, STROBE_ROLE_COMPILE },
		{ "torch.compile warm-up", 0, STROBE_ROLE_COMPILE },
		{ "compile (__init__.py:225)", 0, STROBE_ROLE_STAGE }, /* of a regular expression, say */
		{ "_compile_bytecode (<frozen importlib._bootstrap_external>:727)", 0, STROBE_ROLE_STAGE },
		{ "<built-in method builtins.compile>", 0, STROBE_ROLE_STAGE },
		{ "decode_latents (pipeline.py:100)", 0, STROBE_ROLE_VAE_DECODE },
		{ "Torch-Compiled Region: 0/0", 0, STROBE_ROLE_STAGE }, /* runs what was compiled */
		{ "my_stage", 0, STROBE_ROLE_STAGE },
		{ "Flow completion", 0, STROBE_ROLE_STAGE },
		{ "devaedecoder", 0, STROBE_ROLE_STAGE }, /* no word begins there */
		{ "vaedecoder", 0, STROBE_ROLE_VAE_DECODE }, /* the second word may touch the first */
		{ "alltoall", 0, STROBE_ROLE_COLLECTIVE },
		{ "x1_y2_z3 of a.b.c(d, e) for 17x512x512 with 4 blocks and 3 tiles: vae.decode", 0,
			STROBE_ROLE_VAE_DECODE },
		{ "", 0, STROBE_ROLE_STAGE },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (sb_role_work(cases[i].name, cases[i].role) != cases[i].work)
			fail_msg("'%s' is taken for %s", cases[i].name,
				sb_role_name(sb_role_work(cases[i].name, cases[i].role)));
	}
}

/* Time counts as one thing: what a role counts as counts as itself. */
static void work_of_work_is_the_same(void **state)
{
	for (uint32_t role = 0; role < SB_ROLE_COUNT; role++) {
		enum strobe_role work = sb_role_work(NULL, role);

		assert_int_equal(sb_role_work(NULL, work), work);
	}
}

static void every_role_has_its_own_name(void **state)
{
	assert_null(sb_role_name(STROBE_ROLE_STAGE));
	assert_null(sb_role_name(SB_ROLE_COUNT));
	for (uint32_t role = 1; role < SB_ROLE_COUNT; role++) {
		assert_non_null(sb_role_name(role));
		for (uint32_t other = 1; other < role; other++)
			assert_string_not_equal(sb_role_name(role), sb_role_name(other));
	}
	assert_string_equal(sb_role_name(STROBE_ROLE_PROFILER), "profiler");
	assert_int_equal(SB_ROLE_COUNT, STROBE_ROLE_PROFILER + 1);
}

static void kinds_follow_from_roles(void **state)
{
	assert_int_equal(strobe_kind_of("decode_latents"), STROBE_KIND_VAE_DECODE);
	assert_int_equal(strobe_kind_of("encode_prompt"), STROBE_KIND_TEXT_ENCODE);
	assert_int_equal(strobe_kind_of("denoise"), STROBE_KIND_OTHER);
	assert_int_equal(sb_role_kind(STROBE_ROLE_STEP), STROBE_KIND_STEP);
	assert_int_equal(sb_role_kind(STROBE_ROLE_BLOCK), STROBE_KIND_BLOCK);
}

static void phases_are_known_by_their_whole_name(void **state)
{
	assert_int_equal(sb_role_phase("before_steps"), 0);
	assert_int_equal(sb_role_phase("between_steps"), 1);
	assert_int_equal(sb_role_phase("after_steps"), 2);
	assert_int_equal(sb_role_phase("after_steps_2"), -1);
	assert_int_equal(sb_role_phase("denoise"), -1);
	assert_int_equal(sb_role_phase(NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_stages_say_what_they_are_for),
		cmocka_unit_test(work_of_work_is_the_same),
		cmocka_unit_test(every_role_has_its_own_name),
		cmocka_unit_test(kinds_follow_from_roles),
		cmocka_unit_test(phases_are_known_by_their_whole_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
