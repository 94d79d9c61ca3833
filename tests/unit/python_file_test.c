/* Whose a function of Python is, and which only wait, by name and file. */
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

static void a_framework_from_a_checkout_is_installed(void **state)
{
	(void)state;
	assert_true(sb_python_is_installed(LIB "/site-packages/ltx_video/pipeline.py"));
	assert_true(sb_python_is_installed("/home/u/diffusers/src/diffusers/pipelines/wan/pipeline_wan.py"));
	assert_true(sb_python_is_installed("/srv/lib/diffusers/models/autoencoders/autoencoder_kl_wan.py"));
	assert_true(sb_python_is_installed("/srv/lib/transformers/modeling_utils.py"));
	assert_false(sb_python_is_installed("/home/u/diffusers/examples/train.py"));
	assert_false(sb_python_is_installed("/home/u/diffusers/my_script.py"));
	assert_false(sb_python_is_installed("/srv/pipe.py"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_python_that_block_wait),
		cmocka_unit_test(functions_that_work_do_not_wait),
		cmocka_unit_test(libraries_are_not_the_programs_own),
		cmocka_unit_test(a_framework_from_a_checkout_is_installed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
