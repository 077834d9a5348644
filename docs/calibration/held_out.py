#!/usr/bin/env python3
"""How far GEMMs of shapes that a profile lacks are from measured ones, by the rule between shapes: all shapes of one n (or one k)
are left out of WEIR_REFERENCE/kernels/engines in turn and taken from the others. Judges devices/profile/profile_shapes.cpp; see README.md.

    WEIR_REFERENCE=DIR python3 docs/calibration/held_out.py [versions]

versions: how far 16-bit GEMMs of an older vLLM on H100 (kernels/gemm_vllm.csv) are from each engine's table, and from the mean of all.

The analytic law is the one of Hopper's two sets that this was decided on; its constants hardly matter, as only its shape counts.
"""
import csv
import math
import os
import sys

from profile_from_tables import CUBLAS, Tables, gemms_of, mean_of

GPUS = {"h100_sxm": (989.4e12, 3352e9, 132), "h200_sxm": (989.4e12, 4800e9, 132), "b200_sxm": (2250e12, 7672e9, 148)}
LAW = {2: (0.774, 0.879, 3.846, 3.426, 0.177), 1: (0.649, 0.87, 4.853, 3.138, 0.277)}
JUDGED = [("vllm", "bfloat16"), ("vllm", "fp8"), ("trtllm", "bfloat16"), ("trtllm", "fp8_block")]
BINS = [(1, 128), (129, 1024), (1025, 8192)]


def analytic(gpu, size, m, n, k):
    """Microseconds; models/latency/matrix.cpp."""
    peak, bandwidth, multiprocessors = GPUS[gpu]
    compute_share, memory_share, launch, knee, tail = LAW[size]
    compute = 2 * k * (m * n + tail * multiprocessors * 128 * 128) / (compute_share * peak * 2 / size)
    memory = (n * k * size + m * k * size + m * n * 2) / (memory_share * bandwidth)
    return 1e6 * (compute**knee + memory**knee) ** (1 / knee) + launch


def corners(axis, value):
    """[(knot, weight)]: linear in logarithms, the outermost beyond."""
    below, above = [a for a in axis if a <= value], [a for a in axis if a >= value]
    if not below or not above or below[-1] == above[0]:
        return [((below or above)[-1 if below else 0], 1)]
    share = math.log(value / below[-1]) / math.log(above[0] / below[-1])
    return [(below[-1], 1 - share), (above[0], share)]


def guesses(logs, shape, m, held):
    """By rule, the logarithm of measured over analytic; logs lack the shapes of the same n (held 0) or k (1)."""
    others = [s for s in logs if s[held] != shape[held] and m in logs[s]]
    if not others:
        return None
    axes = [sorted({s[i] for s in others}) for i in (0, 1)]
    far = lambda s: math.hypot(math.log(s[0] / shape[0]), math.log(s[1] / shape[1]))
    area = lambda s: abs(math.log(s[0] * s[1] / shape[0] / shape[1]))
    at = [((n, k), a * b) for n, a in corners(axes[0], shape[0]) for k, b in corners(axes[1], shape[1])
          if m in logs.get((n, k), {}) and (n, k)[held] != shape[held]]
    weight = sum(w for _, w in at)
    nearest = logs[min(others, key=far)][m]
    return {"four corners": sum(w * logs[s][m] for s, w in at) / weight if weight else nearest, "nearest": nearest,
            "nearest area": logs[min(others, key=lambda s: (area(s), far(s)))][m], "analytic": 0}


def judge(gpu, dtype, shapes):
    size = 2 if dtype == "bfloat16" else 1
    logs = {s: {m: math.log(us / analytic(gpu, size, m, *s)) for m, us in at.items()} for s, at in shapes.items()}
    errors = {bin: {} for bin in BINS}
    edges = [(min(s[i] for s in logs), max(s[i] for s in logs)) for i in (0, 1)]
    for shape in logs:
        if not 2**20 <= shape[0] * shape[1] <= 2**30 or min(shape) < 512:
            continue
        for held in (0, 1):
            if shape[held] in edges[held]:
                continue
            for bin in BINS:
                for m in [m for m in (1, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192) if bin[0] <= m <= bin[1]]:
                    if m not in logs[shape]:
                        continue
                    for rule, guess in (guesses(logs, shape, m, held) or {}).items():
                        errors[bin].setdefault(rule, []).append(math.exp(guess - logs[shape][m]) - 1)
    return errors


def versions(reference):
    with open(os.path.join(reference, "kernels", "gemm_vllm.csv")) as file:
        older = [(int(r["out_features"]), int(r["in_features"]), int(r["tokens"]), 1e3 * float(r["ms"])) for r in csv.DictReader(file)
                 if r["device"] == "h100_sxm" and r["dtype"] == "bfloat16"]
    tables = {engine: gemms_of(Tables(os.path.join(reference, "kernels", "engines"), "h100_sxm"), engine, {"bfloat16"})["bfloat16"]
              for engine in CUBLAS}
    for name, table in [*tables.items(), ("mean of all", mean_of(list(tables.values())))]:
        for first, last in ((1, 8), (9, 64), (65, 256), (257, 8192)):
            off = [table[n, k][m] / us - 1 for n, k, m, us in older if first <= m <= last and m in table.get((n, k), {})]
            print("%s, %d-%d rows: %.1f %% (%+.1f) of %d" % (name, first, last, 100 * sum(map(abs, off)) / len(off),
                                                          100 * sum(off) / len(off), len(off)))


def main():
    reference = os.environ.get("WEIR_REFERENCE")
    if not reference:
        sys.exit("skipped: WEIR_REFERENCE names no folder of measurements")
    if "versions" in sys.argv:
        return versions(reference)
    for gpu in GPUS:
        for engine, dtype in JUDGED:
            shapes = gemms_of(Tables(os.path.join(reference, "kernels", "engines"), gpu), engine, {dtype})[dtype]
            for bin, rules in judge(gpu, dtype, shapes).items():
                print(gpu, engine, dtype, "%d-%d rows" % bin, ", ".join(
                    "%s %.1f %% (%+.1f)" % (rule, 100 * sum(map(abs, e)) / len(e), 100 * sum(e) / len(e)) for rule, e in rules.items()))


if __name__ == "__main__":
    main()
