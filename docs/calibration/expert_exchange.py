#!/usr/bin/env python3
"""Fits `expert_exchange` of models/latency/interconnects/*.json on DeepEP's measured times (WEIR_REFERENCE,
kernels/engines/*_wideep_deepep_*.csv.gz) and NVLink all-to-all's, and prints the constants with their errors.
With the path of a moe_a2a_oracle.json it fits that too. Analysis only; see README.md beside this file. The law is models/latency/expert_exchange.h's."""
import csv
import gzip
import json
import os
import sys

import numpy as np
from scipy.optimize import least_squares

REFERENCE = os.environ.get("WEIR_REFERENCE")
NVLINK = {"h100": 357e9, "h200": 357e9, "b200": 641e9}  # bandwidth_gb_per_s of their interconnects
NIC = 50e9  # of the measured cluster, a GPU and direction (kernels/systems/h100_sxm.yaml)


def load(gpu, version, kernel):
    name = "kernels/engines/%s_sxm__comm_sglang_%s_wideep_deepep_%s.csv.gz" % (gpu, version, kernel)
    with gzip.open(os.path.join(REFERENCE, name), "rt") as file:
        rows = list(csv.DictReader(file))
    return {k: np.array([float(r[k]) for r in rows]) for k in rows[0] if k != "kernel_source"}


def distinct(groups, experts, active):
    """Groups of experts that a token goes to: active of experts without repetition, even groups."""
    missed = np.ones_like(experts)
    for i in range(int(active.max())):
        missed *= np.where(i < active, np.maximum(0, experts - experts / groups - i) / (experts - i), 1)
    return groups * (1 - missed)


def traffic(d, way, kernel):
    """Bytes that a rank sends inside its node and between nodes, and that SMs handle."""
    size = d["hidden_size"] * ((1 + 4 / 128) if way == "dispatch" else 2)
    nodes, ranks = d["node_num"], 8 * d["node_num"]
    if kernel == "ll":
        copies = d["num_token"] * d["num_topk"] * size
        return copies * 7 / ranks, copies * (nodes - 1) / nodes, 0 * copies
    far = distinct(nodes, d["num_experts"], d["num_topk"]) * (nodes - 1) / nodes
    reached = distinct(ranks, d["num_experts"], d["num_topk"])
    tokens = d["num_token"] * size
    return tokens * reached * 7 / 8, tokens * far, tokens * (reached + far)


def measured(d, way, kernel):
    if kernel == "ll":
        return d[way + "_avg_t_us"]
    return d[way + "_transmit_us"] + d[way + "_notify_us"]


def law(p, d, way, kernel, nvlink):
    inside, between, handled = traffic(d, way, kernel)
    start, start_between, inside_share, between_share, per_sm, per_sm_between = p
    us = np.maximum(inside / (inside_share * nvlink), between / (between_share * NIC))
    if kernel == "normal":
        rate = np.where(d["node_num"] > 1, per_sm_between, per_sm) * 1e9
        us = np.maximum(us, handled / (d[way + "_sms"] * rate))
    far = (d["node_num"] - 1) / d["node_num"]
    return start + start_between * far + 1e6 * us


def fit(d, way, kernel, nvlink, held, start, keep):
    """`held` marks parameters that stay as they are."""
    free = [i for i, fixed in enumerate(held) if not fixed]
    part = {k: v[keep] for k, v in d.items()}

    def full(x):
        p = list(start)
        for i, value in zip(free, x):
            p[i] = value
        return p

    found = least_squares(lambda x: np.log(law(full(x), part, way, kernel, nvlink) / measured(part, way, kernel)),
                          [start[i] for i in free], bounds=([0.01] * len(free), [300] * len(free)),
                          loss="soft_l1", f_scale=0.05, x_scale=[start[i] for i in free])
    return full(found.x)


def error(p, d, way, kernel, nvlink, keep):
    e = (law(p, d, way, kernel, nvlink) / measured(d, way, kernel) - 1)[keep]
    return "MAPE %.1f %%, bias %+.1f %%, n %d" % (100 * np.mean(np.abs(e)), 100 * np.mean(e), len(e)) if len(e) else "-"


def deepep():
    for kernel in ("ll", "normal"):
        for way in ("dispatch", "combine"):
            print("\n== %s %s" % (kernel, way))
            start = [15, 15, 0.6, 0.9, 15, 15] if kernel == "ll" else [30, 60, 1, 0.9, 15, 12]
            for gpus in (("h100", "h200"), ("b200",)):
                parts = [load(g, "0.5.12", kernel) for g in gpus]
                d = {k: np.concatenate([x[k] for x in parts]) for k in parts[0]}
                nvlink = NVLINK[gpus[0]]
                everything = np.ones(len(d["num_token"]), bool)
                # Where SMs bind, nothing says what the links would give: normal kernels have no share.
                held = [0, 1, 0, 1, 1, 1] if kernel == "ll" else [0, 1, 1, 1, 0, 1]
                p = fit(d, way, kernel, nvlink, held, start, everything)
                deepseek = (d["hidden_size"] == 7168) & (d["num_topk"] == 8) & (d["num_experts"] == 256)
                print("%s in a node: start %.1f us, inside share %.3f, per SM %.2f GB/s: %s; 8 of 256 at 7168: %s" % (
                    "+".join(gpus), p[0], p[2], p[4], error(p, d, way, kernel, nvlink, everything),
                    error(p, d, way, kernel, nvlink, deepseek)))
                if gpus[0] == "h100":
                    inside = p
            d = load("h100", "0.5.6.post2", kernel)
            nodes = d["node_num"]
            held = [1, 0, 1, 0, 1, 1] if kernel == "ll" else [1, 0, 1, 0, 1, 0]
            for seen in ((2,), (2, 4), (2, 4, 8)):
                p = fit(d, way, kernel, NVLINK["h100"], held, inside, np.isin(nodes, seen))
                print("between nodes, fitted on %s: start +%.1f us, share %.3f, per SM %.2f; " % (seen, p[1], p[3], p[5]) +
                      "; ".join("%d: %s" % (n, error(p, d, way, kernel, NVLINK["h100"], nodes == n)) for n in (1, 2, 4, 8)))


def nvlink_all_to_all(path):
    """`path`: moe_a2a_oracle.json of AIConfigurator 095f58a (Apache-2.0), which holds samples of the table
    gb200/trtllm/1.3.0rc10 trtllm_alltoall_perf (TensorRT-LLM 1.2.0rc6, kernel NVLinkOneSided)."""
    with open(path) as file:
        samples = json.load(file)["samples"]
    size = {"nvfp4": 0.5625, "fp8": 1, "bfloat16": 2}
    for backend in ("nvlink_one_sided", "nvlink_two_sided"):
        for way in ("dispatch", "combine"):
            rows = [s for s in samples if s["comm_backend"] == backend and s["phase"] == way and
                    s["comm_dtype"] in size and s["kind"] in ("exact", "token_interp", "sms_snap")]
            ranks, experts, active = (np.array([float(s[k]) for s in rows]) for k in ("ep_size", "num_experts", "topk"))
            element = np.array([size[s["comm_dtype"]] if way == "dispatch" else 2 for s in rows])
            moved = np.array([s["num_tokens"] * s["hidden_size"] for s in rows]) * element
            moved = moved * distinct(ranks, experts, active) * (ranks - 1) / ranks
            t = np.array([1e3 * s["latency_ms"] for s in rows])
            p = least_squares(lambda p: np.log((p[0] + 1e6 * moved / (p[1] * NVLINK["b200"])) / t), [15, 0.8],
                              bounds=([1, 0.05], [60, 2])).x
            e = (p[0] + 1e6 * moved / (p[1] * NVLINK["b200"])) / t - 1
            print("%s %s: start %.1f us, inside share %.3f: MAPE %.1f %%, n %d" % (
                backend, way, p[0], p[1], 100 * np.mean(np.abs(e)), len(e)))


if __name__ == "__main__":
    if not REFERENCE:
        sys.exit("no WEIR_REFERENCE: nothing to fit")
    deepep()
    if len(sys.argv) > 1:
        nvlink_all_to_all(sys.argv[1])
