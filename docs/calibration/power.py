#!/usr/bin/env python3
"""Fits the joules of GPUs to measured watts of vLLM servers (see README.md, "Power").

    WEIR_REFERENCE=DIR python3 docs/calibration/power.py BUILD/weir [h100_sxm] [b200_sxm]

Each row of energy/vllm_power.csv whose GPUs are TP x DP x EP is simulated in its steady state, once with one joule after
the other priced, which says what it moves and calculates. Fitted are the dense rows, over the seconds that they were
measured to take; then Weir runs every row with what was fitted to all dense rows, and with what was fitted without the
row's own model. Two bounds hold the fit: what a device draws that only reads, and what matrices draw. Nothing of these rows is kept
but the constants.
"""
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from scipy.optimize import least_squares

REFERENCE = os.environ["WEIR_REFERENCE"]
DENSE = {"meta-llama/Llama-3.1-8B-Instruct": "llama3.1-8b", "Qwen/Qwen3-32B": "qwen3-32b", "Qwen/Qwen3-8B": "qwen3-8b"}
EXPERTS = {"Qwen/Qwen3-30B-A3B-Instruct-2507": "qwen3-30b-a3b"}  # reported, not fitted
PROMPT = {"lm-arena-chat": 300, "gpqa": 250}  # tokens; ASSUMPTION: the source has none
READING = 1.15  # ESTIMATE: clocks are below their most where memory is the bound, too
# Of the limit: what matrices at the sustained clocks draw at most. ESTIMATE: with H200's 4 W more of idle it is 1.096, within the
# tenth that a test allows.
MULTIPLYING = 1.09
LOOPS = 20  # requests for each in flight: the drain at the end is little
KEYS = ["active_w", "chip_pj_per_byte", "attention_pj_per_byte", "compute_pj_per_flop"]
# Of the catalog; `gemm`: what matrices reach of the peak.
GPUS = {
    "h100_sxm": dict(idle=70, limit=700, memory=48, link=64, bandwidth=3.352, peak=989.4e12, sustained=0.87, gemm=0.827),
    "b200_sxm": dict(idle=192, limit=1000, memory=48, link=64, bandwidth=7.672, peak=2250e12, sustained=0.87, gemm=0.827),
}


def rows(gpu):
    models = dict(DENSE, **EXPERTS)
    with open(os.path.join(REFERENCE, "energy", "vllm_power.csv")) as file:
        for row in csv.DictReader(file):
            ranks = [int(row[k]) for k in ("tensor_parallel", "data_parallel", "expert_parallel")]
            if row["gpu_model"].lower() + "_sxm" == gpu and row["model_id"] in models \
                    and int(row["num_gpus"]) == np.prod(ranks) and ranks[1] == 1:
                yield dict(row, model=models[row["model_id"]], dense=row["model_id"] in DENSE)


def number(row, key):
    return float(row[key])


def scenario(row, gpu, prices):
    concurrency, ranks = round(number(row, "avg_batch_size")), int(row["num_gpus"])
    return {
        "model": row["model"],
        "cluster": {"nodes": [{"devices": [dict({"kind": gpu, "count": 8}, **prices)],
                               "interconnect": "nvlink5_switch" if gpu == "b200_sxm" else "nvlink4_switch"}]},
        "serving": {"replicas": [{"parallelism": {"tensor": ranks, "expert": int(row["expert_parallel"])},
                                  "engine": {"kind": "vllm", "version": "0.11.1"},  # github.com/ml-energy/benchmark
                                  "batching": {"kind": "chunked_prefill", "max_batch_tokens": 8192,
                                               "max_batch_requests": int(row["max_num_seqs"])}}]},
        "workload": {"requests": {"kind": "fixed", "count": LOOPS * concurrency, "input_tokens": PROMPT[row["task"]],
                                  "output_tokens": round(number(row, "avg_output_len"))},
                     "arrivals": {"kind": "closed_loop", "concurrency": concurrency, "desynchronise": True,
                                  "warmup_requests": concurrency}}}


def simulate(weir, row, gpu, prices):
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/scenario.json"
        with open(file, "w") as out:
            json.dump(scenario(row, gpu, prices), out)
        subprocess.run([weir, "run", file, "--out", folder + "/out", "--quiet"], check=True, capture_output=True)
        with open(folder + "/out/summary.json") as summary:
            return json.load(summary)


NOTHING = {"idle_w": 0, "tdp_w": 1e6, "active_w": 0, "memory_pj_per_byte": 0, "chip_pj_per_byte": 0,
           "attention_pj_per_byte": 0, "compute_pj_per_flop": 0, "link_pj_per_byte": 0}


def work(weir, row, gpu):
    """Per GPU and measured second, in 10^12: bytes of memory, bytes of attention, flops, bytes of links."""
    def watts(key):
        summary = simulate(weir, row, gpu, dict(NOTHING, **{key: 1}))
        per_token = summary["energy_j"] / summary["total_output_tokens"] / int(row["num_gpus"])
        return per_token * number(row, "output_throughput_tokens_per_sec")
    return [watts(key) for key in ("memory_pj_per_byte", "attention_pj_per_byte", "compute_pj_per_flop",
                                   "link_pj_per_byte")]


def watts(row):
    return number(row, "avg_power_watts") / int(row["num_gpus"])


def features(works):
    memory, attention, flops, _ = np.array(works).T
    return np.column_stack([np.ones(len(memory)), memory, attention, flops])


def known(works, g):
    memory, _, _, link = np.array(works).T
    return g["idle"] + g["memory"] * memory + g["link"] * link


def fit(rows, works, gpu):
    g = GPUS[gpu]
    base, design, measured = known(works, g), features(works), np.array([watts(r) for r in rows])

    def off(prices):  # beyond the limit a little slope, so that the fit finds back
        drawn = base + design @ prices
        errors = np.where(drawn > g["limit"], g["limit"] + 0.02 * (drawn - g["limit"]), drawn) / measured - 1
        # A device that only reads takes READING of the limit at most, at full clocks.
        reading = g["idle"] + prices[0] + (g["memory"] + prices[1]) * g["bandwidth"]
        # In matrices a flop takes the square of the sustained clocks of its joules, and their rate falls with the clocks.
        matrices = g["idle"] + prices[0] + prices[3] * g["gemm"] * g["peak"] * g["sustained"]**3 / 1e12
        beyond = [reading / (READING * g["limit"]), matrices / (MULTIPLYING * g["limit"])]
        return np.append(errors, 100 * np.maximum(0, np.array(beyond) - 1))
    return least_squares(off, [100, 50, 50, 0.5], bounds=(0, np.inf)).x, off


def report(name, errors):
    print(f"{name:58} {len(errors):3} rows  mean |error| {100 * np.mean(np.abs(errors)):5.1f} %  bias "
          f"{100 * np.mean(errors):+6.1f} %  worst {100 * max(errors, key=abs):+6.1f} %")


def main(weir, *gpus):
    pool = concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count())))
    for gpu in gpus or GPUS:
        all_rows = list(rows(gpu))
        works = list(pool.map(lambda row: work(weir, row, gpu), all_rows))
        dense = [i for i, row in enumerate(all_rows) if row["dense"]]
        without = {}
        for left_out in [None] + sorted(set(DENSE.values())):
            fitted = [i for i in dense if all_rows[i]["model"] != left_out]
            prices, off = fit([all_rows[i] for i in fitted], [works[i] for i in fitted], gpu)
            without[left_out] = dict(zip(KEYS, (round(float(p), 4) for p in prices)))
            print(gpu, "without", left_out, without[left_out])
            if left_out is None:
                report("  over measured seconds", off(prices)[:-2])
        judged = [(i, key) for i, row in enumerate(all_rows) for key in (None, row["model"]) if key in without]
        results = dict(zip(judged, pool.map(lambda j: simulate(weir, all_rows[j[0]], gpu, without[j[1]]), judged)))

        def error(i, key, what):
            summary, row = results[i, key], all_rows[i]
            if what == "ITL":
                return summary["median_itl_ms"] / number(row, "median_itl_ms") - 1
            return summary["energy_j"] / summary["duration"] / int(row["num_gpus"]) / watts(row) - 1
        cells = sorted({(r["model"], r["task"], int(r["num_gpus"])) for r in all_rows})
        for what in ("watts", "ITL"):
            for model, task, ranks in cells:
                mine = [i for i, r in enumerate(all_rows)
                        if (r["model"], r["task"], int(r["num_gpus"])) == (model, task, ranks)]
                report(f"  {what} {model} {task} on {ranks}", [error(i, None, what) for i in mine])
            report(f"  {what}, dense", [error(i, None, what) for i in dense])
        report("  watts, dense, each model left out of the fit", [error(i, all_rows[i]["model"], "watts") for i in dense])
        if os.environ.get("ROWS"):
            for i, r in enumerate(all_rows):
                print(f"    {r['model']:14} {r['task']:13} {r['num_gpus']} {number(r, 'avg_batch_size'):6.0f} "
                      f"{watts(r):5.0f} W {100 * error(i, None, 'watts'):+6.1f} %  ITL {number(r, 'median_itl_ms'):6.1f} ms "
                      f"{100 * error(i, None, 'ITL'):+6.1f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
