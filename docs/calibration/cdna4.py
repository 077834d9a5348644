#!/usr/bin/env python3
"""Kernels of AMD's CDNA 4 (MI355X) from the tables that come with AMD's own library, ROCm/aiter (MIT): what its tuner measured for block-scaled
GEMMs and fused experts (aiter/configs), and its attention benchmark (op_tests/cpp/mha/README.md). Prints rows for devices/kernels/cdna4.json.

    docs/calibration/cdna4.py CLONE_OF_AITER     (read at commit e404860)

The formulas are those of engines.py, which says what the parameters are; every second shape is fitted, the others judge."""
import csv
import glob
import json
import math
import os
import random
import sys

PEAK_FP8, PEAK_BF16, BANDWIDTH, CUS, L2 = 5033.2e12, 2516.6e12, 8000e9, 256, 268.4e6  # devices/catalog/mi355x.json
CACHE_FRACTION, CACHE, LAYER_LAUNCH, LAYER_MEMORY = 0.5, 6000e9, 2.4e-6, 0.8  # "elementwise" of hopper.json, which stands in
WEIGHT = 1 + 2**-12  # bytes of a block-scaled number


def read(path):
    with open(path) as file:
        return [r for r in csv.DictReader(file) if r.get("gfx", "gfx950") == "gfx950" and r["cu_num"] == str(CUS)]


def knee(compute, traffic, k):
    return max(compute, traffic) * (1 + (min(compute, traffic) / max(compute, traffic)) ** k) ** (1 / k)


def gemm_time(p, row):
    m, n, k = row
    return knee(2 * k * (m * n + p[4] * CUS * 128 * 128) / (p[0] * PEAK_FP8), (n * k * WEIGHT + m * k * WEIGHT + m * n * 2) / (p[1] * BANDWIDTH), p[3]) + p[2] * 1e-6


def layer_time(size):
    cached = min(size, CACHE_FRACTION * L2)
    return LAYER_LAUNCH + cached / CACHE + (size - cached) / (LAYER_MEMORY * BANDWIDTH)


def experts_time(p, row):
    m, hidden, inter, experts, topk = row
    routed, busy = m * topk, experts * (1 - (1 - topk / experts) ** m)
    time = layer_time(topk * 3 * inter * 2 * m) + layer_time((topk + 1) * hidden * 2 * m)
    for i, o in ((hidden, 2 * inter), (inter, hidden)):
        compute = 2 * i * (o * (routed + busy * p[5]) + p[4] * CUS * 128 * 128) / (p[0] * PEAK_FP8)
        time += knee(compute, (busy * i * o * WEIGHT + routed * (i * WEIGHT + o * 2)) / (p[1] * BANDWIDTH), p[3]) + p[2] * 1e-6
    return time


def minimum(cost, start, low, high, rounds=6000):
    """By random steps that shrink where they fail; the same ones at every run."""
    draw, best, at, width = random.Random(1), cost(start), list(start), [0.3] * len(start)
    for r in range(rounds):
        i = r % len(start)
        there = list(at)
        there[i] = min(high[i], max(low[i], there[i] * math.exp(draw.gauss(0, width[i])) + draw.gauss(0, 0.01 * width[i] * high[i])))
        if (value := cost(there)) < best:
            best, at, width[i] = value, there, min(0.5, width[i] * 1.5)
        else:
            width[i] = max(1e-3, width[i] * 0.93)
    return at


def fit(name, rows, time, start, low, high):
    """Every decade of tokens counts alike, whatever number of rows it has."""
    bins = [1, 5, 17, 65, 257, 1025, 4097]
    bin_of = lambda m: sum(m >= b for b in bins)
    fitted, others = rows[::2], rows[1::2]
    count = {b: sum(bin_of(x[0]) == b for x, _ in fitted) for b in range(9)}
    log_error = lambda p, x, t: abs(math.log(time(p, x) / t))
    p = minimum(lambda p: sum(log_error(p, x, t) / count[bin_of(x[0])] for x, t in fitted), start, low, high)
    error = lambda some: 100 * sum(abs(time(p, x) / t - 1) for x, t in some) / len(some)
    bias = 100 * sum(time(p, x) / t - 1 for x, t in others) / len(others)
    many = [r for r in others if r[0][0] > 1024]
    print(json.dumps(dict(zip(("compute_efficiency", "memory_efficiency", "launch_us", "knee", "tail_tiles", "empty_rows_per_expert"),
                              (round(v, 3) for v in p)))))
    print("%s: %.1f %% (bias %+.1f) over %d others, %.1f %% from 1025 tokens (%d)" % (name, error(others), bias, len(others), error(many), len(many)))


def attention(readme):
    """Mean share of the peak at 8,192 tokens and more; a tile of Hopper's, 465 tokens, is charged beside what counts."""
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in readme if line.startswith("| ") and line.split("|")[1].strip().isdigit()]
    for name, causal in (("context", "0"), ("causal", "1")):
        shares = [float(r[8]) * 1e12 / PEAK_BF16 * (1 + (464.6 / int(r[3]) if causal == "1" else 0))
                  for r in rows if r[5] == "128" and r[6] == causal and int(r[3]) >= 8192 and r[8] not in ("", "-")]
        print("%s_efficiency: %.3f of %d, %.3f to %.3f" % (name, sum(shares) / len(shares), len(shares), min(shares), max(shares)))


def main(clone):
    configs = os.path.join(clone, "aiter", "configs")
    gemms = sorted(((int(r["M"]), int(r["N"]), int(r["K"])), float(r["us"]) * 1e-6) for r in read(os.path.join(configs, "a8w8_blockscale_tuned_gemm.csv")))
    gemms = [g for g in gemms if g[0][1] * g[0][2] >= 2**20 and 0 < g[1] < 1]
    fit("gemm_fp8_block", gemms, gemm_time, [0.3, 0.8, 5, 2, 0.1], [0.05, 0.1, 0, 1, 0], [1, 1, 30, 8, 4])
    experts = {}
    for path in glob.glob(os.path.join(configs, "model_configs", "a8w8_blockscale_tuned_fmoe_*.csv")):
        rows = read(path)
        times = [r["us"] for r in rows]
        for r in rows:
            if times.count(r["us"]) > 1:
                continue  # copied from a shape that was tuned to others that were not
            shape = tuple(int(r[c]) for c in ("token", "model_dim", "inter_dim", "expert", "topk"))
            if "per_1x128" in r["q_type"] and r["use_g1u1"] == "1" and 0 < float(r["us"]) < 1e5:
                experts[shape] = min(experts.get(shape, 1), float(r["us"]) * 1e-6)
    fit("experts_fp8_block", sorted(experts.items()), experts_time, [0.3, 0.8, 8, 4, 0.1, 32], [0.05, 0.1, 0, 1, 0, 0], [1, 1, 40, 8, 4, 128])
    with open(os.path.join(clone, "op_tests", "cpp", "mha", "README.md")) as file:
        attention(file)


main(sys.argv[1])
