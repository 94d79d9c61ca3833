"""Real pipelines of diffusers with small random weights, built from configurations: nothing is downloaded.
Shapes follow diffusers' own tests."""
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (CLIPImageProcessor, CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection,
                          CLIPVisionConfig, CLIPVisionModelWithProjection, LlamaConfig, LlamaModel, T5Config,
                          T5EncoderModel, UMT5Config, UMT5EncoderModel)

import diffusers

WORDS = ["<pad>", "</s>", "<unk>", "<s>"] + ["w%d" % i for i in range(60)]


def tokenizer(length=77):
    fast = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    fast.pre_tokenizer = pre_tokenizers.Whitespace()
    fast.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=fast, model_max_length=length, pad_token="<pad>",
                                                eos_token="</s>", unk_token="<unk>", bos_token="<s>")


def t5():
    torch.manual_seed(0)
    return T5EncoderModel(T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4,
                                   relative_attention_num_buckets=8))


def umt5(**changes):
    torch.manual_seed(0)
    config = dict(vocab_size=64, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, relative_attention_num_buckets=8)
    config.update(changes)
    return UMT5EncoderModel(UMT5Config(**config))


def clip(projection=False, **changes):
    torch.manual_seed(0)
    config = CLIPTextConfig(bos_token_id=3, eos_token_id=1, pad_token_id=0, hidden_size=32, intermediate_size=37,
                            num_attention_heads=4, num_hidden_layers=3, vocab_size=64, projection_dim=32, **changes)
    return (CLIPTextModelWithProjection if projection else CLIPTextModel)(config)


def vision(**changes):
    torch.manual_seed(0)
    config = dict(hidden_size=4, projection_dim=4, num_hidden_layers=2, num_attention_heads=2, image_size=32,
                  intermediate_size=16, patch_size=1)
    config.update(changes)
    return CLIPVisionModelWithProjection(CLIPVisionConfig(**config))


def wan_transformer(**changes):
    torch.manual_seed(0)
    config = dict(patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=16, out_channels=16,
                  text_dim=32, freq_dim=256, ffn_dim=32, num_layers=4, cross_attn_norm=True,
                  qk_norm="rms_norm_across_heads", rope_max_seq_len=32)
    config.update(changes)
    return diffusers.WanTransformer3DModel(**config)


def wan_vae(base_dim=3):
    torch.manual_seed(0)
    return diffusers.AutoencoderKLWan(base_dim=base_dim, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1,
                                      temperal_downsample=[False, True, True])


def wan(**parts):
    made = dict(transformer=wan_transformer(), vae=wan_vae(), text_encoder=umt5(), tokenizer=tokenizer(),
                scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=7.0))
    made.update(parts)
    return diffusers.WanPipeline(**made)


def wan_modular():
    from diffusers.modular_pipelines import WanBlocks
    pipeline = WanBlocks().init_pipeline()
    pipeline.update_components(
        transformer=wan_transformer(), vae=wan_vae(), text_encoder=umt5(), tokenizer=tokenizer(),
        scheduler=diffusers.UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0))
    return pipeline


def wan_two():
    """As Wan 2.2: a transformer for the noisy half and one for the rest."""
    return wan(transformer_2=wan_transformer(), boundary_ratio=0.875)


def wan_image():
    transformer = wan_transformer(in_channels=36, image_dim=4, added_kv_proj_dim=24)
    return diffusers.WanImageToVideoPipeline(
        transformer=transformer, vae=wan_vae(), text_encoder=umt5(), tokenizer=tokenizer(),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=7.0), image_encoder=_clip_vision_for_wan(),
        image_processor=CLIPImageProcessor(crop_size=32, size=32), transformer_2=None)


def _clip_vision_for_wan():
    torch.manual_seed(0)
    return transformers.CLIPVisionModel(CLIPVisionConfig(hidden_size=4, projection_dim=4, num_hidden_layers=2,
                                                         num_attention_heads=2, image_size=32, intermediate_size=16,
                                                         patch_size=1))


def ltx():
    torch.manual_seed(0)
    transformer = diffusers.LTXVideoTransformer3DModel(
        in_channels=8, out_channels=8, patch_size=1, patch_size_t=1, num_attention_heads=4, attention_head_dim=8,
        cross_attention_dim=32, num_layers=2, caption_channels=32)
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKLLTXVideo(
        in_channels=3, out_channels=3, latent_channels=8, block_out_channels=(8, 8, 8, 8),
        decoder_block_out_channels=(8, 8, 8, 8), layers_per_block=(1, 1, 1, 1, 1), decoder_layers_per_block=(1, 1, 1, 1, 1),
        spatio_temporal_scaling=(True, True, False, False), decoder_spatio_temporal_scaling=(True, True, False, False),
        decoder_inject_noise=(False, False, False, False, False), upsample_residual=(False, False, False, False),
        upsample_factor=(1, 1, 1, 1), timestep_conditioning=False, patch_size=1, patch_size_t=1, encoder_causal=True,
        decoder_causal=False)
    vae.use_framewise_encoding = vae.use_framewise_decoding = False
    return diffusers.LTXPipeline(transformer=transformer, vae=vae, text_encoder=t5(), tokenizer=tokenizer(),
                                 scheduler=diffusers.FlowMatchEulerDiscreteScheduler())


def cogvideox():
    torch.manual_seed(0)
    transformer = diffusers.CogVideoXTransformer3DModel(
        num_attention_heads=4, attention_head_dim=8, in_channels=4, out_channels=4, time_embed_dim=2, text_embed_dim=32,
        num_layers=2, sample_width=2, sample_height=2, sample_frames=9, patch_size=2, temporal_compression_ratio=4,
        max_text_seq_length=16)
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKLCogVideoX(
        in_channels=3, out_channels=3, block_out_channels=(8, 8, 8, 8), latent_channels=4, layers_per_block=1,
        norm_num_groups=2, temporal_compression_ratio=4,
        down_block_types=("CogVideoXDownBlock3D",) * 4, up_block_types=("CogVideoXUpBlock3D",) * 4)
    return diffusers.CogVideoXPipeline(transformer=transformer, vae=vae, text_encoder=t5(), tokenizer=tokenizer(),
                                       scheduler=diffusers.CogVideoXDDIMScheduler())


def hunyuan():
    torch.manual_seed(0)
    transformer = diffusers.HunyuanVideoTransformer3DModel(
        in_channels=4, out_channels=4, num_attention_heads=2, attention_head_dim=10, num_layers=2, num_single_layers=2,
        num_refiner_layers=1, patch_size=1, patch_size_t=1, guidance_embeds=True, text_embed_dim=16,
        pooled_projection_dim=8, rope_axes_dim=(2, 4, 4))
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKLHunyuanVideo(
        in_channels=3, out_channels=3, latent_channels=4,
        down_block_types=("HunyuanVideoDownBlock3D",) * 4, up_block_types=("HunyuanVideoUpBlock3D",) * 4,
        block_out_channels=(8, 8, 8, 8), layers_per_block=1, act_fn="silu", norm_num_groups=4, scaling_factor=0.476986,
        spatial_compression_ratio=8, temporal_compression_ratio=4, mid_block_add_attention=True)
    torch.manual_seed(0)
    llama = LlamaModel(LlamaConfig(bos_token_id=3, eos_token_id=1, pad_token_id=0, hidden_size=16, intermediate_size=37,
                                   num_attention_heads=4, num_hidden_layers=3, vocab_size=64, max_position_embeddings=512))
    torch.manual_seed(0)
    clip_small = CLIPTextModel(CLIPTextConfig(bos_token_id=3, eos_token_id=1, pad_token_id=0, hidden_size=8,
                                              intermediate_size=37, num_attention_heads=4, num_hidden_layers=3,
                                              vocab_size=64, projection_dim=8))
    return diffusers.HunyuanVideoPipeline(
        transformer=transformer, vae=vae, text_encoder=llama, text_encoder_2=clip_small, tokenizer=tokenizer(512),
        tokenizer_2=tokenizer(), scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=7.0))


def mochi():
    torch.manual_seed(0)
    transformer = diffusers.MochiTransformer3DModel(
        patch_size=2, num_attention_heads=2, attention_head_dim=8, num_layers=2, pooled_projection_dim=16,
        in_channels=12, out_channels=None, qk_norm="rms_norm", text_embed_dim=32, time_embed_dim=4,
        activation_fn="swiglu", max_sequence_length=16)
    transformer.pos_frequencies.data.zero_()
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKLMochi(latent_channels=12, out_channels=3, encoder_block_out_channels=(32, 32, 32, 32),
                                       decoder_block_out_channels=(32, 32, 32, 32), layers_per_block=(1, 1, 1, 1, 1))
    return diffusers.MochiPipeline(transformer=transformer, vae=vae, text_encoder=t5(), tokenizer=tokenizer(),
                                   scheduler=diffusers.FlowMatchEulerDiscreteScheduler())


def small_vae(**changes):
    torch.manual_seed(0)
    config = dict(block_out_channels=[8, 8], in_channels=3, out_channels=3, latent_channels=4, norm_num_groups=2,
                  down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2, sample_size=32)
    config.update(changes)
    return diffusers.AutoencoderKL(**config)


def animatediff():
    torch.manual_seed(0)
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(8, 8), layers_per_block=2, sample_size=8, in_channels=4, out_channels=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32, norm_num_groups=2)
    adapter = diffusers.MotionAdapter(block_out_channels=(8, 8), motion_layers_per_block=2, motion_norm_num_groups=2,
                                      motion_num_attention_heads=4)
    return diffusers.AnimateDiffPipeline(
        unet=unet, scheduler=diffusers.DDIMScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="linear",
                                                     clip_sample=False),
        vae=small_vae(), motion_adapter=adapter, text_encoder=clip(), tokenizer=tokenizer())


def svd():
    torch.manual_seed(0)
    unet = diffusers.UNetSpatioTemporalConditionModel(
        block_out_channels=(32, 64), layers_per_block=2, sample_size=32, in_channels=8, out_channels=4,
        down_block_types=("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
        up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"), cross_attention_dim=32,
        num_attention_heads=8, projection_class_embeddings_input_dim=96, addition_time_embed_dim=32)
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKLTemporalDecoder(block_out_channels=[32, 64], in_channels=3, out_channels=3,
                                                 down_block_types=["DownEncoderBlock2D"] * 2, latent_channels=4)
    return diffusers.StableVideoDiffusionPipeline(
        unet=unet, vae=vae, image_encoder=vision(image_size=224, patch_size=32, hidden_size=32, projection_dim=32, num_hidden_layers=3,
                                                 num_attention_heads=4, intermediate_size=37),
        feature_extractor=CLIPImageProcessor(crop_size=32, size=32),
        scheduler=diffusers.EulerDiscreteScheduler(
            beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", interpolation_type="linear",
            num_train_timesteps=1000, prediction_type="v_prediction", sigma_max=700.0, sigma_min=0.002, steps_offset=1,
            timestep_spacing="leading", timestep_type="continuous", use_karras_sigmas=True))


def flux():
    torch.manual_seed(0)
    transformer = diffusers.FluxTransformer2DModel(
        patch_size=1, in_channels=4, num_layers=2, num_single_layers=2, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=[4, 4, 8])
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKL(sample_size=32, in_channels=3, out_channels=3, block_out_channels=(4,),
                                  layers_per_block=1, latent_channels=1, norm_num_groups=1, use_quant_conv=False,
                                  use_post_quant_conv=False, shift_factor=0.0609, scaling_factor=1.5035)
    return diffusers.FluxPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(), vae=vae, text_encoder=clip(), tokenizer=tokenizer(),
        text_encoder_2=t5(), tokenizer_2=tokenizer(), transformer=transformer)


def sdxl():
    torch.manual_seed(0)
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=2, sample_size=32, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=(2, 4), use_linear_projection=True, addition_embed_type="text_time",
        addition_time_embed_dim=8, transformer_layers_per_block=(1, 2), projection_class_embeddings_input_dim=80,
        cross_attention_dim=64)
    return diffusers.StableDiffusionXLPipeline(
        unet=unet, scheduler=diffusers.EulerDiscreteScheduler(), vae=small_vae(sample_size=32), text_encoder=clip(),
        tokenizer=tokenizer(), text_encoder_2=clip(projection=True), tokenizer_2=tokenizer())
