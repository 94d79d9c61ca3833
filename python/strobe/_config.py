"""The `profiling:` configuration where the C library cannot read it: from a dict,
or from YAML with PyYAML in a build without libfyaml. Every key is checked; an
error names file, line and the nearest valid key."""
import os


class ConfigError(ValueError):
    """The configuration is wrong; the message says where and what to do."""


_FLAG, _INTERVAL, _COUNT, _BYTES, _NUMBER, _TEXT, _TAGS, _STAGES, _FORMAT, _SWITCH = range(10)

KEYS = {
    "enabled": _FLAG, "name": _TEXT, "real_time_display": _FLAG, "display_interval": _INTERVAL,
    "gpu_monitor_interval": _INTERVAL, "cpu_monitor_interval": _INTERVAL,
    "monitor_gpu_memory": _FLAG, "monitor_gpu_utilization": _FLAG, "monitor_gpu_temperature": _FLAG,
    "monitor_gpu_power": _FLAG, "monitor_cpu_usage": _FLAG, "monitor_system_memory": _FLAG,
    "monitor_disk_io": _FLAG, "generate_final_report": _FLAG, "report_format": _FORMAT, "save_raw_data": _FLAG,
    "output_dir": _TEXT, "max_data_points": _COUNT, "max_trace_bytes": _BYTES, "max_run_bytes": _BYTES, "keep_output_bytes": _BYTES,
    "profile_inference_steps": _FLAG, "profile_vae_decode": _FLAG, "profile_text_encoding": _FLAG,
    "profile_diffusion_steps": _FLAG, "profile_block_computation": _FLAG, "profile_model_parameters": _FLAG,
    "target_fps": _NUMBER, "gpu_cost_per_hour": _NUMBER, "session_tags": _TAGS, "stages": _STAGES,
    "gpu_counters_interval": _NUMBER, "gpu_counters_all": _FLAG, "preset": _TEXT, "stage_log": _SWITCH, "thresholds": _TAGS, "gpu_trace": _TEXT, "gpu_counters": _TEXT, "sample_hz": _NUMBER,
}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def check(settings, where="config", lines=None):
    """Returns the settings unchanged, or raises ConfigError."""
    lines = lines or {}
    if not isinstance(settings, dict):
        raise ConfigError("%s: 'profiling' must hold keys, not %r" % (where, settings))
    for key, value in settings.items():
        place = "%s:%d" % (where, lines[key]) if key in lines else where
        if key not in KEYS:
            import difflib
            near = difflib.get_close_matches(str(key), KEYS, 1)
            raise ConfigError("%s: unknown key '%s'%s" % (place, key, "; did you mean '%s'?" % near[0] if near else ""))
        wrong = _wrong(KEYS[key], value)
        if wrong:
            raise ConfigError("%s: %s must be %s, not %r" % (place, key, wrong, value))
    return settings


def _wrong(kind, value):
    """What the value should have been; None: it is right."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is None and kind in (_TEXT, _NUMBER):
        return None
    if kind == _SWITCH:  # a flag, or a file's name
        return None if value is None or isinstance(value, (bool, str, os.PathLike)) else "true, false or a file's name"
    if kind == _FLAG:
        return None if isinstance(value, bool) else "true or false"
    if kind == _INTERVAL:
        return None if number and 0 < value <= 86400 else "seconds above 0"
    if kind == _COUNT:
        return None if isinstance(value, int) and number and value > 0 else "a whole number above 0"
    if kind == _BYTES:
        return None if parse_bytes(value) is not None else "a size such as 268435456 or '256 MiB'"
    if kind == _NUMBER:
        return None if number and value >= 0 else "a number, 0 or none"
    if kind == _FORMAT:
        return None if value in ("html", "json", "both") else "html, json or both"
    if kind == _TAGS:
        return None if isinstance(value, dict) else "keys with values"
    if kind == _STAGES:
        return None if isinstance(value, (list, dict)) else "a list of 'pkg.mod:Class.method=4c name'"
    return None if isinstance(value, (str, os.PathLike)) else "text"


def parse_bytes(value):
    """268435456, "256 MiB", "1g" -> bytes; None: no size."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value > 0 else None
    if not isinstance(value, str):
        return None
    text = value.strip().lower().replace(" ", "")
    digits = text.rstrip("ibkmg")
    unit = text[len(digits):].replace("i", "").replace("b", "")
    try:
        return int(float(digits) * _UNITS[unit]) or None
    except (ValueError, KeyError):
        return None


def read(path):
    """Settings from a YAML file, checked."""
    try:
        import yaml
    except ImportError:
        raise ConfigError("%s: this build reads YAML with PyYAML, which is not installed (pip install pyyaml)" % path)
    try:
        with open(path) as file:
            root = yaml.compose(file, yaml.SafeLoader)
            lines = _lines(root, yaml)
            file.seek(0)
            tree = yaml.safe_load(file)
    except OSError as error:
        raise ConfigError("%s: %s" % (path, error.strerror))
    except yaml.composer.ComposerError as error:
        if "another document" in str(error.problem):
            error.problem = "a second document begins here; the settings are one document"
        raise ConfigError("%s:%s: %s" % (path, error.problem_mark.line + 1, error.problem))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ConfigError("%s:%s: %s" % (path, mark.line + 1 if mark else 1, getattr(error, "problem", error)))
    if not isinstance(tree, dict) or "profiling" not in tree:
        raise ConfigError("%s:1: the root key must be 'profiling:'" % path)
    return check(tree["profiling"] or {}, str(path), lines)


def _lines(root, yaml):
    """Key -> line, of the mapping under profiling:; duplicates are errors."""
    lines = {}
    if not isinstance(root, yaml.MappingNode):
        return lines
    for name, body in root.value:
        if name.value != "profiling" or not isinstance(body, yaml.MappingNode):
            continue
        for key, _ in body.value:
            if key.value in lines:
                raise ConfigError("%s:%d: '%s' is given twice" % (key.start_mark.name, key.start_mark.line + 1, key.value))
            lines[key.value] = key.start_mark.line + 1
    return lines


def to_environment(settings):
    """STROBE_<KEY> for everything the C library reads from there."""
    result = {}
    for key, value in settings.items():
        if key in ("session_tags", "stages", "preset", "enabled", "thresholds") or value is None and key != "sample_hz":
            continue
        if KEYS[key] == _FLAG:
            value = "1" if value else "0"
        elif value is None:
            value = "none"
        elif KEYS[key] == _BYTES:
            value = parse_bytes(value)
        elif KEYS[key] == _COUNT:
            value = max(value, 16)  # the monitors' least
        result["STROBE_" + key.upper()] = str(value)
    return result
