/* Our description of CUPTI's records against the real header, where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/cupti.h"
#include "gpu/pm_cupti.h"

#ifdef STROBE_HAVE_CUPTI_H
/* The toolkit's names are macros and enumerators of the same spelling as ours. */
#define CUPTI_API_ENTER REAL_API_ENTER
#define CUPTI_API_EXIT REAL_API_EXIT
#include <cupti.h>
#if __has_include(<cupti_pmsampling.h>) /* 12.6 */
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#define HAVE_PM_SAMPLING
#endif

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
	SAME(cupti_kernel, grid, CUpti_ActivityKernel10, gridX);
	SAME(cupti_kernel, block, CUpti_ActivityKernel10, blockX);
	SAME(cupti_kernel, registers_per_thread, CUpti_ActivityKernel10, registersPerThread);
	SAME(cupti_kernel, static_shared_bytes, CUpti_ActivityKernel10, staticSharedMemory);
	SAME(cupti_kernel, dynamic_shared_bytes, CUpti_ActivityKernel10, dynamicSharedMemory);
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
	SAME(cupti_callback_data, correlation_data, CUpti_CallbackData, correlationData);
	SAME(cupti_callback_data, params, CUpti_CallbackData, functionParams);
	SAME(cupti_callback_data, site, CUpti_CallbackData, callbackSite);
	SAME(cupti_callback_data, context, CUpti_CallbackData, context);
	SAME(cupti_callback_data, return_value, CUpti_CallbackData, functionReturnValue);
	SAME(cupti_callback_data, correlation, CUpti_CallbackData, correlationId);
	SAME(cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
	SAME(cupti_subscriber_params, other_name_size, CUpti_SubscriberParams, oldSubscriberSize);
	assert_true(sizeof(struct cupti_subscriber_params) <=
		    CUpti_SubscriberParams_STRUCT_SIZE); /* 13.3 adds one */
}

#ifdef HAVE_PM_SAMPLING
static void sampling_has_the_layout_of_the_toolkit(void **state)
{
	(void)state;
	SAME(cupti_pm_availability, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
	SAME(cupti_pm_availability, image_bytes, CUpti_PmSampling_GetCounterAvailability_Params,
		counterAvailabilityImageSize);
	SAME(cupti_pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params,
		pCounterAvailabilityImage);
	SAME(cupti_host_initialize, kind, CUpti_Profiler_Host_Initialize_Params, profilerType);
	SAME(cupti_host_initialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
	SAME(cupti_host_initialize, availability, CUpti_Profiler_Host_Initialize_Params,
		pCounterAvailabilityImage);
	SAME(cupti_host_initialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
	SAME(cupti_host_deinitialize, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
	SAME(cupti_host_add_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
	SAME(cupti_host_add_metrics, name_count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
	SAME(cupti_host_config_size, image_bytes, CUpti_Profiler_Host_GetConfigImageSize_Params,
		configImageSize);
	SAME(cupti_host_config, image_bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
	SAME(cupti_host_config, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
	SAME(cupti_host_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
	SAME(cupti_host_passes, pass_count, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
	SAME(cupti_host_evaluate, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
	SAME(cupti_host_evaluate, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
	SAME(cupti_host_evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
	SAME(cupti_host_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
	SAME(cupti_pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
	SAME(cupti_pm_enable, object, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
	SAME(cupti_pm_object, object, CUpti_PmSampling_Start_Params, pPmSamplingObject);
	SAME(cupti_pm_object, object, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
	SAME(cupti_pm_object, object, CUpti_PmSampling_Disable_Params, pPmSamplingObject);
	SAME(cupti_pm_configure, config, CUpti_PmSampling_SetConfig_Params, pConfig);
	SAME(cupti_pm_configure, hardware_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
	SAME(cupti_pm_configure, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
	SAME(cupti_pm_configure, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
	SAME(cupti_pm_data_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
	SAME(cupti_pm_data_size, sample_limit, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
	SAME(cupti_pm_data_size, data_bytes, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
	SAME(cupti_pm_data_initialize, data_bytes, CUpti_PmSampling_CounterDataImage_Initialize_Params,
		counterDataSize);
	SAME(cupti_pm_data_initialize, data, CUpti_PmSampling_CounterDataImage_Initialize_Params,
		pCounterData);
	SAME(cupti_pm_decode, data, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
	SAME(cupti_pm_decode, stop_reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
	SAME(cupti_pm_decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
	SAME(cupti_pm_data_info, data, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
	SAME(cupti_pm_data_info, completed_count, CUpti_PmSampling_GetCounterDataInfo_Params,
		numCompletedSamples);
	SAME(cupti_pm_sample_info, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
	SAME(cupti_pm_sample_info, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
	SAME(cupti_pm_sample_info, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
}
#endif

static void numbers_are_those_of_the_toolkit(void **state)
{
	static const uint32_t driver[] = CUPTI_DRIVER_LAUNCHES;
	static const uint32_t runtime_waits[] = CUPTI_RUNTIME_WAITS, driver_waits[] = CUPTI_DRIVER_WAITS;
	static const uint32_t allocations[] = CUPTI_DRIVER_ALLOCATIONS;

	(void)state;
	assert_int_equal(allocations[0], CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
	assert_int_equal(allocations[1], CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2);
	assert_int_equal(allocations[2], CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged);
	assert_int_equal(allocations[3], CUPTI_DRIVER_TRACE_CBID_cuMemCreate);
	assert_int_equal(allocations[4], CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync);
	assert_int_equal(allocations[5], CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz);
	assert_int_equal(allocations[6], CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync);
	assert_int_equal(allocations[7], CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz);
	assert_int_equal(runtime_waits[0], CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020);
	assert_int_equal(runtime_waits[1], CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000);
	assert_int_equal(runtime_waits[2], CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020);
	assert_int_equal(runtime_waits[3], CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
	assert_int_equal(runtime_waits[4], CUPTI_RUNTIME_TRACE_CBID_cudaThreadSynchronize_v3020);
	assert_int_equal(driver_waits[0], CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
	assert_int_equal(driver_waits[1], CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz);
	assert_int_equal(driver_waits[2], CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize);
	assert_int_equal(driver_waits[3], CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
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
#ifdef HAVE_PM_SAMPLING
		cmocka_unit_test(sampling_has_the_layout_of_the_toolkit),
#endif
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
