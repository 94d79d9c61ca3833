/* Our description of CUPTI's records against the real header, where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/cupti.h"

#ifdef STROBE_HAVE_CUPTI_H
/* The toolkit's names are macros and enumerators of the same spelling as ours. */
#define CUPTI_API_ENTER REAL_API_ENTER
#define CUPTI_API_EXIT REAL_API_EXIT
#include <cupti.h>

#define SAME(ours, field, real, real_field) \
	assert_int_equal(offsetof(struct ours, field), offsetof(real, real_field))

static void records_have_the_layout_of_the_toolkit(void **state)
{
	(void)state;
	SAME(cupti_kernel, start, CUpti_ActivityKernel10, start);
	SAME(cupti_kernel, end, CUpti_ActivityKernel10, end);
	SAME(cupti_kernel, device, CUpti_ActivityKernel10, deviceId);
	SAME(cupti_kernel, stream, CUpti_ActivityKernel10, streamId);
	SAME(cupti_kernel, correlation, CUpti_ActivityKernel10, correlationId);
	SAME(cupti_kernel, name, CUpti_ActivityKernel10, name);
	SAME(cupti_kernel, graph_node, CUpti_ActivityKernel10, graphNodeId);
	SAME(cupti_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
	SAME(cupti_memcpy, source_kind, CUpti_ActivityMemcpy6, srcKind);
	SAME(cupti_memcpy, target_kind, CUpti_ActivityMemcpy6, dstKind);
	SAME(cupti_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
	SAME(cupti_memcpy, start, CUpti_ActivityMemcpy6, start);
	SAME(cupti_memcpy, end, CUpti_ActivityMemcpy6, end);
	SAME(cupti_memcpy, device, CUpti_ActivityMemcpy6, deviceId);
	SAME(cupti_memcpy, stream, CUpti_ActivityMemcpy6, streamId);
	SAME(cupti_memcpy, correlation, CUpti_ActivityMemcpy6, correlationId);
	SAME(cupti_memcpy, graph_node, CUpti_ActivityMemcpy6, graphNodeId);
	SAME(cupti_memcpy2, stream, CUpti_ActivityMemcpyPtoP4, streamId);
	SAME(cupti_memcpy2, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
	SAME(cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
	SAME(cupti_memset, start, CUpti_ActivityMemset4, start);
	SAME(cupti_memset, end, CUpti_ActivityMemset4, end);
	SAME(cupti_memset, device, CUpti_ActivityMemset4, deviceId);
	SAME(cupti_memset, stream, CUpti_ActivityMemset4, streamId);
	SAME(cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
	SAME(cupti_memset, graph_node, CUpti_ActivityMemset4, graphNodeId);
}

static void callbacks_have_the_layout_of_the_toolkit(void **state)
{
	(void)state;
	SAME(cupti_callback_data, site, CUpti_CallbackData, callbackSite);
	SAME(cupti_callback_data, context, CUpti_CallbackData, context);
	SAME(cupti_callback_data, correlation, CUpti_CallbackData, correlationId);
	SAME(cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
	SAME(cupti_subscriber_params, other_name_size, CUpti_SubscriberParams, oldSubscriberSize);
	assert_int_equal(sizeof(struct cupti_subscriber_params), CUpti_SubscriberParams_STRUCT_SIZE);
}

static void numbers_are_those_of_the_toolkit(void **state)
{
	static const uint32_t driver[] = CUPTI_DRIVER_LAUNCHES;

	(void)state;
	assert_int_equal(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
	assert_int_equal(CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
	assert_int_equal(CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	assert_int_equal(CUPTI_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
	assert_int_equal(CUPTI_ATTR_ZEROED_OUT_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
	assert_int_equal(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
	assert_int_equal(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_int_equal(driver[0], CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	assert_int_equal(driver[2], CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
	assert_int_equal(driver[6], CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_have_the_layout_of_the_toolkit),
		cmocka_unit_test(callbacks_have_the_layout_of_the_toolkit),
		cmocka_unit_test(numbers_are_those_of_the_toolkit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	print_message("[  SKIPPED ] no cupti.h here\n");
	return 0;
}
#endif
