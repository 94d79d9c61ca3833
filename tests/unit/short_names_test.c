/* Short names of kernels, each by a real name: of a torch 2.11 on an H200, of libraries, of other demanglers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/gpu/short_names.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* clang-format off */
static const struct {
	const char *short_name; /* NULL: the name stays */
	const char *kernel;
} names[] = {
	{ NULL,
		"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_bias_TNT" },
	{ NULL,
		"nvjet_sm90_tst_64x24_64x16_2x4_h_bz_bias_TNT" },
	{ NULL,
		"nvjet_sm90_tst_64x64_64x13_4x2_h_bz_bias_TNT" },
	{ NULL,
		"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0" },
	{ NULL,
		"nvjet_sm90_tst_64x64_64x13_2x1_v_bz_bias_TNT" },
	{ NULL,
		"nvjet_sm90_tst_64x8_64x16_1x4_h_bz_bias_TNT" },
	{ "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)" },
	{ "vllm::cross_device_reduce_1stage<bf16, 2>",
		"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)" },
	{ "c10d::symmetric_memory::multimem_all_gather_kernel<16>",
		"void c10d::symmetric_memory::(anonymous namespace)::multimem_all_gather_kernel<16>(char*, char*, unsigned long, unsigned int**, unsigned long, unsigned long)" },
	{ "deep_ep::intranode::dispatch<8, 768, 8192>",
		"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*, long*)" },
	{ "qk_int_sv_f8_attn_kernel<128, 64, 32, 64, 128>",
		"void qk_int_sv_f8_attn_kernel<128u, 64u, 32u, 64u, 128u, (DataType)0, (QuantGranularity)2, (QuantGranularity)2, float, false, __nv_bfloat16>(signed char*, signed char*, signed char*, __nv_bfloat16*)" },
	{ "blackwell_fp4_attn",
		"void cutlass::device_kernel<sage3::blackwell_fp4_attn>(Params)" },
	{ NULL,
		"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0" },
	{ "fmha_cutlassF_bf16_aligned_64x128_rf_sm80",
		"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t, cutlass::arch::Sm80, true, 64, 128, 128, true, true>::Params)" },
	{ "FlashAttnFwdSm90<CollectiveMainloopFwdSm90<2, 128x176x128, 128, bf16, float>>",
		"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<128>, cute::C<176>, cute::C<128> >, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90>" },
	{ "pytorch_flash::flash_fwd Flash_fwd_kernel_traits<128, 128, 64, 4, bf16>",
		"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, false, false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)" },
	{ "block_sparse_attn_kernel<128, 64, 64>",
		"void block_sparse_attn_kernel<128, 64, 64>(BlockSparseParams)" },
	{ "FmhaFwdKernel<BlockFmhaPipelineQRKSVSAsync<bf16>>",
		"void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipelineQRKSVSAsync<bf16> > >(ck_tile::FmhaFwdKargs)" },
	{ "softmax_warp_forward<bf16, float, 10>",
		"void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>(c10::BFloat16*, c10::BFloat16 const*, int, int, int, bool const*, int, bool)" },
	{ "cudnn::nchwToNhwcKernel<bf16, float, 2>",
		"void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, false, true, (cudnnKernelDataType_t)2>(cudnn::engines_precompiled::nchw2nhwc_params_t<float>, __nv_bfloat16 const*, __nv_bfloat16*)" },
	{ "cudnn::winograd_nonfused::winogradForwardData4x4<float>",
		"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(cudnn::winograd_nonfused::WinogradDataParams<float, float>)" },
	{ "implicit_convolve_sgemm<float, 1024, 5, 5, 3>",
		"void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(int, int, int, float const*, int, float*, float const*, kernel_conv_params)" },
	{ "cudnn::cnn::conv2d_grouped_direct_kernel<0, 0, float>",
		"void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int, float, float, float, float, float, float>(cudnn::cnn::GroupedDirectParams)" },
	{ "cudnn::cnn::fft2d_r2c_32x32<float, 0>",
		"void cudnn::cnn::fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*, int, int)" },
	{ "nunchaku::gemm_w4a4_kernel<GEMMConfig_W4A4, svdq>",
		"void nunchaku::kernels::gemm_w4a4_kernel<nunchaku::kernels::GEMMConfig_W4A4, svdq>(Params)" },
	{ "marlin::Marlin<bf16, 128, 1, 8, 8>",
		"void marlin::Marlin<__nv_bfloat16, 128, 1, 8, 8, 4, 8>(int4 const*, int4 const*, int4*, int4 const*, int, int, int, int*)" },
	{ "mul_mat_vec_q<fp16, 32, 4, block_q4_0, 2>",
		"void mul_mat_vec_q<__half, 32, 4, block_q4_0, 2, &vec_dot_q4_0_q8_1>(void const*, void const*, __half*, int, int, int)" },
	{ "kDequantizeBlockwise<bf16, 512, 64, 8, 2>",
		"void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*, float*, __nv_bfloat16*, int, int)" },
	{ "QuantInt8Kernel<128, 32, 1, bf16>",
		"void QuantInt8Kernel<128u, 32u, 1u, false, true, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, signed char*, float*, float, unsigned int)" },
	{ "vllm::scaled_fp8_quant_kernel_strided_dynamic<bf16, fp8_e4m3>",
		"void vllm::scaled_fp8_quant_kernel_strided_dynamic<c10::BFloat16, c10::Float8_e4m3fn>(c10::Float8_e4m3fn*, c10::BFloat16 const*, float*, int, long, long)" },
	{ "cudnn::bn_fw_inf_1C11_kernel_NCHW<float, 1>",
		"void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float, float, cudnnTensorStruct, float const*, cudnnTensorStruct, float*)" },
	{ "cublasLt::splitKreduce_kernel<32, 16, bf16, float>",
		"void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16, __nv_bfloat16, float, __nv_bfloat16, true, false, false>(cublasLt::cublasSplitKParams<float>, __nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*)" },
	{ "gemv2T_kernel_val<bf16, float, 128, 16, 4>",
		"void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false, true, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<__nv_bfloat16 const>, float> >(cublasGemvParamsEx<int>, float, float)" },
	{ "deep_gemm::fp8_gemm_kernel<6144, 4096, 128, 112, 128>",
		"void deep_gemm::fp8_gemm_kernel<6144u, 4096u, 128u, 112u, 128u, 1u, 5u, 2u>(__nv_bfloat16*, float*, int*, unsigned int, CUtensorMap_st)" },
	{ "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8",
		"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8::Params)" },
	{ "batch_trsm_left_kernel<float, 64, 4, 3>",
		"void batch_trsm_left_kernel<float, 64, 4, 3, false, false, true>(cublasTrsmBatchParams2<float>, float, float const*, int)" },
	{ "YuvToRgbKernel<YuvUnitx2<uchar2>, RGB24>",
		"void YuvToRgbKernel<YuvUnitx2<uchar2>, RGB24, unsigned int>(unsigned char*, int, unsigned char*, int, int, int)" },
	{ "nvjpeg::ycbcr_to_format_kernel_roi<6>",
		"void nvjpeg::ycbcr_to_format_kernel_roi<(nvjpeg::ComponentFormat)6>(short const*, unsigned char*, int)" },
	{ "regular_fft<64, EPT<8>, 8, 2, 1>",
		"void regular_fft<64u, EPT<8u>, 8u, 2u, (padding_t)1, (twiddle_t)0, (loadstore_modifier_t)2, (layout_t)0, unsigned int, float>(kernel_arguments_t<unsigned int>)" },
	{ "vllm::rotary_embedding_kernel<bf16>",
		"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, int, int, int)" },
	{ "gemm_w4a16_T1<64, 128, 64>",
		"void gemm_w4a16_T1<64, 128, 64>(half*, int*, half*)" },
	{ "cutlass_80_tensorop_i16832gemm_s8_128x64_128x3_tn_align16",
		"void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x64_128x3_tn_align16>(cutlass_80_tensorop_i16832gemm_s8_128x64_128x3_tn_align16::Params)" },
	{ "cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4",
		"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4>(cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4::Params)" },
	{ "cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1",
		"void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1>(cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1::Params)" },
	{ "GemmUniversal<CollectiveMma<MainloopSm90TmaGmmaWarpSpecialized<4, 2x1x1, KernelTmaWarpSpecializedPingpong>, 64x128x64, bf16>>",
		"void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm90<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4, cute::tuple<cute::C<2>, cute::C<1>, cute::C<1> >, cutlass::gemm::KernelTmaWarpSpecializedPingpong>, cute::tuple<cute::C<64>, cute::C<128>, cute::C<64> >, cutlass::bfloat16_t, cute::tuple<long, cute::C<1>, long>, cutlass::bfloat16_t>, void>>>(Params)" },
	{ NULL,
		"flash_fwd_kernel<bf16, 128>" },
};
/* clang-format on */

static void one_name(void **state)
{
	size_t i = (size_t)(uintptr_t)*state;
	char found[SB_SHORT_NAME_SIZE];

	if (!sb_kernel_short_name(names[i].kernel, false, found)) {
		assert_null(names[i].short_name);
		return;
	}
	assert_non_null(names[i].short_name);
	assert_string_equal(found, names[i].short_name);
}

static void names_that_were_cut_or_broken_are_read_to_their_end(void **state)
{
	char text[2048], found[SB_SHORT_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		size_t size = strlen(names[i].kernel);

		assert_true(size < sizeof text);
		for (size_t cut = 0; cut < size; cut++) {
			memcpy(text, names[i].kernel, cut);
			text[cut] = 0;
			if (sb_kernel_short_name(text, cut % 2, found))
				assert_true(strlen(found) < SB_SHORT_NAME_SIZE);
			memcpy(text, names[i].kernel, size + 1);
			text[cut] = "<>(){}[],: &*0a\xff"[(i + cut) % 17];
			if (sb_kernel_short_name(text, cut % 2, found))
				assert_true(strlen(found) < SB_SHORT_NAME_SIZE);
		}
	}
}

static void lists_in_lists_have_an_end(void **state)
{
	char found[SB_SHORT_NAME_SIZE], *deep = malloc(200001);

	(void)state;
	assert_non_null(deep);
	for (size_t i = 0; i < 100000; i++)
		memcpy(deep + 2 * i, "a<", 2);
	deep[200000] = 0;
	sb_kernel_short_name(deep, false, found);
	sb_kernel_short_name(deep, true, found);
	free(deep);
}

static void names_that_would_be_alike_say_what_differs(void **state)
{
	static const char *const kernels[] = {
		"void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float> >(int)",
		"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_bias_TNT",
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)",
	};
	struct sb_buf text = { 0 };
	size_t at[COUNT(kernels)];

	(void)state;
	assert_int_equal(sb_kernel_short_names(kernels, COUNT(kernels), &text, at), 0);
	assert_string_equal(text.data + at[0], "vectorized_elementwise_kernel<8, CUDAFunctor_add<float>>");
	assert_true(at[1] == SIZE_MAX);
	assert_string_equal(text.data + at[2], "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>");
	assert_string_equal(text.data + at[3], "vectorized_elementwise FillFunctor<float>");
	sb_buf_done(&text);
}

int main(void)
{
	static struct CMUnitTest tests[COUNT(names) + 3];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(names); i++)
		tests[n++] = (struct CMUnitTest){ names[i].short_name ? names[i].short_name : names[i].kernel,
			one_name, NULL, NULL, (void *)(uintptr_t)i };
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(names_that_were_cut_or_broken_are_read_to_their_end);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(lists_in_lists_have_an_end);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(names_that_would_be_alike_say_what_differs);
	return _cmocka_run_group_tests("short_names", tests, n, NULL, NULL);
}
