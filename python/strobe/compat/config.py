"""ProfilingConfig: the `profiling:` keys as a dataclass."""
import dataclasses
from typing import Any, Dict, Optional

from .. import _config
from .._config import ConfigError


@dataclasses.dataclass
class ProfilingConfig:
    enabled: bool = False
    real_time_display: bool = False
    display_interval: float = 5.0
    gpu_monitor_interval: float = 0.5
    monitor_gpu_memory: bool = True
    monitor_gpu_utilization: bool = True
    monitor_gpu_temperature: bool = True
    monitor_gpu_power: bool = True
    cpu_monitor_interval: float = 1.0
    monitor_cpu_usage: bool = True
    monitor_system_memory: bool = True
    monitor_disk_io: bool = True
    generate_final_report: bool = True
    report_format: str = "both"
    save_raw_data: bool = False
    output_dir: Optional[str] = None
    max_data_points: int = 10000
    profile_inference_steps: bool = True
    profile_vae_decode: bool = True
    profile_text_encoding: bool = True
    profile_diffusion_steps: bool = True
    profile_block_computation: bool = True
    profile_model_parameters: bool = True
    max_trace_bytes: int = 256 << 20
    target_fps: Optional[float] = None
    gpu_cost_per_hour: Optional[float] = None
    session_tags: Dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        if self.session_tags is None:
            self.session_tags = {}
        _config.check(self.to_dict())

    def to_dict(self):
        return dataclasses.asdict(self)

    @property
    def folder(self):
        return self.output_dir or "./profiling_reports"

    @classmethod
    def from_dict(cls, settings):
        settings = dict(settings.get("profiling", settings) or {})
        _config.check(settings)
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in settings.items() if key in known})

    @classmethod
    def from_yaml(cls, path):
        return cls.from_dict(_config.read(path))

    from_file = from_yaml

    @classmethod
    def development(cls, **changes):
        return cls(**dict(dict(enabled=True, real_time_display=True, display_interval=1.0, gpu_monitor_interval=0.1,
                               cpu_monitor_interval=0.5, save_raw_data=True), **changes))

    @classmethod
    def production(cls, **changes):
        return cls(**dict(dict(enabled=True, gpu_monitor_interval=1.0, cpu_monitor_interval=2.0, report_format="json",
                               max_data_points=5000, monitor_gpu_temperature=False, monitor_gpu_power=False,
                               monitor_cpu_usage=False, profile_text_encoding=False), **changes))


__all__ = ["ConfigError", "ProfilingConfig"]
