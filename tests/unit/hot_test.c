/* What a line of the program does, by its text, the library's function it was in and its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/hot.h"

static enum sb_doing doing(const char *file, const char *text)
{
	struct sb_line line = { .function = "f", .file = file, .text = text };

	return sb_hot_doing(&line);
}

static void a_thread_that_waits_computes_nothing(void **state)
{
	(void)state;
	/* tqdm's monitor, in every program with a progress bar */
	assert_int_equal(doing("/usr/lib/python3.11/threading.py", "gotit = waiter.acquire(True, timeout)"),
		SB_DOES_WAIT);
	assert_int_equal(doing("/usr/lib/python3.11/threading.py", NULL), SB_DOES_WAIT);
	assert_int_equal(doing("/usr/lib/python3.11/selectors.py", NULL), SB_DOES_WAIT);
	assert_int_equal(doing("/home/me/serve.py", "ready.wait(1)"), SB_DOES_WAIT);
	assert_int_equal(doing("/home/me/serve.py", "client, _ = listener.accept()"), SB_DOES_WAIT);
}

static void a_line_that_counts_computes(void **state)
{
	(void)state;
	assert_int_equal(doing("/home/me/poll.py", "count += 1"), SB_DOES_COMPUTE);
	assert_int_equal(doing("/home/me/my_threading.py", "count += 1"), SB_DOES_COMPUTE);
	assert_int_equal(doing("/home/me/poll.py", NULL), SB_DOES_COMPUTE);
}

static void what_is_made_on_a_device_is_not_copied(void **state)
{
	(void)state;
	assert_int_equal(doing("/home/me/wan.py", "table.to(x.device)"), SB_DOES_COPY);
	assert_int_equal(
		doing("/home/me/wan.py", "mask = torch.tensor(rows, device=x.device)"), SB_DOES_COPY);
	assert_int_equal(
		doing("/home/me/wan.py", "parts = [torch.empty(64 << 20, device=x.device) for _ in r]"),
		SB_DOES_COMPUTE);
}

/* torch.multiprocessing starts a worker; nothing is written. */
static void a_worker_that_is_started_writes_nothing(void **state)
{
	struct sb_line line = { .function = "f",
		.file = "/home/me/wan.py",
		.text = "for clip in loader:",
		.inner = "popen_fork.Popen._launch" };

	(void)state;
	assert_int_equal(sb_hot_doing(&line), SB_DOES_COMPUTE);
	line.inner = "subprocess.Popen._execute_child";
	assert_int_equal(sb_hot_doing(&line), SB_DOES_WRITE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_waits_computes_nothing),
		cmocka_unit_test(a_line_that_counts_computes),
		cmocka_unit_test(what_is_made_on_a_device_is_not_copied),
		cmocka_unit_test(a_worker_that_is_started_writes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
