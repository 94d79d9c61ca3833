"""InferixProfiler: sessions with stages, events, steps, blocks, streaming, cache.
Each call also goes into the strobe recording, which has the monitors, the GPU
times and the full report; what is kept here is for this API's own JSON."""
import atexit
import collections
import contextlib
import functools
import inspect
import math
import threading
import time
import uuid
import warnings
import weakref

from .. import _display, _faults, _record, _session
from .._core import native, section
from . import session_report
from .batches import Batches
from .config import ProfilingConfig
from .diffusion import DiffusionAnalyzer
from .metrics import Moment
from .tally import Covering, Tallies

_current = None  # the process-wide profiler
_profilers = weakref.WeakSet()


@atexit.register
def _at_exit():
    """What was recorded outside any session still gets its report."""
    for profiler in list(_profilers):
        profiler.cleanup()


def current_profiler():
    return _current


def session_id():
    return "session_%s_%d" % (uuid.uuid4().hex[:8], time.time())


class Session:
    """What one session has seen. Stages from before its start are in it too."""

    def __init__(self, config):
        self.config = config
        self.id = None
        self.tags = {}
        self.created = time.perf_counter()
        self.first = None  # when the recording saw the first of it
        self.start_time = self.end_time = None
        self.begin = self.end = None
        self.marks = {"begin": self.created}  # when the latest step and block outside every stage ended
        self.stages = Tallies(Covering)
        self.parents = {}  # stage -> the stage around its first call
        self.loop_parents = {}  # the same for steps and blocks, by their part of the report
        self.events = collections.deque(maxlen=config.max_data_points)
        self.event_count = 0
        self.diffusion = DiffusionAnalyzer(config)
        self.batches = Batches()
        self.streaming = Tallies()
        self.generations_s = 0.0  # where they are marked
        self.dropped = 0
        self.layers = Tallies()
        self.cache = {"hits": 0, "misses": 0, "evictions": 0}
        self.cache_size = None
        self.memory = {"allocations": 0, "frees": 0, "allocated_bytes": 0, "freed_bytes": 0}

    @property
    def duration_s(self):
        if self.begin is None:
            return 0.0
        return (self.end if self.end is not None else time.perf_counter()) - self.begin

    @property
    def wall_s(self):
        """Since the first record, which may be a stage before the session's start. The wait for that record does not count."""
        return (self.end if self.end is not None else time.perf_counter()) - (self.first or self.begin or self.created)

    @property
    def saw_anything(self):
        return bool(len(self.stages) or self.event_count or self.diffusion.get_analysis() or self.batches.count
                    or self.dropped or len(self.layers) or any(self.cache.values()) or any(self.memory.values()))

    def summary(self):
        moment = Moment()
        result = {"cpu": moment.cpu()}
        gpu = moment.gpu()
        if gpu:
            result["gpu"] = gpu
        return result


def _quiet(method):
    """A fault in here costs one counted error, never the pipeline."""
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        if not self.enabled:
            return None
        try:
            self.record_outside()
            return method(self, *args, **kwargs)
        except Exception:
            self.error_count += 1
            _faults.count("in InferixProfiler.%s" % method.__name__)
            return None
    return call


def host_number(value, unknown):
    """A float, unless reading it would mean waiting for a GPU."""
    if not getattr(value, "is_cpu", True):
        return unknown
    return float(value)


def record_batch(batch_size=1, encoding_time_ms=None, network_latency_ms=None, buffer_occupancy=None):
    """Into strobe alone; an occupancy above 1 is a percentage."""
    if buffer_occupancy is not None and buffer_occupancy > 1:
        buffer_occupancy = buffer_occupancy / 100.0
    _record.streaming(batch_size, encode_ms=encoding_time_ms, network_ms=network_latency_ms,
                      buffer_ratio=buffer_occupancy)


class InferixProfiler:
    def __init__(self, config=None):
        global _current
        if isinstance(config, dict):
            config = ProfilingConfig.from_dict(config)
        self.config = config or ProfilingConfig(enabled=True)
        self.enabled = self.config.enabled
        self.error_count = 0
        self.reports = []
        self._lock = threading.RLock()
        self._session = Session(self.config)
        self._owns_recording = False
        self._displayed = None  # the session for which `strobe run` was asked for the live display
        self._moment = Moment()
        self._layer_begins = {}
        self._inside = threading.local()
        if self.enabled:
            _current = self
            _profilers.add(self)

    # ---- sessions ----

    @property
    def session_id(self):
        return self._session.id

    @property
    def in_session(self):
        return self._session.begin is not None

    def start_session(self, session_id=None, tags=None):
        """Opens a session; one that is open is ended first, with a warning."""
        if not self.enabled:
            return None
        if self.in_session:
            warnings.warn("session '%s' is still open: it ends here" % self._session.id, RuntimeWarning, stacklevel=2)
            self.end_session()
        with self._lock:
            s = self._session
            s.id = str(session_id) if session_id is not None else globals()["session_id"]()
            s.tags = dict(self.config.session_tags or {}, **(tags or {}))
            self._record()
            s.start_time, s.begin = time.time(), time.perf_counter()
            s.marks = {"begin": s.begin}
            native.tag({str(key): value for key, value in dict(s.tags, session_id=s.id).items()})
        return s.id

    def record_outside(self):
        """Steps, blocks and events before a session's start, or after its end, are recorded too."""
        if self.enabled and not self.in_session:
            self._record()

    def _record(self):
        """Opens the strobe recording, unless one is open."""
        if native.recording():
            self._session.first = self._session.first or time.perf_counter()
            self._ask_for_display()
            return
        settings = self.config.to_dict()
        tags = dict(settings.pop("session_tags", None) or {}, **({"session_id": self._session.id} if self._session.id else {}))
        settings["output_dir"] = self.config.folder
        try:
            _session.start(self._session.id or "profiling", config=settings, tags=tags)
        except ValueError as error:
            warnings.warn("strobe records nothing: %s" % error, RuntimeWarning, stacklevel=3)
        self._session.first = self._session.first or time.perf_counter()  # opening it is no part: both reports have one wall time
        self._owns_recording = native.recording()

    def _ask_for_display(self):
        """Of the `strobe run` that has the recording."""
        if self._owns_recording or self._displayed is self._session:
            return
        self._displayed = self._session
        if self.config.real_time_display:
            _display.ask(self.config.display_interval, self._session.id or "profiling")

    def end_session(self):
        """Ends the session and writes its report; returns the report's data."""
        if not self.enabled or not self.in_session:
            return None
        with self._lock:
            s, self._session = self._session, Session(self.config)
            s.end_time, s.end = time.time(), time.perf_counter()
            run_dir = native.run_dir()
            _display.end()
            owned, self._owns_recording = self._owns_recording, False
            if owned:
                _session.stop()
        try:
            report = session_report.build(s, session_report.findings(run_dir) if owned else None)
            if self.config.generate_final_report:
                self.reports = session_report.write(s, self.config, run_dir, report)
            return report
        except Exception as error:
            self.error_count += 1
            warnings.warn("the report of session '%s' could not be written: %s" % (s.id, error), RuntimeWarning,
                          stacklevel=2)
            return None

    @contextlib.contextmanager
    def session(self, session_id=None, tags=None):
        self.start_session(session_id, tags)
        try:
            yield self
        finally:
            self.end_session()

    def cleanup(self):
        """Ends an open session and lets go of everything. What came outside any session gets a report too."""
        global _current
        if self.enabled and not self.in_session and self._session.saw_anything:
            s = self._session
            s.id, s.tags = session_id(), dict(self.config.session_tags or {}, outside_session=True)
            s.begin = s.first or s.created
            s.start_time = time.time() - (time.perf_counter() - s.begin)
        self.end_session()
        if self._owns_recording:
            self._owns_recording = False
            _session.stop()
        if _current is self:
            _current = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.cleanup()
        return None

    # ---- stages ----

    @contextlib.contextmanager
    def stage(self, name, metadata=None):
        """A stage; recorded before a session's start and on exceptions too."""
        if not self.enabled:
            yield
            return
        self._record()
        with self._in_stages(name), section(name, **{str(key): value for key, value in (metadata or {}).items()
                                                     if key not in ("code", "gpu")}):
            yield

    @contextlib.contextmanager
    def generation(self, name):
        """A stage of the session that strobe records as a generation."""
        if not self.enabled:
            yield
            return
        begin = time.perf_counter()
        try:
            with self._in_stages(name), _record.generation(name):
                yield
        finally:
            self._session.generations_s += time.perf_counter() - begin

    @contextlib.contextmanager
    def _in_stages(self, name):
        outer, marks = getattr(self._inside, "name", None), getattr(self._inside, "marks", None)
        begin = time.perf_counter()
        self._inside.name, self._inside.marks = name, {"begin": begin}
        try:
            yield
        finally:
            self._inside.name, self._inside.marks = outer, marks
            with self._lock:
                self._session.stages.add(name, time.perf_counter() - begin)
                if len(self._session.parents) < 4096:
                    self._session.parents.setdefault(name, outer if outer != name else None)

    def _took_ms(self, given_ms, what, *ends):
        """What the caller measured. Without it: the time since the latest of these records in the open stage, or since that
        stage (without one, the session) began."""
        now, marks = time.perf_counter(), getattr(self._inside, "marks", None)
        if marks is None:
            marks = self._session.marks
        since = max(marks.get(end, marks["begin"]) for end in ("begin", what, *ends))
        marks[what] = now
        return float(given_ms) if given_ms else (now - since) * 1e3

    def _say_where(self, analysis):
        """Steps and blocks of the session ran in the stage that is open now."""
        self._session.loop_parents.setdefault(analysis, getattr(self._inside, "name", None))

    def profile_function(self, name=None):
        if callable(name):
            return self.profile_function()(name)

        def decorate(function):
            label = name or "%s.%s" % (function.__module__, function.__name__)
            if inspect.iscoroutinefunction(function):
                @functools.wraps(function)
                async def call(*args, **kwargs):
                    with self.stage(label):
                        return await function(*args, **kwargs)
            else:
                @functools.wraps(function)
                def call(*args, **kwargs):
                    with self.stage(label):
                        return function(*args, **kwargs)
            return call
        return decorate

    # ---- single facts ----

    @_quiet
    def add_event(self, name, data=None):
        data = dict(data or {})
        with self._lock:
            self._session.event_count += 1
            self._session.events.append({"name": name, "timestamp": time.time(), "data": data})
        native.event(name, **{str(key): value for key, value in data.items()})

    @_quiet
    def record_streaming_event(self, batch_size=1, encoding_time_ms=None, network_latency_ms=None,
                               buffer_occupancy=None):
        s = self._session
        s.batches.send(batch_size, encoding_time_ms, network_latency_ms)
        for key, value in (("encoding_time_ms", encoding_time_ms), ("network_latency_ms", network_latency_ms),
                           ("buffer_occupancy", buffer_occupancy)):
            if value is not None:
                s.streaming.add(key, float(value))
        record_batch(batch_size, encoding_time_ms, network_latency_ms, buffer_occupancy)

    @_quiet
    def record_dropped_frames(self, count=1):
        self._session.dropped += int(count)
        native.frames_dropped(int(count))

    @_quiet
    def start_layer_computation(self, layer_name):
        native.zone_begin(layer_name)
        self._layer_begins.setdefault((threading.get_ident(), layer_name), []).append(time.perf_counter())

    @_quiet
    def end_layer_computation(self, layer_name):
        begins = self._layer_begins.get((threading.get_ident(), layer_name))
        if not begins:
            return
        seconds = time.perf_counter() - begins.pop()
        if not begins:
            del self._layer_begins[threading.get_ident(), layer_name]
        native.zone_end(layer_name)
        with self._lock:
            self._session.layers.add(layer_name, seconds)

    @_quiet
    def record_memory_event(self, type="alloc", size=0, allocator="default", context=None):
        freed = str(type).lower() in ("free", "dealloc", "deallocation", "release") or size < 0
        size = abs(int(size))
        m = self._session.memory
        m["frees" if freed else "allocations"] += 1
        m["freed_bytes" if freed else "allocated_bytes"] += size
        native.memory(str(allocator), -size if freed else size, None if context is None else str(context))

    @_quiet
    def record_cache_event(self, event_type, cache_size=None, requested=1, evicted=0):
        kind = str(event_type).lower()
        kind = {"hit": "hits", "miss": "misses", "evict": "evictions", "eviction": "evictions"}.get(kind, kind)
        if kind not in self._session.cache:
            raise ValueError("a cache event is hits, misses or evictions, not %r" % (event_type,))
        count = int((evicted or 1) if kind == "evictions" else (requested or 1))
        self._session.cache[kind] += count
        if cache_size is not None:
            self._session.cache_size = cache_size
        _record.cache("cache", kind, count, size_bytes=cache_size)

    @_quiet
    def record_diffusion_step(self, step=0, timestep=0.0, block_size=1, computation_time_ms=None, guidance_scale=None):
        if not (self.config.profile_diffusion_steps and self.config.profile_inference_steps):
            return
        step, block_size, ms = int(host_number(step, 0)), int(block_size), self._took_ms(computation_time_ms, "step", "block")
        timestep = host_number(timestep, math.nan)
        with self._lock:
            self._session.diffusion.record_diffusion_step(step, timestep, block_size, ms, guidance_scale)
            self._say_where("diffusion_analysis")
        _record.step_record(step, seconds=ms / 1e3, timestep=timestep, block_size=block_size,
                            guidance_scale=guidance_scale)

    @_quiet
    def record_block_computation(self, block_index=0, block_size=1, computation_time_ms=None, memory_usage_mb=None):
        if not self.config.profile_block_computation:
            return
        ms = self._took_ms(computation_time_ms, "block")
        with self._lock:
            self._session.diffusion.record_block_computation(int(block_index), int(block_size), ms, memory_usage_mb)
            self._say_where("block_analysis")
        _record.block_record(block_index, frames=int(block_size), seconds=ms / 1e3,
                             memory_bytes=-1 if memory_usage_mb is None else int(memory_usage_mb * 1048576))

    @_quiet
    def record_model_parameters(self, model_name="unknown_model", parameters_count=0, model_type="unknown"):
        if not self.config.profile_model_parameters:
            return
        with self._lock:
            self._session.diffusion.record_model_parameters(model_name, parameters_count, model_type)
        native.model(str(model_name), int(parameters_count), str(model_type), -1)

    # ---- questions ----

    def get_current_metrics(self):
        """{session_id, timestamp, cpu, gpu?}: this moment."""
        if not self.enabled:
            return {}
        return dict(self._moment.read(), session_id=self._session.id)

    def get_report(self):
        """The open session's report so far."""
        return session_report.build(self._session)


def create_profiler_from_config(config=None):
    """From a ProfilingConfig, a dict or a YAML file's path. Disabled ones cost nothing."""
    if config is None or isinstance(config, (ProfilingConfig, dict)):
        return InferixProfiler(config)
    return InferixProfiler(ProfilingConfig.from_yaml(config))


def get_profiling_summary(profiler=None):
    """Session, stages and rates of a profiler's open session, as a small dict."""
    profiler = profiler or _current
    if profiler is None or not profiler.enabled:
        return {"enabled": False}
    report = profiler.get_report()
    result = {"enabled": True, "session_id": profiler.session_id, "duration": report["session_info"]["duration"],
              "stages": report["stage_analysis"]["stages"], "event_count": profiler._session.event_count}
    for key in ("diffusion_analysis", "block_analysis", "model_analysis"):
        if key in report:
            result[key] = report[key]
    return result
