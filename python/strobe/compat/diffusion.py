"""DiffusionAnalyzer: steps, blocks and models, with frames counted once.

A step belongs to the block being denoised, so the frames of a block count once
however many steps it takes: 10 blocks of 3 frames with 4 steps each are 30 frames."""
import collections
import math

from .tally import Sampled

KEPT_MODELS = 256


def count_text(count):
    """1.3B, 25.0M, 1234."""
    if count >= 1e9:
        return "%.1fB" % (count / 1e9)
    if count >= 1e6:
        return "%.1fM" % (count / 1e6)
    return str(int(count))


class DiffusionAnalyzer:
    def __init__(self, config=None):
        self.config = config
        self.reset()

    def reset(self):
        self._steps = Sampled()
        self._chains = 0  # runs of increasing step numbers: one block each, or one video
        self._chain_steps = 0
        self._longest_chain = 0
        self._chain_frames = 0
        self._last_step = math.inf
        self._guidance = None
        self._blocks = Sampled()
        self._block_frames = 0
        self._by_size = collections.OrderedDict()
        self._peak_mb = None
        self._first_block_ms = None
        self._models = collections.OrderedDict()

    # -- recording --

    def record_diffusion_step(self, step=0, timestep=0.0, block_size=1, computation_time_ms=0.0, guidance_scale=None):
        if step <= self._last_step:
            self._chains += 1
            self._chain_steps = 0
            self._chain_frames += block_size
        self._last_step = step
        self._chain_steps += 1
        self._longest_chain = max(self._longest_chain, self._chain_steps)
        self._steps.add(computation_time_ms)
        if guidance_scale is not None:
            self._guidance = guidance_scale

    def record_block_computation(self, block_index=0, block_size=1, computation_time_ms=0.0, memory_usage_mb=None):
        if self._first_block_ms is None:
            self._first_block_ms = computation_time_ms
        self._blocks.add(computation_time_ms)
        self._block_frames += block_size
        sizes = self._by_size.setdefault(block_size, Sampled()) if len(self._by_size) < 64 else None
        if sizes is not None:
            sizes.add(computation_time_ms)
        if memory_usage_mb is not None:
            self._peak_mb = max(memory_usage_mb, self._peak_mb or 0.0)

    def record_model_parameters(self, model_name="unknown_model", parameters_count=0, model_type="unknown"):
        if model_name in self._models or len(self._models) < KEPT_MODELS:
            self._models[model_name] = {"parameters_count": int(parameters_count), "model_type": model_type,
                                        "parameters": count_text(parameters_count)}

    # -- what it means --

    @property
    def frames(self):
        return self._block_frames or self._chain_frames

    @property
    def blocks(self):
        return self._blocks.count or self._chains

    @property
    def compute_s(self):
        return (self._blocks.total if self._blocks.total > 0 else self._steps.total) / 1e3

    @property
    def steps_s(self):
        """A block takes a step at least: fewer steps than blocks are not what made these."""
        return self._steps.total / 1e3 if self._steps.count >= self._blocks.count else self.compute_s

    def _rates(self, seconds):
        if seconds <= 0:
            return {}
        return {"fps": self.frames / seconds, "bps": self.blocks / seconds}

    def get_diffusion_analysis(self):
        s = self._steps
        if not s.count:
            return {}
        result = {"total_steps": s.count, "steps_per_block": self._longest_chain, "total_frames": self.frames,
                  "blocks": self.blocks, "total_time_ms": s.total, "avg_step_time_ms": s.mean,
                  "min_step_time_ms": s.min, "max_step_time_ms": s.max, "median_step_time_ms": s.median}
        if self._guidance is not None:
            result["guidance_scale"] = self._guidance
        result.update(self._rates(self.steps_s))
        return result

    def get_block_analysis(self):
        b = self._blocks
        if not b.count:
            return {}
        result = {"total_blocks": b.count, "total_frames": self._block_frames,
                  "avg_block_size": self._block_frames / b.count, "total_time_ms": b.total, "avg_block_time_ms": b.mean,
                  "min_block_time_ms": b.min, "max_block_time_ms": b.max, "median_block_time_ms": b.median,
                  "first_block_time_ms": self._first_block_ms,
                  "by_block_size": {size: {"count": t.count, "avg_time_ms": t.mean} for size, t in self._by_size.items()}}
        if self._peak_mb is not None:
            result["peak_memory_mb"] = self._peak_mb
        result.update(self._rates(self.compute_s))
        return result

    def get_model_analysis(self):
        if not self._models:
            return {}
        total = sum(m["parameters_count"] for m in self._models.values())
        return {"models": dict(self._models), "total_parameters": total, "total_parameters_text": count_text(total)}

    def get_analysis(self):
        """All three, without what there is no data for."""
        found = {"diffusion_analysis": self.get_diffusion_analysis(), "block_analysis": self.get_block_analysis(),
                 "model_analysis": self.get_model_analysis()}
        return {key: value for key, value in found.items() if value}
