#!/usr/bin/env python3
"""Fits kernels of engines' libraries to AIConfigurator's tables in WEIR_REFERENCE/kernels/engines and writes the constants, with the
errors of what was not fitted, into devices/kernels/*.json. Every second shape of weights (of heads) is fitted, the others judge;
older tables of H100 that join a fit are fitted whole.
Analysis only; see README.md beside this file.

    WEIR_REFERENCE=DIR python3 docs/calibration/engines.py [FILE ...]    of devices/kernels, all by default
    WEIR_REFERENCE=DIR python3 docs/calibration/engines.py experts [FILE ...]    experts alone
    WEIR_REFERENCE=DIR python3 docs/calibration/engines.py all_reduce    prints rows of models/latency/interconnects
"""
import csv
import glob
import gzip
import json
import os
import re
import sys

import numpy as np
from scipy.optimize import least_squares

from fit import DEVICES, REFERENCE, error, fit, fit_lines, load, log_token_weights, vidur_gemms

TABLES = os.path.join(REFERENCE, "kernels", "engines")
KERNELS = os.path.join(os.path.dirname(__file__), "..", "..", "devices", "kernels")
GPUS = {  # as devices/catalog/*.json: dense peaks, bytes/s, SMs, L2
    "h100_sxm": dict(DEVICES["h100_sxm"], l2=52.4e6),
    "h200_sxm": dict(DEVICES["h100_sxm"], bw=4800e9, l2=52.4e6),
    "b200_sxm": dict(bf16=2250e12, fp8=4500e12, fp4=9000e12, bw=7672e9, sms=148, l2=132.6e6),
}
HOPPER, BLACKWELL = ("h100_sxm", "h200_sxm"), ("b200_sxm",)
# Of a number type: bytes of a weight and of an activation, whose peak.
TYPES = {
    "bfloat16": (2, 2, "bf16"), "fp8": (1, 1, "fp8"), "fp8_block": (1 + 2**-12, 1 + 2**-12, "fp8"), "nvfp4": (0.5625, 0.5625, "fp4"),
    "int4_wo": (0.5, 2, "bf16"), "w4a16_mxfp4": (0.53125, 2, "bf16"), "w4a8_mxfp4_mxfp8": (0.53125, 1, "fp8"),
}
KINDS = {"16bit": "bfloat16", "8bit": "fp8", "fp8_block": "fp8_block", "fp4": "nvfp4", "4bit_weights": "w4a16_mxfp4",
         "4bit_by_8bit": "w4a8_mxfp4_mxfp8"}
BINS = [1, 9, 17, 33, 65, 129, 257, 1025, 8193]


def rows_of(gpu, family, library, table):
    """Of the newest version."""
    all_ = glob.glob(os.path.join(TABLES, "%s__%s_%s_[0-9]*_%s.csv.gz" % (gpu, family, library, table)))
    newest = sorted(name for name in all_ if "_wideep_" not in name)[-1]
    with gzip.open(newest, "rt") as file:
        return list(csv.DictReader(file))


def fastest(rows, columns):
    """Seconds by what the columns say; the fastest where a shape was measured twice."""
    best = {}
    for row in rows:
        key = tuple(int(row[c]) for c in columns)
        best[key] = min(best.get(key, 1e9), float(row["latency"]) * 1e-3)
    return best


def columns_of(gpus, tables, peak):
    """Columns: those of the tables, then seconds, peak, bandwidth, SMs, L2."""
    found = []
    for gpu, table in zip(gpus, tables):
        g = GPUS[gpu]
        found += [key + (t, g[peak], g["bw"], g["sms"], g["l2"]) for key, t in table.items()]
    return np.array(found, float).T


def every_second(rows):
    return np.unique(rows, axis=1, return_inverse=True)[1] % 2 == 0


def some(rows, most=5000):
    pick = np.random.default_rng(1).permutation(rows.shape[1])[:most]
    return rows[:, np.sort(pick)]


def alike(m, bins):
    """Bins of tokens weigh the same: decodes are what most steps are, prompts what most time goes into."""
    which = np.digitize(m, bins)
    return np.sqrt(len(m) / len(set(which)) / np.bincount(which)[which])


def least(model, t, starts, low, high, weights, scale=0.03):
    best = None
    for start in starts:
        start = np.clip(np.array(start, float), np.array(low) + 1e-12, np.array(high) * 0.999)
        found = least_squares(lambda p: np.log(model(p) / t) * weights, start, bounds=(low, high), loss="soft_l1",
                              f_scale=scale, max_nfev=300)
        if best is None or found.cost < best.cost:
            best = found
    return best.x


def said(model, t, m, bins=BINS):
    e, w = model / t - 1, alike(m, bins) ** 2
    last = m >= 1025
    return "%.1f %% (bias %+.1f) over %d others, %.0f %% up to 64 tokens, %.0f %% from 1025" % (
        100 * np.average(np.abs(e), weights=w), 100 * np.average(e, weights=w), len(m),
        100 * np.mean(np.abs(e[m <= 64])), 100 * np.mean(np.abs(e[last])) if last.any() else np.nan)


def mean_error(model, t, m, bins=BINS):
    return np.average(np.abs(model / t - 1), weights=alike(m, bins) ** 2)


# --- GEMM: models/latency/matrix.cpp ---------------------------------------------------------------------------

STEPS = np.array([16, 32, 64, 96, 128, 192, 256, 512])  # where kernels may change; factor 1 up to the first and beyond the last


def gemm_rows(gpus, library, dtype):
    """Weights of less than a sixth of the L2 stay in it from one run to the next, which no model's do: out, where they count."""
    tables = [fastest([r for r in rows_of(g, "gemm", library, "gemm") if r["gemm_dtype"] == dtype], ("m", "n", "k")) for g in gpus]
    rows = columns_of(gpus, tables, TYPES[dtype][2])
    m, n, k, t, _, bandwidth, _, l2 = rows
    size = n * k * TYPES[dtype][0]
    return rows[:, (m >= 1) & (m <= 8192) & (n * k >= 2**20) & (n * k <= 2**30) & (size / t < bandwidth) & ((m > 256) | (6 * size > l2))]


def gemm_time(p, rows, dtype, steps=None):
    """Seconds; p: compute, memory efficiency, launch in us, knee, tail, quantising bytes."""
    m, n, k, _, peak, bandwidth, sms, _ = rows
    weight, activation, _ = TYPES[dtype]
    compute = 2 * k * (m * n + p[4] * sms * 128 * 128) / (p[0] * peak)
    traffic = (n * k * weight + m * k * activation + m * n * 2) / (p[1] * bandwidth)
    factor = 1 if steps is None else np.append(steps, 1)[np.searchsorted(STEPS, m)]
    return factor * (compute ** p[3] + traffic ** p[3]) ** (1 / p[3]) + p[2] * 1e-6 + p[5] * m * k / bandwidth


def factors(free, logarithms):
    all_ = np.zeros(len(STEPS))
    all_[free] = logarithms
    return np.exp(all_)


def with_steps(fit, error):
    """Constants, steps (None: none) and the error without any. fit(which steps are free[, the least factor]) -> constants, steps; error is of
    the shapes that were not fitted, which decide whether steps stay."""
    smooth, _ = fit(np.zeros(len(STEPS), bool))
    free = np.abs(np.log(fit(STEPS > 16)[1])) > 0.05  # only what costs more than 5 %
    p, steps = fit(free)
    if max(p[0], p[1]) > steps.min():  # no step beats the peak or the bandwidth
        p, steps = fit(free, max(smooth[0], smooth[1]) + 0.02)
    without = error(smooth, None)
    stay = without - error(p, steps) >= 0.005 and max(p[0], p[1]) <= steps.min()
    return (p, steps, without) if stay else (smooth, None, without)


def fit_gemm(rows, dtype, free, lowest=0.6):
    w, quantised = alike(rows[0], BINS), dtype not in ("bfloat16", "int4_wo")
    steps = lambda p: factors(free, p[6:])
    more = int(free.sum())
    low = [0.1, 0.1, 0, 1, 0, 0] + [np.log(lowest)] * more
    high = [1, 1, 60, 20, 4, 20 if quantised else 1e-9] + [0.7] * more
    starts = [[0.8, 0.85, 5, knee, 0.1, 3] + [0.001] * more for knee in (1.5, 4)]
    p = least(lambda p: gemm_time(p[:6], rows, dtype, steps(p)), rows[3], starts, low, high, w)
    return p[:6], steps(p)


def gemm_json(p, steps=None):
    e = {"compute_efficiency": round(p[0], 3), "memory_efficiency": round(p[1], 3), "knee": round(p[3], 3),
         "tail_tiles": round(p[4], 3), "launch_us": round(p[2], 3)}
    if p[5] > 1e-6:
        e["quantising_bytes"] = round(p[5], 2)
    if steps is not None:
        ends = [i for i in range(len(STEPS)) if i + 1 == len(STEPS) or steps[i] != steps[i + 1]]
        e["steps"] = [{"rows": int(STEPS[i]), "factor": round(steps[i], 3)} for i in ends]
        if e["steps"][-1]["factor"] == 1:
            e["steps"].pop()
    return e


def gemm(gpus, library, dtype):
    rows = gemm_rows(gpus, library, dtype)
    fitted = every_second(rows[1:3])
    a, b = some(rows[:, fitted]), rows[:, ~fitted]
    p, steps, without = with_steps(lambda *free: fit_gemm(a, dtype, *free),
                                   lambda p, steps: mean_error(gemm_time(p, b, dtype, steps), b[3], b[0]))
    told = said(gemm_time(p, b, dtype, steps), b[3], b[0])
    return p, steps, told if steps is None else told + ", %.1f %% without steps" % (100 * without)


def gemm_of_vidur_too(gpus, library, share):
    """bf16 of H100: Vidur measured GEMMs too, on another machine; so much of the weight is its."""
    rows = gemm_rows(gpus, library, "bfloat16")
    fitted = every_second(rows[1:3])
    a, b = some(rows[:, fitted]), rows[:, ~fitted]
    shape, t = vidur_gemms("h100")
    g = GPUS["h100_sxm"]
    v = np.array(list(shape) + [t] + [np.full(len(t), x) for x in (g["bf16"], g["bw"], g["sms"], g["l2"])])
    wa, wv = alike(a[0], BINS) ** 2, log_token_weights(v[0])
    w = np.sqrt(np.append((1 - share) * wa / wa.sum(), share * wv) * (a.shape[1] + len(t)))
    both = np.concatenate([a, v], axis=1)
    p = least(lambda p: gemm_time(p, both, "bfloat16"), both[3], [[0.8, 0.85, 5, 1.5, 0.1, 0], [0.8, 0.85, 3, 4, 0.1, 0]],
              [0.1, 0.1, 0, 1, 0, 0], [1, 1, 20, 20, 1, 1e-9], w)
    e = gemm_time(p, v, "bfloat16") / t - 1
    return p, None, said(gemm_time(p, b, "bfloat16"), b[3], b[0]) + "; %.1f %% over log tokens of Vidur's older profile (bias %+.1f)" % (
        100 * np.sum(wv * np.abs(e)), 100 * np.sum(wv * e))


def older_gemms():
    """fp8 of H100 under an older vLLM, which quantised in no kernel of its own there. Weights that the L2 holds are out, where they count."""
    d, g = load("kernels/gemm_vllm.csv"), GPUS["h100_sxm"]
    of = (d["device"] == "h100_sxm") & (d["dtype"] == "fp8")
    m, n, k, t = (d[column][of].astype(float) for column in ("tokens", "out_features", "in_features", "ms"))
    rows = np.array([m, n, k, t * 1e-3] + [np.full(len(t), x) for x in (g["fp8"], g["bw"], g["sms"], g["l2"])])
    return rows[:, (m > 256) | (n * k >= g["l2"])]


def gemm_of_older_too(gpus, library, share):
    """8-bit matrices: the table's with a kernel that quantises, which servers fuse into the one before, the older ones without."""
    rows, old = gemm_rows(gpus, library, "fp8"), older_gemms()
    fitted = every_second(rows[1:3])
    a, b = some(rows[:, fitted]), rows[:, ~fitted]
    wa, wo = alike(a[0], BINS) ** 2, log_token_weights(old[0])
    w = np.sqrt(np.append((1 - share) * wa / wa.sum(), share * wo) * (a.shape[1] + old.shape[1]))

    def quantised(p, rows, steps):  # p: of a GEMM, then us of the launch that quantises
        return gemm_time(p[:6], rows, "fp8", steps) + p[6] * 1e-6

    def alone(p, rows, steps):
        return gemm_time(np.append(p[:5], 0), rows, "fp8", steps)

    def joint(free, lowest=0.6):
        steps, more = lambda p: factors(free, p[7:]), int(free.sum())
        p = least(lambda p: np.append(quantised(p, a, steps(p)), alone(p, old, steps(p))), np.append(a[3], old[3]),
                  [[0.8, 0.85, 5, knee, 0.1, 3, 1] + [0.001] * more for knee in (1.5, 4)],
                  [0.1, 0.1, 0, 1, 0, 0, 0] + [np.log(lowest)] * more, [1, 1, 60, 20, 4, 20, 10] + [0.7] * more, w)
        return p[:7], steps(p)
    p, steps, without = with_steps(joint, lambda p, steps: mean_error(quantised(p, b, steps), b[3], b[0]))
    e = alone(p, old, steps) / old[3] - 1
    return np.append(p[:5], 0), steps, said(quantised(p, b, steps), b[3], b[0]) + (
        ", %.1f %% without steps; with %.2f us and %.1f bytes an element of quantising that is left out here, as in the older table: "
        "%.1f %% over its log tokens, fitted (bias %+.1f)" % (
            100 * without, p[6], p[5], 100 * np.sum(wo * np.abs(e)), 100 * np.sum(wo * e)))


# --- Experts: two grouped GEMMs a layer, what lies between them and after them ---------------------------------------

MOE_BINS = [1, 3, 9, 17, 33, 65, 129, 257, 1025, 4097, 16385]
MOE_COLUMNS = ("num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size")


def moe_rows(gpus, library, dtype, distribution, kernels=""):
    """vLLM's `balanced` rows of DeepSeek's 256 experts are left out: its router takes four of eight groups, and so hits half of them."""
    grouped = library == "vllm" and distribution == "balanced"
    tables = [fastest([r for r in rows_of(g, "moe", library, "moe") if r["moe_dtype"] == dtype and r["distribution"] == distribution
                       and not (grouped and r["num_experts"] == "256" and r["hidden_size"] == "7168") and "nongated" not in r["kernel_source"] and kernels in r["kernel_source"] and r["moe_ep_size"] == "1"
                       and int(r["num_tokens"]) <= 16384], MOE_COLUMNS) for g in gpus]
    return columns_of(gpus, tables, TYPES[dtype][2])


def moe_time(p, rows, dtype, balanced, layer):
    """p as of a GEMM, then empty rows an expert. Balanced tables hit as many experts as there are choices; else chance decides."""
    m, hidden, inter, topk, experts, tp, _, peak, bandwidth, sms, l2 = rows
    weight, activation, _ = TYPES[dtype]
    width, routed = inter / tp, m * topk
    busy = np.minimum(experts, routed) if balanced else experts * (1 - (1 - topk / experts) ** m)
    time = 0
    for i, o in ((hidden, 2 * width), (width, hidden)):
        compute = 2 * i * (o * (routed + busy * p[6]) + p[4] * sms * 128 * 128) / (p[0] * peak)
        traffic = (busy * i * o * weight + routed * (i * activation + o * 2)) / (p[1] * bandwidth)
        time = time + (compute ** p[3] + traffic ** p[3]) ** (1 / p[3]) + p[2] * 1e-6 + p[5] * routed * i / bandwidth
    for size in (topk * 3 * width * 2 * m, (topk + 1) * hidden * 2 * m):  # moe_act, moe_sum of models/llm/moe.cpp
        cached = np.minimum(size, layer["cache_fraction"] * l2)
        time = time + layer["launch"] + cached / layer["cache"] + (size - cached) / (layer["memory"] * bandwidth)
    return time


def experts(gpus, library, dtype, file, kernels=""):
    e = file["elementwise"]
    layer = dict(cache_fraction=e["cache_fraction"], cache=e["cache_gb_per_s"] * 1e9, launch=e["layers"][-1]["launch_us"] * 1e-6,
                 memory=e["layers"][-1]["memory_efficiency"])
    rows = moe_rows(gpus, library, dtype, "power_law_1.01", kernels)
    fitted = every_second(rows[1:6])
    a, b = some(rows[:, fitted], 4000), rows[:, ~fitted]
    high = [1, 1, 100, 20, 4, 30 if TYPES[dtype][1] < 2 else 1e-9, 64]
    p = least(lambda p: moe_time(p, a, dtype, False, layer), a[6], [[0.5, 0.7, 5, 1.5, 0.1, 3, 8], [0.5, 0.8, 5, 4, 0.1, 3, 2]],
              [0.02, 0.1, 0, 1, 0, 0, 0], high, alike(a[0], MOE_BINS), 0.05)
    told = said(moe_time(p, b, dtype, False, layer), b[6], b[0], MOE_BINS)
    shapes = np.unique(rows[1:6], axis=1).shape[1]
    even = moe_rows(gpus, library, dtype, "balanced", kernels)
    if even.size > 0:
        told += "; %s where a router spreads rows evenly, none fitted" % said(moe_time(p, even, dtype, True, layer), even[6], even[0], MOE_BINS)
    return dict(gemm_json(p), empty_rows_per_expert=round(p[6], 2)), "%s; %d shapes" % (told, shapes)


# --- Attention: models/latency/attention.cpp, grid `persistent` ---------------------------------------------------


def attention_rows(gpus, library, phase, bits, head):
    """Of heads that share keys; the Triton kernels of other head sizes are left out."""
    asked = "fp8" if bits == 8 else "bfloat16"
    tables = []
    for g in gpus:
        rows = [r for r in rows_of(g, "attention", library, phase + "_attention")
                if r["window_size"] == "0" and int(r["head_dim"]) == head and r["kv_cache_dtype"] == asked
                and r.get("attn_dtype", asked) == asked and "triton" not in r["kernel_source"]
                and 2 * int(r["num_key_value_heads"]) <= int(r["num_heads"])]
        tables.append(fastest(rows, ("batch_size", "isl" if phase == "context" else "step", "num_heads", "num_key_value_heads")))
    return columns_of(gpus, tables, "bf16")


def prefill_time(p, rows, head):
    b, c, query, kv, _, peak, _, sms, _ = rows
    efficiency, tile_tokens, launch, softmax = p
    padded = np.ceil(c * query / kv / 128) * 128 * kv / query
    work = b * 4 * (head + softmax) * query * (c * c / 2 + tile_tokens * padded) / (efficiency * peak)
    longest = 4 * (head + softmax) * 128 * sms * (c + tile_tokens) / (efficiency * peak)
    return np.maximum(work, longest) + launch * 1e-6


def decode_time(p, rows, size, peak_share):
    b, step, query, kv, _, peak, bandwidth, sms, _ = rows
    memory, launch, wave, overlapped, split, first, most = p
    waves, context = b * kv / sms, step + 1
    per_token = np.maximum(b * 4 * query * 128 / (peak_share * peak), b * kv * 2 * 128 * size / (memory * bandwidth))
    more = split * ((context > 128) & (waves < 0.8))
    reads = context * per_token
    reads = reads + np.minimum(most * 1e-6, first * reads)
    return (launch + more) * 1e-6 + np.maximum(wave * 1e-6 * waves, overlapped * 1e-6 * waves + reads)


def attention(gpus, library, bits):
    parts = [attention_rows(gpus, library, "context", bits, head) for head in (64, 128)]
    parts = [r[:, r[1] >= 16] for r in parts]
    rows, head = np.concatenate(parts, axis=1), np.concatenate([np.full(r.shape[1], h) for r, h in zip(parts, (64, 128))])
    fitted = every_second(rows[2:4])
    p = least(lambda p: prefill_time(p, rows[:, fitted], head[fitted]), rows[4, fitted], [[0.75, 300, 10, 60], [0.95, 100, 10, 70]],
              [0.1, 0, 0, 0], [1, 4000, 60, 200], 1)
    e = lambda i: error(prefill_time(p, rows[:, i], head[i]), rows[4, i])
    told = "%s; of %s, from 1024 tokens a prompt %s" % (e(~fitted), "heads of 128", e(~fitted & (head == 128) & (rows[1] >= 1024)))
    prefill = {"context_efficiency": round(p[0], 3), "causal_efficiency": round(p[0], 3), "tile_rows": 128,
               "tile_tokens": round(p[1], 1), "softmax_elements": round(p[3], 1), "padding_tokens": 0, "packed_heads": True,
               "launch_us": round(p[2], 3)}
    rows, size = attention_rows(gpus, library, "generation", bits, 128), bits / 8
    kv = rows[0] * (rows[1] + 1) * rows[3] * 2 * 128 * size
    cold = kv > rows[8]  # the tables' KV caches stay in the L2 where they fit; a model's other layers replace them
    use = cold | (rows[1] <= 128) | (kv < 0.1 * rows[8])  # where they are small that hardly shows
    fitted = every_second(rows[2:4])
    share = p[0] * 128 / (128 + p[3])
    d = least(lambda d: decode_time(d, rows[:, use & fitted], size, share), rows[4, use & fitted],
              [[0.9, 9, 3, 1, 2, 1, 15], [0.9, 8, 2, 0.5, 1, 0.5, 5]], [0.1, 0, 0, 0, 0, 0, 0], [1, 40, 30, 20, 40, 3, 40], 1)
    e = lambda i: error(decode_time(d, rows[:, i], size, share), rows[4, i])
    decode = {"memory_efficiency": round(d[0], 3), "launch_us": round(d[1], 3), "wave_us": round(d[2], 3),
              "overlapped_wave_us": round(d[3], 3), "split_us": round(d[4], 3), "split_tokens": 128, "split_waves": 0.8,
              "tile_alone_gb_per_s": 0, "tile_paired_gb_per_s": 0, "skew": 0.025, "first_reads": round(d[5], 3),
              "first_reads_most_us": round(d[6], 3)}
    return prefill, decode, told, "%s where KV exceeds L2, %s where it is small" % (e(cold & ~fitted), e(use & ~cold & ~fitted))


# --- Which file has what, and what stands in ------------------------------------------------------------------------

ATTENTION_OF = lambda name: dict({key + end: name for key in ("prefill_attention", "decode_attention") for end in ("", "_8bit_cache")},
                                 elementwise="hopper")
# gemm, experts: the kinds fitted; cache: bits of the KV caches whose attention is. kernels: those of a kind alone,
# where a table mixes two that no law joins. vidur, older: the share of the weight of another table of H100 that is fitted as well.
# taken: what no table of this library holds, or one that measures its host, and whose is taken. unfused: an 8-bit table with a kernel that quantises, which servers fuse into the one before: its
# bytes are left out, and of its launch what is beyond so many us over bf16's.
FILES = {
    "hopper": dict(gpus=HOPPER, library="vllm", gemm=["16bit", "8bit"], older=0.5, experts=["16bit", "fp8_block"], cache=[8], vidur=0.65,
                   taken={"gemm_fp8_block": "hopper_trtllm", "experts_8bit": "hopper_trtllm", "experts_4bit_weights": "hopper_sglang"}),
    "hopper_trtllm": dict(gpus=HOPPER, library="trtllm", gemm=["16bit", "8bit", "fp8_block"], unfused=0,
                          experts=["16bit", "8bit", "fp8_block", "4bit_weights"], cache=[16, 8], taken={"elementwise": "hopper"}),
    "hopper_sglang": dict(gpus=HOPPER, library="sglang", gemm=["16bit", "8bit", "fp8_block"], experts=["16bit", "fp8_block", "4bit_weights"],
                          int4=True, cache=[], taken=dict(ATTENTION_OF("hopper"), experts_8bit="hopper_trtllm")),
    "blackwell_vllm": dict(gpus=BLACKWELL, library="vllm", gemm=["16bit", "8bit", "fp4"], unfused=1.5,
                           experts=["16bit", "8bit", "fp8_block", "fp4", "4bit_weights", "4bit_by_8bit"], cache=[16, 8],
                           taken={"elementwise": "hopper", "gemm_fp8_block": "blackwell_trtllm"}),
    "blackwell_trtllm": dict(gpus=BLACKWELL, library="trtllm", gemm=["16bit", "8bit", "fp8_block", "fp4"], unfused=0,
                             experts=["16bit", "8bit", "fp4", "4bit_weights", "4bit_by_8bit"], cache=[16, 8],
                             kernels={"fp4": "min_latency"}, taken={"elementwise": "hopper", "experts_fp8_block": "blackwell_vllm"}),
    "blackwell_sglang": dict(gpus=BLACKWELL, library="sglang", gemm=["16bit", "8bit", "fp4"], experts=[], cache=[],
                             taken=dict(ATTENTION_OF("blackwell_vllm"), gemm_fp8_block="blackwell_trtllm",
                                        **{"experts_" + kind: "blackwell_vllm" for kind in KINDS})),
}


def read(name):
    with open(os.path.join(KERNELS, name + ".json")) as text:
        return json.load(text)


def write(name, file):
    with open(os.path.join(KERNELS, name + ".json"), "w") as text:
        lines = json.dumps(file, indent=2, ensure_ascii=False)
        text.write(re.sub(r'\{\s+("(?:name|rows)"[^{}]*?)\s+\}', lambda m: "{%s}" % " ".join(m[1].split()), lines) + "\n")


def take(name):
    """After all are fitted. Memory-bound layers keep their own cache's size and speed."""
    file, taken = read(name), FILES[name].get("taken", {})
    for key, whose in taken.items():
        if key != "elementwise":
            file[key] = read(whose)[key]
        file["errors"][key] = "not measured: those of " + whose
    file["taken_from"] = taken
    write(name, file)


def refit(name, alone=False):
    what, file = FILES[name], read(name)
    gpus, library, errors = what["gpus"], what["library"], file["errors"]
    launch = None
    for kind in () if alone else what["gemm"]:
        key = "gemm_" + kind
        if kind == "16bit" and "vidur" in what:
            p, steps, errors[key] = gemm_of_vidur_too(gpus, library, what["vidur"])
        elif kind == "8bit" and "older" in what:
            p, steps, errors[key] = gemm_of_older_too(gpus, library, what["older"])
        else:
            p, steps, errors[key] = gemm(gpus, library, KINDS[kind])
        if kind == "16bit":
            launch = p[2]
        if kind == "8bit" and "unfused" in what:
            errors[key] += "; with %.2f us and %.1f bytes an element of quantising that is left out here" % (
                p[2] - launch - what["unfused"], p[5])
            p[2], p[5] = launch + what["unfused"], 0
        file[key] = gemm_json(p, steps)
        print(name, key, json.dumps(file[key]), errors[key], flush=True)
    for kind in what["experts"]:
        key, dtype = "experts_" + kind, "int4_wo" if kind == "4bit_weights" and what.get("int4") else KINDS[kind]
        file[key], errors[key] = experts(gpus, library, dtype, file, what.get("kernels", {}).get(kind, ""))
        print(name, key, json.dumps(file[key]), errors[key], flush=True)
    for bits in () if alone else what["cache"]:
        end = "" if bits == 16 else "_8bit_cache"
        parts = attention(gpus, library, bits)
        for key, part, told in zip(("prefill_attention" + end, "decode_attention" + end), parts[:2], parts[2:]):
            file[key], errors[key] = part, told
            print(name, key, json.dumps(part), told, flush=True)
    write(name, file)


# --- All-reduces: below these sizes, in MiB, an engine's own kernels, a line each; NCCL above: where the tables have their steps,
# --- and where vLLM's own end (custom_all_reduce.py, max_size: 8 MiB). 8.001: 8 MiB themselves are own.

OWN = {("h100_sxm", "vllm", 2): [8], ("h100_sxm", "vllm", 4): [0.5, 8], ("h100_sxm", "vllm", 8): [0.25, 8],
       ("h100_sxm", "trtllm", 2): [8], ("h100_sxm", "trtllm", 4): [1 / 16, 1, 8.001], ("h100_sxm", "trtllm", 8): [1 / 16, 0.5, 8],
       ("h100_sxm", "sglang", 2): [8.001], ("h100_sxm", "sglang", 4): [0.5, 8.001], ("h100_sxm", "sglang", 8): [0.25, 8.001],
       ("b200_sxm", "vllm", 2): [0.25, 2, 8], ("b200_sxm", "vllm", 4): [0.5, 8], ("b200_sxm", "vllm", 8): [0.25, 1, 8],
       ("b200_sxm", "trtllm", 2): [8.001], ("b200_sxm", "trtllm", 4): [1, 8], ("b200_sxm", "trtllm", 8): [1, 8],
       ("b200_sxm", "sglang", 2): [8.001], ("b200_sxm", "sglang", 4): [0.5, 8.001], ("b200_sxm", "sglang", 8): [0.25, 1, 8.001]}


def all_reduces():
    for (gpu, engine, devices), ends in OWN.items():
        rows = [r for r in rows_of(gpu, "comm", engine, "custom_allreduce")
                if int(r["num_gpus"]) == devices and "eager" not in r["kernel_source"]]
        size, t = np.array([[2 * float(r["message_size"]), 1e-3 * float(r["latency"])] for r in rows]).T
        for begin, end in zip([1 / 256] + ends, ends):
            i = (size >= begin * 2**20) & (size < end * 2**20)
            model = lambda p: p[0] * 1e-6 + size[i] / (p[1] * 1e9)
            p = fit(model, [[5, 100]], [1, 1], [40, 3000], t[i])
            print('%s %s {"library": "%s", "devices": %d, "alpha_us": %.2f, "gb_per_s": %.1f, "below_mib": %g}  %s' % (
                gpu, "one_shot" if end == ends[0] else "two_shot", engine, devices, p[0], p[1], end, error(model(p), t[i])))
    rows = [r for r in rows_of("b200_sxm", "comm", "nccl", "nccl") if r["nccl_dtype"] == "half"]
    for operation in ("all_reduce", "all_gather", "reduce_scatter", "alltoall"):
        for devices in (2, 4, 8):
            found = sorted((2 * float(r["message_size"]), 1e-3 * float(r["latency"])) for r in rows
                           if r["op_name"] == operation and int(r["num_gpus"]) == devices)
            size, t = np.array(found).T
            alpha, slope, model = fit_lines(size, t, 3)
            print('b200_sxm nccl %s {"devices": %d, "alpha_us": [%s], "gb_per_s": [%s]}  %s' % (
                operation, devices, ", ".join("%.2f" % (a * 1e6) for a in alpha), ", ".join("%.3g" % (1e-9 / s) for s in slope),
                error(model, t)))


if __name__ == "__main__":
    if sys.argv[1:] == ["all_reduce"]:
        all_reduces()
    else:
        alone = sys.argv[1:2] == ["experts"]
        for one in sys.argv[2 if alone else 1:] or FILES:
            refit(one, alone)
        for one in FILES:
            take(one)
