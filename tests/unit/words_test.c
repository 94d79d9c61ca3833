/* Numbers with their units, and names that cannot harm a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/panels/panel.h"
#include "stats/energy.h"

#include <math.h>
#include <string.h>

static void seconds(double s, const char *expected)
{
	char text[32];

	sb_text_seconds(text, sizeof text, s);
	assert_string_equal(text, expected);
}

static void times_carry_the_unit_that_fits(void **state)
{
	seconds(131.4, "131.40 s");
	seconds(1.594, "1.59 s");
	seconds(0.9999, "1.00 s"); /* not 1000 ms */
	seconds(0.0123, "12.3 ms");
	seconds(850e-6, "850 us");
	seconds(13e-9, "13 ns");
	seconds(0, "0 s");
	seconds(NAN, "n/a");
}

static void energy(double joules, const char *expected)
{
	char text[32];

	sb_text_energy(text, sizeof text, joules / 3600);
	assert_string_equal(text, expected);
}

static void energies_carry_the_unit_that_fits(void **state)
{
	energy(3600 * 1240, "1.24 kWh");
	energy(3600 * 17.45, "17.4 Wh");
	energy(8.64, "8.6 J");
	energy(0.34, "340 mJ");
	energy(0.0099, "9.9 mJ");
	energy(0.0000041, "0.0041 mJ");
	energy(0, "0 J");
	energy(NAN, "n/a");
}

static void bytes(double b, const char *expected)
{
	char text[32];

	sb_text_bytes(text, sizeof text, b);
	assert_string_equal(text, expected);
}

static void bytes_are_decimal_and_named(void **state)
{
	bytes(0, "0 B");
	bytes(999, "999 B");
	bytes(1300000, "1.3 MB");
	bytes(14.9e9, "14.9 GB");
	bytes(999.96e6, "1.0 GB");
	bytes(NAN, "n/a");
}

static void name(const char *from, size_t width, const char *expected, size_t columns)
{
	struct sb_buf out = { 0 };

	assert_int_equal(sb_text_name(&out, from, width), columns);
	assert_string_equal(sb_buf_text(&out), expected);
	sb_buf_done(&out);
}

static void long_names_lose_their_middle(void **state)
{
	name("denoise", 20, "denoise", 7);
	name("sampling_chunk_17_of_200", 11, "sampling_…", 10);
	name("sampling_chunk_17_of_200", 18, "sampling…17_of_200", 18);
	name("größer_als_erlaubt", 9, "größer_…", 8);
	name("[3a] I/O (read video/mask, preprocess)", 26, "[3a] I/O (…, preprocess)", 24);
	/* a code stays whole, whatever its name loses: greps look for it */
	name("    [4f.2] UNet+BrushNet+VAE pipeline", 36, "    [4f.2] UNet+BrushNet+… pipeline", 35);
	name("    [4f.2] UNet+BrushNet+VAE pipeline", 24, "    [4f.2] …VAE pipeline", 24);
	/* a command line of several lines stays one line */
	name("python3 -c 'import x\n\tx.run()'", 40, "python3 -c 'import x  x.run()'", 30);
	name("StableVideoDiffusionPipeline", 18, "Stable…Pipeline", 15);
	name("UNet+BrushNet", 10, "UNet+…", 6); /* not "UNet+…Net" */
	name("transformer_blocks_forward", 18, "transformer_…", 13);
	name("Donaudampfschiffahrtsgesellschaft", 11, "Donau…chaft", 11); /* one word alone has to be cut */
	name("aten::copy_/cudaLaunchKernel", 26, "aten::…_/cudaLaunchKernel", 25);
	name("", 5, "", 0);
}

static void names_cannot_speak_to_the_terminal(void **state)
{
	name("a\033[31mred", 40, "a?[31mred", 9);
	name("line\nbreak\ttab", 40, "line break tab", 14);
	name("bad\xff\xfe", 40, "bad??", 5);
	name("cut\xc3", 40, "cut?", 4);
	name("rtl\xe2\x80\xae!", 40, "rtl?!", 5); /* U+202E turns what follows around */
	name("csi\xc2\x9b", 40, "csi?", 4); /* U+009B is ESC [ in one character */
	name("\xe6\x97\xa5\xe6\x9c\xac", 40, "\xe6\x97\xa5\xe6\x9c\xac", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_carry_the_unit_that_fits),
		cmocka_unit_test(energies_carry_the_unit_that_fits),
		cmocka_unit_test(bytes_are_decimal_and_named),
		cmocka_unit_test(long_names_lose_their_middle),
		cmocka_unit_test(names_cannot_speak_to_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
