#!/usr/bin/env python3
"""Fits GEMMs and all-reduces of engines' kernel libraries to the tables in WEIR_REFERENCE/kernels/engines and prints the constants
with their errors, bin by bin of tokens. Every second shape of weights is fitted, the others judge. Analysis only; see
README.md beside this file.

    WEIR_REFERENCE=DIR python3 docs/calibration/engines.py [GPU_ENGINE ...] [all_reduce]
"""
import csv
import glob
import gzip
import os
import sys

import numpy as np

from fit import DEVICES, GEMM_HIGH, GEMM_LOW, GEMM_START, REFERENCE, error, fit, gemm_time

DEVICES["h200_sxm"] = dict(DEVICES["h100_sxm"], bw=4800e9)
TABLES = os.path.join(REFERENCE, "kernels", "engines")
BYTES = {"bfloat16": 2, "fp8": 1, "fp8_block": 1}
BINS = [1, 9, 17, 33, 65, 129, 257, 1025, 8193]


def table(gpu, engine):
    """Of the newest version: {dtype: (m, n, k, seconds)}; the fastest where a shape was measured twice."""
    newest = sorted(glob.glob(os.path.join(TABLES, "%s__gemm_%s_*_gemm.csv.gz" % (gpu, engine))))[-1]
    best = {}
    with gzip.open(newest, "rt") as file:
        for row in csv.DictReader(file):
            key = row["gemm_dtype"], int(row["m"]), int(row["n"]), int(row["k"])
            best[key] = min(best.get(key, 1e9), float(row["latency"]) * 1e-3)
    found = {}
    for (dtype, m, n, k), t in best.items():
        found.setdefault(dtype, []).append((m, n, k, t))
    return {dtype: np.array(rows).T for dtype, rows in found.items()}


def of_models(rows, size, bandwidth):
    """GEMMs of layers of models, whose weights come from memory: in the L2 cache they would be faster than it."""
    m, n, k, t = rows
    return rows[:, (m >= 1) & (m <= 8192) & (n * k >= 2**20) & (n * k <= 2**30) & (n * k * size / t < bandwidth)]


def every_second(rows):
    """Of the shapes of weights, whatever the tokens."""
    shapes = np.unique(rows[1:3], axis=1, return_inverse=True)[1]
    return shapes % 2 == 0


def weights(m):
    """Bins of tokens weigh the same: decodes are what most steps are, prompts what most time goes into."""
    bins = np.digitize(m, BINS)
    return np.sqrt(len(m) / len(set(bins)) / np.bincount(bins)[bins])


def by_tokens(model, m, t):
    parts = []
    for low, high in zip(BINS, BINS[1:]):
        i = (m >= low) & (m < high)
        if i.any():
            e = model[i] / t[i] - 1
            parts.append("%d-%d %.0f %% (%+.0f)" % (low, high - 1, 100 * np.mean(np.abs(e)), 100 * np.mean(e)))
    return ", ".join(parts)


# Below these sizes, in MiB, an engine's one-shot and its two-shot kernels, NCCL above: where the tables have their steps.
OWN = {("trtllm", 2): (16, 16), ("trtllm", 4): (0.0625, 16), ("trtllm", 8): (0.5, 16),
       ("sglang", 2): (8, 8), ("sglang", 4): (0.5, 16), ("sglang", 8): (0.25, 16)}


def all_reduces(gpu):
    for (engine, devices), (one, two) in OWN.items():
        name = glob.glob(os.path.join(TABLES, "%s__comm_%s_*_custom_allreduce.csv.gz" % (gpu, engine)))[-1]
        with gzip.open(name, "rt") as file:
            rows = [r for r in csv.DictReader(file) if int(r["num_gpus"]) == devices and "eager" not in r["kernel_source"]]
        size, t = np.array([[2 * float(r["message_size"]), 1e-3 * float(r["latency"])] for r in rows]).T
        for kind, low, high in [("one_shot", 1 / 256, one), ("two_shot", one, two)]:
            i = (size >= low * 2**20) & (size < high * 2**20)
            if i.sum() < 2:
                continue
            model = lambda p: p[0] * 1e-6 + size[i] / (p[1] * 1e9)
            p = fit(model, [[5, 100]], [1, 1], [30, 1000], t[i])
            print('%s %s {"library": "%s", "devices": %d, "alpha_us": %.2f, "gb_per_s": %.1f, "below_mib": %g}  %s' % (
                gpu, kind, engine, devices, p[0], p[1], high, error(model(p), t[i])))


def main(wanted):
    if "all_reduce" in wanted:
        return all_reduces("h100_sxm")
    for gpu in ("h100_sxm", "h200_sxm"):
        for engine in ("vllm", "trtllm", "sglang"):
            if wanted and "%s_%s" % (gpu, engine) not in wanted:
                continue
            for dtype, rows in sorted(table(gpu, engine).items()):
                if dtype not in BYTES:
                    continue
                size = BYTES[dtype]
                peak = DEVICES[gpu]["bf16" if size == 2 else "fp8"]
                rows = of_models(rows, size, DEVICES[gpu]["bw"])
                time = lambda p, r: gemm_time(p, gpu, peak, r[0], r[1], r[2], size, size)
                fitted, judged = rows[:, every_second(rows)], rows[:, ~every_second(rows)]
                p = fit(lambda p: time(p, fitted), GEMM_START, GEMM_LOW, GEMM_HIGH, fitted[3], weights(fitted[0]))
                print(gpu, engine, dtype, np.round(p, 3), "| fitted:", error(time(p, fitted), fitted[3]),
                      "| others:", error(time(p, judged), judged[3]))
                print("   others by tokens:", by_tokens(time(p, judged), judged[0], judged[3]))


if __name__ == "__main__":
    main(sys.argv[1:])
