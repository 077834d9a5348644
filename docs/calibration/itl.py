#!/usr/bin/env python3
"""Inter-token latency of vLLM servers on H100 (dense rows of energy/vllm_power.csv) beside their simulation: a judge of
vllm_v1, to which none of them is fitted (see README.md, "Servers").

    WEIR_REFERENCE=DIR python3 docs/calibration/itl.py build/weir ['{"kind": "vllm_v1", ...}']

Closed loops at the measured mean batch. The source has mean output lengths only: lengths are drawn with a coefficient of variation of 1
(COEFFICIENT), of prompts with means of 300 tokens (gpqa: 250), which are assumptions. What decodes is longer than the mean then, as long answers
stay longer.
"""
import collections
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

COEFFICIENT = 1.0
PROMPTS = {"lm-arena-chat": 300, "gpqa": 250}
MODELS = {"meta-llama/Llama-3.1-8B-Instruct": "llama3.1-8b", "Qwen/Qwen3-32B": "qwen3-32b",
          "meta-llama/Llama-3.1-70B-Instruct": "llama3.1-70b"}


def scenario(row, engine):
    batch, output, prompt = max(1, round(float(row["avg_batch_size"]))), float(row["avg_output_len"]), PROMPTS[row["task"]]
    number = "fp8" if "fp8" in row["weight_precision"].lower() else "bf16"
    law = lambda mean, most: {"mean": mean, "std": COEFFICIENT * mean, "max": most}
    return {
        "model": MODELS[row["model_id"]],
        "precision": {"weights": number, "activations": number},
        "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm", "count": 8}], "interconnect": "nvlink4_switch"}]},
        "serving": {"replicas": [{"parallelism": {"tensor": int(row["tensor_parallel"])}, "engine": engine,
                                  "batching": {"kind": "chunked_prefill", "max_batch_tokens": 8192,
                                               "max_batch_requests": max(batch, int(row["max_num_seqs"]))}}]},
        "workload": {"requests": {"kind": "gamma", "count": 6 * batch, "input": law(prompt, 8000), "output": law(output, 30000)},
                     "arrivals": {"kind": "closed_loop", "concurrency": batch, "warmup_requests": 2 * batch}}}


def latency(weir, row, engine):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/scenario.json", "w") as out:
            json.dump(scenario(row, engine), out)
        subprocess.run([weir, "run", folder + "/scenario.json", "--out", folder + "/out", "--quiet"], check=True,
                       capture_output=True)
        with open(folder + "/out/summary.json") as summary:
            return json.load(summary)["median_itl_ms"]


def main(weir, engine='{"kind": "vllm_v1"}'):
    with open(os.environ["WEIR_REFERENCE"] + "/energy/vllm_power.csv") as file:
        rows = [r for r in csv.DictReader(file) if r["gpu_model"] == "H100" and r["model_id"] in MODELS and r["task"] in PROMPTS
                and int(r["tensor_parallel"]) * int(r["data_parallel"]) == int(r["num_gpus"])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        simulated = list(pool.map(lambda row: latency(weir, row, json.loads(engine)), rows))
    groups = collections.defaultdict(list)
    for row, itl in zip(rows, simulated):
        error = 100 * (itl / float(row["median_itl_ms"]) - 1)
        group = "%s TP%s" % (MODELS[row["model_id"]], row["tensor_parallel"])
        groups[group].append(error)
        print("%-16s %-14s batch %4.0f  measured %6.2f ms  %+5.1f %%" % (
            group, row["task"], float(row["avg_batch_size"]), float(row["median_itl_ms"]), error))
    for group, errors in list(groups.items()) + [("all", sum(groups.values(), []))]:
        print("%-16s %3d rows  %4.1f %% (%+.1f)" % (group, len(errors), sum(map(abs, errors)) / len(errors),
                                                   sum(errors) / len(errors)))


if __name__ == "__main__":
    main(*sys.argv[1:])
