/* What a line of Python source calls, by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/python_calls.h"

static void loops_logs_and_numbers_call_nothing_but_python(void **state)
{
	assert_int_equal(sb_python_calls("rows.append(float(value))"), SB_CALLS_PYTHON);
	assert_int_equal(sb_python_calls("log.info(\"torch.tanh(%s)\", json.dumps(state))"), SB_CALLS_PYTHON);
	assert_int_equal(sb_python_calls("for i in range(len(rows)):  # torch.tanh(x)"), SB_CALLS_PYTHON);
	assert_int_equal(sb_python_calls("rows += out.detach().flatten().tolist()"), SB_CALLS_PYTHON);
}

/* A hash, an array, a log: what they are given may be worked out by a tensor. */
static void what_python_is_given_may_be_a_tensors_value(void **state)
{
	assert_int_equal(sb_python_calls("key = hashlib.md5(t.repeat(4, 1).numpy().tobytes()).hexdigest()"),
		SB_CALLS_PYTHON);
	assert_int_equal(sb_python_calls("print(name, float(out.mean()))"), SB_CALLS_PYTHON);
	assert_int_equal(sb_python_calls("kept.append(x.clone())"), SB_CALLS_OTHERS); /* a model keeps some */
	assert_int_equal(sb_python_calls("y = np.asarray(self.norm(x))"), SB_CALLS_OTHERS);
}

static void what_computes_calls_others(void **state)
{
	assert_int_equal(sb_python_calls("x = torch.tanh(x @ w)"), SB_CALLS_OTHERS);
	assert_int_equal(sb_python_calls("kept.append(self.norm(x))"), SB_CALLS_OTHERS);
	assert_int_equal(sb_python_calls("x = block(x)"), SB_CALLS_OTHERS);
	assert_int_equal(sb_python_calls("q = q.view(b, n, 3)"), SB_CALLS_OTHERS);
	assert_int_equal(sb_python_calls("y = x.sum()"), SB_CALLS_OTHERS);
}

static void a_sum_calls_nothing(void **state)
{
	assert_int_equal(sb_python_calls("x = (x + y) * 2"), SB_CALLS_NOTHING);
	assert_int_equal(sb_python_calls(""), SB_CALLS_NOTHING);
	assert_int_equal(sb_python_calls("text = 'an open string("), SB_CALLS_NOTHING);
}

static void conversions_of_plain_values_are_counted(void **state)
{
	assert_int_equal(sb_python_conversions("sigma, t = float(sigmas[i]), int(t)"), 2);
	assert_int_equal(sb_python_conversions("int(count(frames))"), 0);
	assert_int_equal(sb_python_conversions("x.float()"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_logs_and_numbers_call_nothing_but_python),
		cmocka_unit_test(what_python_is_given_may_be_a_tensors_value),
		cmocka_unit_test(what_computes_calls_others),
		cmocka_unit_test(a_sum_calls_nothing),
		cmocka_unit_test(conversions_of_plain_values_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
