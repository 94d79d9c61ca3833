/* Which functions only wait, by name and file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/python_file.h"

#define LIB "/usr/lib/python3.12"

static void functions_of_python_that_block_wait(void **state)
{
	(void)state;
	assert_true(sb_python_waits("threading.Condition.wait", LIB "/threading.py"));
	assert_true(sb_python_waits("threading.Thread._wait_for_tstate_lock", LIB "/threading.py"));
	assert_true(sb_python_waits("threading.Thread.join", LIB "/threading.py"));
	assert_true(sb_python_waits("queue.Queue.get", LIB "/queue.py"));
	assert_true(sb_python_waits("selectors.EpollSelector.select", LIB "/selectors.py"));
	assert_true(sb_python_waits("connection.Connection._recv", LIB "/multiprocessing/connection.py"));
	assert_true(sb_python_waits("thread._worker", LIB "/concurrent/futures/thread.py"));
	assert_true(sb_python_waits("threading.Condition.wait", NULL)); /* the file was not recorded */
}

static void functions_that_work_do_not_wait(void **state)
{
	(void)state;
	/* its target may be written in C */
	assert_false(sb_python_waits("threading.Thread.run", LIB "/threading.py"));
	assert_false(sb_python_waits("pipe.wait", "/srv/pipe.py"));
	assert_false(sb_python_waits("connection.fetch", NULL));
	assert_false(sb_python_waits("cuda.synchronize", "/srv/torch/cuda/__init__.py"));
}

static void libraries_are_not_the_programs_own(void **state)
{
	(void)state;
	assert_true(sb_python_is_library(LIB "/threading.py"));
	assert_true(sb_python_is_library(LIB "/site-packages/torch/nn/modules/linear.py"));
	assert_true(sb_python_is_library("<frozen importlib._bootstrap>"));
	assert_false(sb_python_is_library(LIB "/site-packages/diffusers/pipelines/wan/pipeline_wan.py"));
	assert_false(sb_python_is_library("/srv/pipe.py"));
}

/* pip install --target, a git checkout. */
static void frameworks_are_packages_in_any_folder(void **state)
{
	(void)state;
	assert_true(sb_python_is_package("/srv/lib/diffusers/pipelines/wan/pipeline_wan.py"));
	assert_true(sb_python_is_package("/srv/transformers/src/transformers/generation/utils.py"));
	assert_true(sb_python_is_package(LIB "/site-packages/filelock/_api.py"));
	assert_false(sb_python_is_library("/srv/lib/diffusers/pipelines/wan/pipeline_wan.py"));
	assert_true(sb_python_is_library("/srv/lib/torch/nn/functional.py"));
	assert_true(sb_python_is_library("/srv/python/strobe/_session.py"));
}

static void a_program_may_lie_in_a_folder_of_such_a_name(void **state)
{
	static const char *const files[] = { "/home/me/torch/train.py", "/srv/diffusers/examples/wan.py",
		"/home/strobe/numpy/pipe.py", "/home/me/strobe/serve.py" };

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		assert_false(sb_python_is_library(files[i]));
		assert_false(sb_python_is_package(files[i]));
	}
	/* an environment below a folder of such a name */
	assert_false(sb_python_is_library(
		"/opt/torch/.venv/lib/python3.12/site-packages/diffusers/pipelines/wan/pipeline_wan.py"));
	assert_false(
		sb_python_is_library("/home/me/.cache/strobe/env/lib/python3.12/site-packages/cv2/a.py"));
	assert_true(sb_python_is_library("/opt/torch/.venv/lib/python3.12/site-packages/torch/_tensor.py"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_python_that_block_wait),
		cmocka_unit_test(functions_that_work_do_not_wait),
		cmocka_unit_test(libraries_are_not_the_programs_own),
		cmocka_unit_test(frameworks_are_packages_in_any_folder),
		cmocka_unit_test(a_program_may_lie_in_a_folder_of_such_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
