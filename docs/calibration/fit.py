#!/usr/bin/env python3
"""Fits the kernel constants of devices/kernels/*.json and models/latency/interconnects/*.json on the measured
kernels of WEIR_REFERENCE and prints them with their errors. Analysis only; see README.md beside this file."""
import csv
import os
import sys

import numpy as np
from scipy.optimize import least_squares

REFERENCE = os.environ["WEIR_REFERENCE"]

# Datasheets, as in devices/catalog/*.json: dense 16-bit and 8-bit peaks in flop/s, bytes/s, SMs.
DEVICES = {
    "a100_sxm_80gb": dict(bf16=312e12, bw=2039e9, sms=108),
    "h100_sxm": dict(bf16=989.4e12, fp8=1978.9e12, bw=3352e9, sms=132),
    "l40s": dict(bf16=362.05e12, fp8=733e12, bw=864e9, sms=142),
    "rtx4090": dict(bf16=165.2e12, bw=1008e9, sms=128),
    "rtx_pro_6000": dict(bf16=503.8e12, bw=1792e9, sms=188),
}
PROFILES = {"rtx4090": "rtx4090_llama3.1-8b_tp1", "rtx_pro_6000": "rtx_pro_6000_llama3.1-8b_tp1"}


def load(name):
    with open(os.path.join(REFERENCE, name)) as file:
        rows = list(csv.DictReader(file))
    columns = {}
    for key in rows[0]:
        try:
            columns[key] = np.array([float(row[key]) for row in rows])
        except ValueError:
            columns[key] = np.array([row[key] for row in rows])
    return columns


def fit(model, start, low, high, measured, weights=None):
    """Least absolute log error, softened near zero. Returns the parameters of the best start."""
    best = None
    for first in start:
        found = least_squares(lambda p: np.log(model(p) / measured) * (1 if weights is None else weights), first,
                              bounds=(low, high), loss="soft_l1", f_scale=0.03, max_nfev=4000)
        if best is None or found.cost < best.cost:
            best = found
    return best.x


def error(model, measured):
    e = model / measured - 1
    return "MAPE %.1f %%, bias %+.1f %%, n %d" % (100 * np.mean(np.abs(e)), 100 * np.mean(e), len(e))


# --- GEMM: ((compute)^knee + (traffic)^knee)^(1/knee) + launch ------------------------------------------------


def gemm_time(p, device, peak, m, n, k, weight_bytes, activation_bytes):
    compute_efficiency, memory_efficiency, launch_us, knee, tail = p
    spec = DEVICES[device]
    flops = 2 * k * (m * n + tail * spec["sms"] * 128 * 128)
    traffic = n * k * weight_bytes + m * k * activation_bytes + m * n * 2
    compute = flops / (compute_efficiency * peak)
    memory = traffic / (memory_efficiency * spec["bw"])
    return (compute**knee + memory**knee) ** (1 / knee) + launch_us * 1e-6


GEMM_START = [[0.8, 0.85, 5, 1.5, 0.1], [0.8, 0.85, 3, 4, 0.1]]
GEMM_LOW, GEMM_HIGH = [0.1, 0.1, 0, 1, 0], [1, 1, 20, 20, 1]


VIDUR = {("a100_sxm_80gb", "bf16"): "a100", ("h100_sxm", "bf16"): "h100"}


def vidur_gemms(name):
    d = load("kernels/gemm_%s.csv" % name)
    return (d["num_tokens"], d["N"], d["K"]), d["median_ms"] * 1e-3


def log_token_weights(tokens):
    """Trapezoids over the logarithm of the number of tokens, shared by the GEMMs of that number; sum 1."""
    steps, count = np.unique(tokens, return_counts=True)
    half = np.diff(np.log(steps)) / 2
    weight = (np.append(0, half) + np.append(half, 0)) / count
    weight = weight[np.searchsorted(steps, tokens)]
    return weight / weight.sum()


def gemms():
    print("== GEMM: compute_efficiency, memory_efficiency, launch_us, knee, tail_tiles")
    data = load("kernels/gemm_vllm.csv")
    found = {}
    for device, dtype in [("a100_sxm_80gb", "bf16"), ("h100_sxm", "bf16"), ("l40s", "bf16"), ("l40s", "fp8")]:
        i = (data["device"] == device) & (data["dtype"] == {"bf16": "bfloat16", "fp8": "fp8"}[dtype])
        size = 2 if dtype == "bf16" else 1
        shape = data["tokens"][i], data["out_features"][i], data["in_features"][i]
        t = data["ms"][i] * 1e-3
        peak = DEVICES[device][dtype]
        # A matrix that stays in the L2 cache is measured faster than memory; in a model it never stays there.
        keep = shape[1] * shape[2] * size / t < 1.0 * DEVICES[device]["bw"]
        fitted, times, weights = [x[keep] for x in shape], t[keep], None
        if (device, dtype) in VIDUR:  # measured twice, and not alike: both have equal say
            (older, older_t), say = vidur_gemms(VIDUR[device, dtype]), np.ones(keep.sum()) / keep.sum()
            fitted = [np.append(a, b) for a, b in zip(fitted, older)]
            times, weights = np.append(times, older_t), np.append(say, log_token_weights(older[0]))
            weights = np.sqrt(weights * len(times) / 2)
        p = fit(lambda p: gemm_time(p, device, peak, *fitted, size, size), GEMM_START, GEMM_LOW, GEMM_HIGH, times, weights)
        found[device, dtype] = p
        model = gemm_time(p, device, peak, *shape, size, size)
        print(device, dtype, np.round(p, 3), "gemm_vllm.csv:", error(model, t), "| in memory:",
              error(model[keep], t[keep]), "| tokens <= 256:", error(model[shape[0] <= 256], t[shape[0] <= 256]))
    for (device, dtype), name in VIDUR.items():
        shape, t = vidur_gemms(name)
        peak = DEVICES[device][dtype]
        print("  ", device, "the same on Vidur's gemm_%s.csv:" % name,
              error(gemm_time(found[device, dtype], device, peak, *shape, 2, 2), t))
        p = fit(lambda p: gemm_time(p, device, peak, *shape, 2, 2), GEMM_START, GEMM_LOW, GEMM_HIGH, t)
        print("   ", "refitted on it alone", np.round(p, 3), error(gemm_time(p, device, peak, *shape, 2, 2), t))
    for device, folder in PROFILES.items():
        d, s = load("profiles/%s/dense.csv" % folder), load("profiles/%s/per_sequence.csv" % folder)
        shapes = {"qkv_proj": (4096, 6144), "o_proj": (4096, 4096), "gate_up_proj": (4096, 28672),
                  "down_proj": (14336, 4096)}
        m, k, n, t = [], [], [], []
        for layer, (rows_in, rows_out) in shapes.items():
            i = d["layer"] == layer
            m, t = np.append(m, d["tokens"][i]), np.append(t, d["time_us"][i] * 1e-6)
            k, n = np.append(k, np.full(i.sum(), rows_in)), np.append(n, np.full(i.sum(), rows_out))
        i = s["layer"] == "lm_head"
        m, t = np.append(m, s["sequences"][i]), np.append(t, s["time_us"][i] * 1e-6)
        k, n = np.append(k, np.full(i.sum(), 4096)), np.append(n, np.full(i.sum(), 128256))
        peak = DEVICES[device]["bf16"]
        w = np.where(m <= 64, 2.0, 1.0)  # decode batches are what most steps are
        p = fit(lambda p: gemm_time(p, device, peak, m, n, k, 2, 2), GEMM_START, GEMM_LOW, GEMM_HIGH, t, w)
        model = gemm_time(p, device, peak, m, n, k, 2, 2)
        print(device, "bf16", np.round(p, 3), "profile:", error(model, t), "| tokens <= 64:",
              error(model[m <= 64], t[m <= 64]))
        for layer, (rows_in, rows_out) in list(shapes.items()) + [("lm_head", (4096, 128256))]:
            i = (n == rows_out) & (k == rows_in)
            print("    ", layer, error(model[i], t[i]), "<=64", error(model[i & (m <= 64)], t[i & (m <= 64)]))


# --- Attention -------------------------------------------------------------------------------------------------
# The formulas of models/latency/attention.cpp, for batches of equal requests. Head dimension 128, 16 bits.

HEAD = 128


def decode_time(p, device, n, context, kv_heads, ctas=False, split_waves=0.8, split_tokens=128, bandwidth=1.0):
    memory_efficiency, launch_us, wave_us, overlapped_wave_us, split_us = p[:5]
    spec = DEVICES[device]
    tiles = n * kv_heads
    waves = tiles / spec["sms"]
    bw = memory_efficiency * spec["bw"] * bandwidth
    per_token = tiles * 4 * HEAD / bw
    if ctas:  # one CTA a request and KV head, bandwidth of one alone on its SM and of one of two
        alone, paired = p[5] * 1e9, p[6] * 1e9
        rest = tiles % (2 * spec["sms"])
        slowest = np.where(rest <= spec["sms"], 1 / alone, 1 / paired)
        waved = (tiles - rest) * 4 * HEAD / bw + np.where(rest > 0, np.maximum(rest / bw, slowest), 0) * 4 * HEAD
        per_token = np.where(waves < split_waves, per_token, waved)
    split = split_us * ((context > split_tokens) & (waves < split_waves))
    return (launch_us + split) * 1e-6 + np.maximum(wave_us * waves * 1e-6,
                                                   overlapped_wave_us * waves * 1e-6 + context * per_token)


def prefill_time(p, device, prompts, chunk, context, query_heads, kv_heads, schedule, tile_rows, packed, n=0,
                 decode_context=0, l2=None, memory_efficiency=1.0):
    context_efficiency, causal_efficiency, tile_tokens, launch_us = p[:4]
    padding, wave_share = (p[4], p[5]) if len(p) > 4 else (0, 0)
    spec = DEVICES[device]
    group = query_heads / kv_heads
    heads, pack = (kv_heads, group) if packed else (query_heads, 1)
    tiles = np.ceil(chunk * pack / tile_rows) * heads * prompts + n * heads
    rows = np.ceil(chunk * pack / tile_rows) * tile_rows / pack + padding
    per = 4 * HEAD * query_heads / spec["bf16"]
    work = prompts * per * (rows * context / context_efficiency + (chunk**2 / 2 + tile_tokens * rows) / causal_efficiency)
    work = work + n * per * tile_rows / pack * (decode_context / context_efficiency + tile_tokens / causal_efficiency)
    tile = 4 * HEAD * tile_rows * spec["sms"] / spec["bf16"]
    longest = tile * (np.maximum(context / context_efficiency + chunk / causal_efficiency,
                                 np.where(n > 0, decode_context / context_efficiency, 0)) + tile_tokens / causal_efficiency)
    waves = tiles / spec["sms"]
    time = work
    if schedule == "static":
        time = np.maximum(work * np.maximum(1, np.ceil(waves) / waves), longest)
    if schedule == "separate":  # tiles of 128 rows
        full = chunk * query_heads * prompts / 128 / spec["sms"]
        time = work * (1 + wave_share * np.where(full < 0.5, 0, np.ceil(full) / full - 1))
    if schedule == "persistent":
        time = np.maximum(work, longest)
    if l2 is not None:
        lost = (n * decode_context * 4 * HEAD > l2) & (n * group > 2 * spec["sms"])
        traffic = n * decode_context * kv_heads * 4 * HEAD / (memory_efficiency * spec["bw"]) * np.where(lost, group, 1)
        time = np.maximum(time, traffic)
    return time + launch_us * 1e-6


def attention():
    print("== decode attention: memory_efficiency, launch_us, wave_us, overlapped_wave_us, split_us(, CTA GB/s)")
    a = load("kernels/attention_h100_vllm.csv")
    d = a["phase"] == "decode"
    n, context, kv, t = a["batch"][d], a["step"][d] + 1, a["kv_heads"][d], a["ms"][d] * 1e-3
    size = n * context * kv * 4 * HEAD
    cold, tiny = size > 50e6, context < 256  # the H100's L2 cache holds 50 MB
    use = cold | tiny
    p = fit(lambda p: decode_time(p, "h100_sxm", n[use], context[use], kv[use]), [[0.9, 10, 3.3, 1, 2]],
            [0.1, 0, 0, 0, 0], [1, 30, 20, 20, 9], t[use])
    model = decode_time(p, "h100_sxm", n, context, kv)
    warm = decode_time(p, "h100_sxm", n, context, kv, bandwidth=2.0)
    print("h100_sxm", np.round(p, 3), "all:", error(model, t), "| KV beyond L2:", error(model[cold], t[cold]),
          "| within:", error(model[~cold], t[~cold]), "| within, at twice the bandwidth:", error(warm[~cold], t[~cold]))
    a = load("kernels/attn_decode_a100_h8192_q64_kv8_tp2.csv")
    n, context, t = a["batch_size"], a["kv_cache_size"] + 1, a["ms"] * 1e-3
    for ctas in (False, True):
        p = fit(lambda p: decode_time(p, "a100_sxm_80gb", n, context, 4, ctas),
                [[0.85, 9, 3, 1, 5, 16, 11], [0.85, 9, 3, 3, 9, 16, 11]], [0.1, 0, 0, 0, 0, 5, 5],
                [1, 30, 30, 30, 20, 40, 40], t)
        model = decode_time(p, "a100_sxm_80gb", n, context, 4, ctas)
        print("a100_sxm_80gb", "CTA waves" if ctas else "smooth", np.round(p if ctas else p[:5], 3), error(model, t),
              "| context >= 512:", error(model[context >= 512], t[context >= 512]))
    decode = {}
    for device, folder in PROFILES.items():
        d = load("profiles/%s/attention.csv" % folder)
        s = d["prefill_chunk"] == 0
        n, context, t = d["n_decode"][s], d["kv_decode"][s] + 1, d["time_us"][s] * 1e-6
        p = fit(lambda p: decode_time(p, device, n, context, 8), [[0.9, 9, 3, 1, 5], [0.9, 9, 5, 3, 3]],
                [0.1, 0, 0, 0, 0], [1, 30, 30, 30, 20], t)
        decode[device] = p
        print(device, np.round(p, 3), error(decode_time(p, device, n, context, 8), t))

    print("== prefill attention: context_efficiency, causal_efficiency, tile_tokens, launch_us(, padding_tokens, wave_share)")
    a = load("kernels/attention_h100_vllm.csv")
    d = (a["phase"] == "prefill") & (a["isl"] >= 16)
    b, c, q, kv, t = a["batch"][d], a["isl"][d], a["query_heads"][d], a["kv_heads"][d], a["ms"][d] * 1e-3
    model = lambda p: prefill_time([p[0], *p], "h100_sxm", b, c, 0, q, kv, "persistent", 128, True)
    p = fit(model, [[0.75, 300, 10]], [0.1, 0, 0], [1, 1000, 30], t)
    print("h100_sxm (context as causal)", np.round(p, 3), error(model(p), t), "| chunk >= 1024:",
          error(model(p)[c >= 1024], t[c >= 1024]))
    a = load("kernels/attn_prefill_a100_h8192_q64_kv8_tp2.csv")
    c, k, t = a["prefill_chunk_size"], a["kv_cache_size"], a["ms"] * 1e-3
    model = lambda p: prefill_time(p, "a100_sxm_80gb", 1, c, k, 32, 4, "separate", 1, False)
    p = fit(model, [[0.57, 0.23, 300, 10, 60, 0.3]], [0.1, 0.1, 0, 0, 0, 0], [1, 1, 2000, 30, 200, 1], t)
    print("a100_sxm_80gb", np.round(p, 3), error(model(p), t))
    for device, l2 in [("rtx4090", 72e6), ("rtx_pro_6000", 128e6)]:
        d = load("profiles/%s/attention.csv" % PROFILES[device])
        s = d["n_decode"] == 0
        c, k, t = d["prefill_chunk"][s], d["kv_prefill"][s], d["time_us"][s] * 1e-6
        model = lambda p: prefill_time(p, device, 1, c, k, 32, 8, "static", 64, False)
        p = fit(model, [[0.8, 0.6, 100, 9]], [0.1, 0.1, 0, 0], [1, 1, 2000, 30], t)
        alone = error(model(p), t)
        s = (d["prefill_chunk"] > 0) & (d["n_decode"] > 0)
        c, k, n, length, measured = (d["prefill_chunk"][s], d["kv_prefill"][s], d["n_decode"][s], d["kv_decode"][s] + 1,
                                     d["time_us"][s] * 1e-6)
        mixed = prefill_time(p, device, 1, c, k, 32, 8, "static", 64, False, n, length, l2, decode[device][0])
        usual = (k <= 4096) & (length <= 4096) & (c >= 128) & (n >= 4)
        print(device, np.round(p, 3), alone, "| mixed with decodes, not fitted:", error(mixed, measured),
              "| chunk >= 128, decodes >= 4, contexts <= 4096:", error(mixed[usual], measured[usual]))


# --- Elementwise: launch + bytes in cache / cached + bytes beyond / memory ------------------------------------


def elementwise():
    print("== elementwise: cached_efficiency, memory_efficiency, cache_mb, launch_us by layer")
    sizes = {"layernorm": 32768, "final_layernorm": 32768, "rotary_emb": 20480, "act_fn": 86016, "embedding": 16384,
             "sampler": 128256 * 10}
    for device, folder in PROFILES.items():
        d, s = load("profiles/%s/dense.csv" % folder), load("profiles/%s/per_sequence.csv" % folder)
        layer, traffic, t = [], [], []
        for index, (name, size) in enumerate(sizes.items()):
            table, rows = (s, "sequences") if name == "sampler" else (d, "tokens")
            i = table["layer"] == name
            layer += [index] * i.sum()
            traffic, t = np.append(traffic, table[rows][i] * size), np.append(t, table["time_us"][i] * 1e-6)
        layer, bw = np.array(layer), DEVICES[device]["bw"]

        def model(p):
            launch = np.array([p[3]] * 5 + [p[4]])[layer] * 1e-6
            cache = p[2] * 1e6
            return launch + np.minimum(traffic, cache) / (p[0] * bw) + np.maximum(0, traffic - cache) / (p[1] * bw)

        p = fit(model, [[2.5, 0.9, 70, 2.3, 24]], [0.5, 0.2, 1, 0, 0], [8, 1, 400, 6, 60], t)
        print(device, np.round(p, 2), error(model(p), t))
        for index, name in enumerate(sizes):
            print("    ", name, error(model(p)[layer == index], t[layer == index]))
    e = load("kernels/elementwise_a100.csv")
    bw = DEVICES["a100_sxm_80gb"]["bw"]
    for op in sorted(set(e["op"])):
        i = e["op"] == op
        t, size = e["median_ms"][i] * 1e-3, e["bytes"][i]
        p = fit(lambda p: p[1] * 1e-6 + size / (p[0] * bw), [[0.5, 2]], [0.01, 0], [2, 20], t)
        print("a100_sxm_80gb", op, "efficiency, launch_us", np.round(p, 3), error(p[1] * 1e-6 + size / (p[0] * bw), t))
    key = lambda i: (e["model"][i], e["tp"][i], e["num_tokens"][i])
    adds = {key(i): i for i in np.where(e["op"] == "add")[0]}
    pairs = [(adds[key(i)], i) for i in np.where(e["op"] == "input_layernorm")[0] if key(i) in adds]
    t = np.array([e["median_ms"][a] + e["median_ms"][b] for a, b in pairs]) * 1e-3
    # bytes of an add are three hidden states: a fused add and norm moves four
    size = np.array([e["bytes"][a] * 4 / 3 for a, b in pairs])
    p = fit(lambda p: p[1] * 1e-6 + size / (p[0] * bw), [[0.5, 2]], [0.01, 0], [2, 20], t)
    print("a100_sxm_80gb add + layernorm as one of four hidden states", np.round(p, 3),
          error(p[1] * 1e-6 + size / (p[0] * bw), t))


# --- Collectives: the fastest of a library's protocols, each alpha + bytes / bandwidth ---------------------------


def lines(p):
    half = len(p) // 2
    return np.exp(p[:half]), np.exp(p[half:])


def collective_time(p, size):
    alpha, slope = lines(p)
    return np.min(alpha[:, None] + size[None, :] * slope[:, None], axis=0)


def fit_lines(size, t, count):
    best = None
    rng = np.random.default_rng(1)
    for _ in range(60):
        cuts = np.sort(rng.uniform(np.log(size.min()), np.log(size.max()), count))
        alpha = np.interp(np.exp(cuts), size, t) * rng.uniform(0.4, 1, count)
        slope = np.interp(np.exp(cuts), size, t) / np.exp(cuts) * rng.uniform(0.3, 1, count)
        found = least_squares(lambda p: np.log(collective_time(p, size) / t), np.log(np.concatenate([alpha, slope])),
                              loss="soft_l1", f_scale=0.03)
        if best is None or found.cost < best.cost:
            best = found
    alpha, slope = lines(best.x)
    used = sorted(set(np.argmin(alpha[:, None] + size[None, :] * slope[:, None], axis=0)), key=lambda i: alpha[i])
    order = np.array(used)
    return alpha[order], slope[order], collective_time(best.x, size)


def collectives():
    print("== collectives: time = min over lines of alpha_us + bytes / gb_per_s")
    c = load("kernels/collectives.csv")
    for link in ["a100_sxm", "h100_sxm", "l40s_pcie4", "rtx_pro_6000_pcie5"]:
        for operation in ["all_reduce", "all_gather", "reduce_scatter", "alltoall"]:
            for devices in (2, 4, 8):
                i = (c["link"] == link) & (c["library"] == "nccl") & (c["operation"] == operation) & (c["devices"] == devices)
                size, t = c["bytes"][i], c["ms"][i] * 1e-3
                order = np.argsort(size, kind="stable")
                size, t = size[order], t[order]
                alpha, slope, model = fit_lines(size, t, 3 if "sxm" in link else 2)
                print('%s nccl %s {"devices": %d, "alpha_us": [%s], "gb_per_s": [%s]}  %s | <= 1 MB: %s' % (
                    link, operation, devices, ", ".join("%.2f" % (a * 1e6) for a in alpha),
                    ", ".join("%.3g" % (1e-9 / s) for s in slope), error(model, t), error(model[size <= 2**20], t[size <= 2**20])))
    # vLLM: below these sizes its own kernels, one-shot then two-shot, NCCL above (custom_all_reduce.py).
    limits = {("h100_sxm", 2): (8, 8), ("h100_sxm", 4): (0.5, 16), ("h100_sxm", 8): (0.25, 64), ("a100_sxm", 2): (8, 8),
              ("a100_sxm", 4): (0.5, 8), ("a100_sxm", 8): (0.25, 8), ("l40s_pcie4", 2): (2, 2)}
    for (link, devices), (one, two) in limits.items():
        i = (c["link"] == link) & (c["library"] == "vllm_one_shot") & (c["devices"] == devices) & (c["bytes"] != 4096)
        size, t = c["bytes"][i], c["ms"][i] * 1e-3
        for name, low, high in [("one_shot", 0, one), ("two_shot", one, two)]:
            s = (size >= low * 2**20) & (size < high * 2**20)
            if s.sum() < 2:
                continue
            model = lambda p: p[0] * 1e-6 + size[s] / (p[1] * 1e9)
            p = fit(model, [[5, 100]], [1, 1], [30, 1000], t[s])
            print('%s %s {"devices": %d, "alpha_us": %.2f, "gb_per_s": %.1f, "below_mib": %g}  %s' % (
                link, name, devices, p[0], p[1], high, error(model(p), t[s])))
    r = load("kernels/send_recv.csv")
    for cluster in ["a100_dgx", "h100_dgx", "a40_pairwise_nvlink"]:
        i = (r["cluster"] == cluster) & (r["devices_per_node"] == 2)
        size, t = r["bytes"][i], r["median_ms"][i] * 1e-3
        model = lambda p: p[0] * 1e-6 + size / (p[1] * 1e9)
        p = fit(model, [[10, 200]], [1, 1], [100, 1000], t)
        print("send_recv", cluster, np.round(p, 1), error(model(p), t))


if __name__ == "__main__":
    parts = {"gemm": gemms, "attention": attention, "elementwise": elementwise, "collectives": collectives}
    for part in sys.argv[1:] or parts:
        parts[part]()
