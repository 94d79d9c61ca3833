"""Where weights lie that are offloaded: a real Wan pipeline with random weights, whose own tensors say it before and after each
move, beside what the report names at each stage's begin, peak and end."""
import gc
import time

import prove_real
from proving import left_out, recorded, report, row

MB = 1 << 20
MODELS = "text_encoder", "transformer", "vae"
CLOSE_S = 0.05  # around a move either side is right: the clocks of the two logs are laid on each other by a call's begin
HOST = None
FAST = {"gpu_monitor_interval": 0.1, "cpu_monitor_interval": 0.1}


def lying(model):
    """Bytes of a model by place: a GPU's number, or HOST."""
    found = {}
    for tensor in {id(one): one for one in [*model.parameters(), *model.buffers()]}.values():
        place = tensor.device.index if tensor.device.type == "cuda" else HOST
        found[place] = found.get(place, 0) + tensor.numel() * tensor.element_size()
    return found


class Truth:
    """By the tensors themselves, where torch exchanges them: (begin, end, name, before, after) of every move of a model."""

    def __init__(self, torch, pipeline):
        self.models = {name: getattr(pipeline, name) for name in MODELS}
        self.moves = []
        self.first = {name: lying(model) for name, model in self.models.items()}
        apply, names = torch.nn.Module._apply, {id(model): name for name, model in self.models.items()}

        def watched(module, *args, **kwargs):
            name = names.get(id(module))
            if name is None:
                return apply(module, *args, **kwargs)
            before, begin_s = lying(module), time.monotonic()
            result = apply(module, *args, **kwargs)
            self.moves.append((begin_s, time.monotonic(), name, before, lying(module)))
            return result
        torch.nn.Module._apply = watched
        self.forget = lambda: setattr(torch.nn.Module, "_apply", apply)

    def around(self, name, t_s):
        """The places where a model lay about then, each a dict of bytes; None: it was on its way."""
        at, found = self.first[name], []
        for begin_s, end_s, moved, before, after in self.moves:
            if moved != name or before == after:
                continue
            if begin_s - CLOSE_S <= t_s <= end_s + CLOSE_S:
                found += [None, before, after]
            at = after if end_s < t_s else at
        return found or [at]


def generate(pipeline, steps, **size):
    """Two videos; when each began, by the clock of Truth."""
    began, check = [], pipeline.check_inputs

    def checked(*args, **kwargs):  # the first thing that a call does
        began.append(time.monotonic())
        return check(*args, **kwargs)
    pipeline.check_inputs = checked
    for _ in range(2):
        pipeline(prompt="w1 w2", negative_prompt="w3", max_sequence_length=16, num_inference_steps=steps, output_type="np",
                 **{"height": 480, "width": 832, "num_frames": 17, **size})
    return began


def made(torch, tiny):
    large = dict(prove_real.LARGE, text_dim=2048)
    pipeline = tiny.wan(transformer=tiny.wan_transformer(**large), text_encoder=tiny.umt5(d_model=2048, d_ff=8192, d_kv=64, num_heads=32, num_layers=12),
                        vae=tiny.wan_vae(base_dim=32)).to("cpu", torch.bfloat16)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def named(moment, name):
    """MB of a model's weights among the parts of a moment."""
    return sum(part["bytes"] for part in moment["parts"] if part["component"] == "weights of " + name) / MB


def is_right(seen, places, place):
    """Whether a row agrees with one of the places where a model can have lain."""
    return any(at is None or abs(seen - at.get(place, 0) / MB) <= max(1, 0.02 * at.get(place, 0) / MB) for at in places)


def show_rests(what, moments):
    worst = max(moments, key=lambda m: abs(m["rest_bytes"]) / max(64 * MB, 0.02 * m["total_bytes"]))
    rest, total = abs(worst["rest_bytes"]), worst["total_bytes"]
    row("%s: largest unnamed rest, of %d moments" % (what, len(moments)), "%.0f MB, %.1f %% (%s, %s)" %
        (rest / MB, 100 * rest / total, worst["stage"], worst["at"]), "<= 2 % or 64 MB", rest <= max(64 * MB, 0.02 * total))


def model_offload(torch, tiny):
    pipeline = made(torch, tiny)
    pipeline.enable_model_cpu_offload()
    truth = Truth(torch, pipeline)
    with recorded("offloaded", FAST) as run:
        began = generate(pipeline, 4)
    truth.forget()
    seen = report(run.folder)
    residency = seen["residency"]
    chosen = residency["generation_index"] - 1
    offset_s = began[chosen] - seen["generations"]["items"][chosen]["start_s"]
    wrong, checked, on_gpu = [], 0, set()
    for moment in residency["moments"]:
        place = moment.get("device_index", HOST)
        for name in MODELS:
            mb, places = named(moment, name), truth.around(name, moment["t_s"] + offset_s)
            checked += 1
            on_gpu |= {name} if place is not HOST and mb > 0 else set()
            if not is_right(mb, places, place):
                wrong.append("%s %s: %s %.0f MB %s" % (moment["stage"], moment["at"], name, mb, "host" if place is HOST else "GPU"))
    row("model offload: models on the side where their tensors lay, at begin, peak, end", "%d of %d" % (checked - len(wrong), checked),
        "all", checked >= 18 and not wrong)
    for line in wrong[:6]:
        row("  wrong: " + line, "")
    row("model offload: models named on the GPU at some moment", ", ".join(sorted(on_gpu)), ", ".join(sorted(MODELS)), on_gpu == set(MODELS))
    show_rests("model offload", residency["moments"])
    row("model offload: left out", ", ".join(residency.get("unplaced", [])) or "none", "none", not residency.get("unplaced"))


def of_denoise(moments, name):
    """MB of a model's weights at the moments of denoising: on the host, on the GPU."""
    denoise = [moment for moment in moments if moment["stage"] == "denoise"]
    return ([named(moment, name) for moment in denoise if "device_index" not in moment],
            [named(moment, name) for moment in denoise if "device_index" in moment])


def show_context(what, moments):
    """CUDA's context and libraries do not grow and shrink with the parts that come and go. When decoding begins, some are loaded."""
    found = [part["bytes"] / MB for moment in moments if moment["stage"] == "vae_decode" and moment["at"] != "begin"
             for part in moment["parts"] if part["component"] == "CUDA context and libraries"]
    row("%s: CUDA context and libraries in the decoder" % what, ", ".join("%.0f MB" % mb for mb in found), "within 64 MB",
        bool(found) and max(found) - min(found) <= 64)


def in_parts(torch, tiny, what, offload):
    """Modules that are brought one by one: what is resident adds up all the same."""
    pipeline = made(torch, tiny)
    whole = lying(pipeline.transformer)[HOST] / MB
    offload(pipeline)
    with recorded(what.split()[0], FAST) as run:
        generate(pipeline, 2)
    seen = report(run.folder)
    moments = seen["residency"]["moments"]
    host, gpu = of_denoise(moments, "transformer")
    row("%s: the transformer on the host in denoise" % what, ", ".join("%.0f" % mb for mb in host), "%.0f MB +- 2 %%" % whole,
        bool(host) and all(abs(mb - whole) <= 0.02 * whole for mb in host))
    row("%s: of it on the GPU" % what, ", ".join("%.0f" % mb for mb in gpu), "< a tenth", bool(gpu) and max(gpu) < 0.1 * whole)
    show_rests(what, moments)
    show_context(what, moments)


def by_groups(pipeline, torch):
    """Each leaf by itself, copied on a stream of its own: the host keeps its copies."""
    from diffusers.hooks import apply_group_offloading
    for name in MODELS:
        apply_group_offloading(getattr(pipeline, name), onload_device=torch.device("cuda"), offload_device=torch.device("cpu"),
                               offload_type="leaf_level", use_stream=True)


def memory_offloaded():
    """Weights that are offloaded and fetched in a generation, at each moment on the side where they lie."""
    found = prove_real.pipelines("memory offloaded")
    if found is None:
        return
    if not found[0].cuda.is_available():
        left_out("memory offloaded", "no GPU")
        return
    model_offload(*found)
    gc.collect()  # two pipelines at a time would have other names for their models
    in_parts(*found, "sequential offload", lambda pipeline: pipeline.enable_sequential_cpu_offload())
    gc.collect()
    in_parts(*found, "group offload", lambda pipeline: by_groups(pipeline, found[0]))
