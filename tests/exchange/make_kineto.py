#!/usr/bin/env python3
"""Writes a Kineto trace as torch.profiler would for a small diffusion transformer: every number from a seed.

usage: make_kineto.py OUT [--steps N] [--blocks N] [--seed N] [--rank N] [--shuffle] [--megabytes N]
OUT ending in .gz is compressed. --megabytes repeats steps until the file is that large.
"""
import argparse
import gzip
import random

KERNELS = [
    ("aten::linear", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", 21.0),
    ("aten::layer_norm", "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)", 3.1),
    ("aten::scaled_dot_product_attention", "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, false, false, false, true, true, false, false>(Flash_fwd_params)", 14.5),
    ("aten::add", "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)", 1.9),
    ("aten::gelu", "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul> >", 2.4),
    ("aten::mul", "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16> > >", 1.7),
]
COPIES = [("HtoD", "Pageable", "Device"), ("HtoD", "Pinned", "Device"), ("DtoH", "Device", "Pageable"), ("DtoD", "Device", "Device")]


class Writer:
    def __init__(self, out, shuffle, rng):
        self.out, self.shuffle, self.rng = out, shuffle, rng
        self.held, self.first, self.bytes = [], True, 0

    def event(self, text):
        if self.shuffle:
            self.held.append(text)
            self.bytes += len(text)
            return
        self.put(text)

    def put(self, text):
        text = ("  {\n    " if self.first else ",\n  {\n    ") + text + "\n  }"
        self.first = False
        self.bytes += len(text)
        self.out.write(text)

    def flush(self):
        self.rng.shuffle(self.held)
        for text in self.held:
            self.put(text)
        self.held = []


class Trace:
    def __init__(self, writer, rng, pid):
        self.w, self.rng, self.pid = writer, rng, pid
        self.cpu_us, self.gpu_us = 1000.0, 1000.0
        self.correlation = self.external = 0

    def x(self, cat, name, pid, tid, ts, dur, args):
        pid, tid = (f'"{v}"' if isinstance(v, str) else v for v in (pid, tid))
        self.w.event(f'"ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid},\n'
                     f'    "ts": {ts:.3f}, "dur": {dur:.3f},\n    "args": {{\n      {args}\n    }}')

    def flow(self, phase, pid, tid, ts, more=""):
        self.w.event(f'"ph": "{phase}", "id": {self.correlation}, "pid": {pid}, "tid": {tid}, "ts": {ts:.3f},\n'
                     f'    "cat": "ac2g", "name": "ac2g"{more}')

    def launch(self, call, cat, name, dur, args):
        self.correlation += 1
        at = self.cpu_us
        self.x("cuda_runtime", call, self.pid, self.pid, at, 3.4,
               f'"External id": {self.external},"cbid": 211, "correlation": {self.correlation}')
        self.flow("s", self.pid, self.pid, at)
        start = max(self.gpu_us, at + 2.5)
        self.gpu_us = start + dur + 0.3
        self.x(cat, name, 0, 7, start, dur, f'"External id": {self.external},{args}"device": 0, "context": 1,\n'
               f'      "stream": 7, "correlation": {self.correlation}')
        self.flow("f", 0, 7, start, ', "bp": "e"')
        self.cpu_us += 5

    def op(self, op, kernel, mean):
        self.external += 1
        begin = self.cpu_us
        self.cpu_us += 2.125
        dur = round(max(0.5, self.rng.gauss(mean, mean / 10)), 3)
        self.launch("cudaLaunchKernel", "kernel", kernel, dur,
                    '"queued": 0,"registers per thread": 32,\n      "shared memory": 1024,\n'
                    '      "blocks per SM": 0.242424,\n      "warps per SM": 0.969697,\n'
                    '      "grid": [32, 1, 1],\n      "block": [128, 1, 1],\n      "est. achieved occupancy %": 2,\n      ')
        self.cpu_us += 1.5
        self.x("cpu_op", op, self.pid, self.pid, begin, self.cpu_us - begin,
               f'"External id": {self.external},"Record function id": 0, "Sequence number": {self.external}, '
               '"Input Dims": [[1, 256, 1024], [1024, 1024], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"], '
               f'"Ev Idx": {self.external}')
        self.cpu_us += 0.75

    def copy(self, kind, source, target):
        self.external += 1
        size = self.rng.choice([4096, 1 << 20, 64 << 20])
        dur = round(1.5 + size / (12e3 if "Pageable" in (source, target) else 50e3), 3)
        self.launch("cudaMemcpyAsync", "gpu_memcpy", f"Memcpy {kind} ({source} -> {target})", dur,
                    f'"bytes": {size}, "memory bandwidth (GB/s)": {size / dur / 1e3:.6f},\n      ')

    def step(self, number, blocks):
        begin, gpu_begin = self.cpu_us, max(self.gpu_us, self.cpu_us)
        self.cpu_us += 4
        if number % 4 == 0:
            self.copy(*self.rng.choice(COPIES))
        for _ in range(blocks):
            begin_block = self.cpu_us
            self.cpu_us += 1
            for op, kernel, mean in KERNELS:
                self.op(op, kernel, mean)
            self.x("user_annotation", "dit_block", self.pid, self.pid, begin_block, self.cpu_us - begin_block,
                   f'"External id": {self.external}')
            self.cpu_us += 1
        self.external += 1
        self.launch("cudaMemsetAsync", "gpu_memset", "Memset (Device)", 0.992, '"bytes": 2048, "memory bandwidth (GB/s)": 2.064516,\n      ')
        self.cpu_us += 3
        self.x("user_annotation", f"ProfilerStep#{number}", self.pid, self.pid, begin, self.cpu_us - begin, f'"External id": {self.external}')
        self.x("gpu_user_annotation", f"ProfilerStep#{number}", 0, 7, gpu_begin, self.gpu_us - gpu_begin, '"External id": 1')
        if self.rng.random() < 0.5:
            self.cpu_us = max(self.cpu_us, self.gpu_us) + 20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--megabytes", type=float, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    opener = gzip.open if args.out.endswith(".gz") else open
    with opener(args.out, "wt") as out:
        out.write('{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {\n      "id": 0, "name": "NVIDIA H200", '
                  '"totalGlobalMem": 150110011392,\n      "computeMajor": 9, "computeMinor": 0, "numSms": 132\n    }\n  ],\n'
                  f'  "distributedInfo": {{"backend": "nccl", "rank": {args.rank}, "world_size": 8}},\n'
                  '  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": 1762000000000000000,\n  "traceEvents": [\n')
        writer = Writer(out, args.shuffle, rng)
        trace = Trace(writer, rng, 4242)
        number = 0
        while number < args.steps or writer.bytes < args.megabytes * 1e6:
            trace.step(number, args.blocks)
            number += 1
        writer.flush()
        for pid, name in ((4242, "python"), (0, "python")):
            writer.put(f'"name": "process_name", "ph": "M", "ts": 1000.000, "pid": {pid}, "tid": 0,\n    "args": {{ "name": "{name}" }}')
        writer.put('"name": "thread_name", "ph": "M", "ts": 1000.000, "pid": 4242, "tid": 4242,\n    "args": { "name": "thread 4242 (python)" }')
        end = max(trace.cpu_us, trace.gpu_us)
        trace.x("Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", 1000.0, end - 1000.0, '"Op count": 0')
        writer.flush()
        writer.put(f'"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": {end:.3f}')
        out.write('\n  ],\n  "traceName": "trace.json"\n}\n')


main()
