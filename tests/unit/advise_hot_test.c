/* What a line does, by its text and by the library's function it was in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/hot.h"

static enum sb_doing doing(const char *text, const char *inner)
{
	struct sb_line line = { .text = text, .inner = inner, .file = "/srv/serve.py", .line = 12 };

	return sb_hot_doing(&line);
}

static void a_line_that_waits_for_another_server_asks(void **state)
{
	(void)state;
	assert_int_equal(
		doing("made = requests.post(url, json=job).json()", "ssl.SSLSocket.read"), SB_DOES_ASK);
	assert_int_equal(doing("self.http.post(url, data=clip)", "socket.SocketIO.readinto"), SB_DOES_ASK);
	assert_int_equal(doing("urlopen(url).read()", NULL), SB_DOES_ASK);
}

static void names_that_only_look_like_a_client_ask_nobody(void **state)
{
	(void)state;
	assert_int_equal(doing("self.requests.append(pad(clip))", "arraypad.pad"), SB_DOES_COMPUTE);
	assert_int_equal(doing("requests.sort(key=size_of)", NULL), SB_DOES_COMPUTE);
	assert_int_equal(doing("bus.post(event, clip.copy())", NULL), SB_DOES_COMPUTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_that_waits_for_another_server_asks),
		cmocka_unit_test(names_that_only_look_like_a_client_ask_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
