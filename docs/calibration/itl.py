#!/usr/bin/env python3
"""Inter-token latency of vLLM servers on H100 (energy/vllm_power.csv) beside their simulation (see README.md, "Servers").

    WEIR_REFERENCE=DIR python3 docs/calibration/itl.py build/weir ['{"kind": "vllm", ...}']
    WEIR_REFERENCE=DIR python3 docs/calibration/itl.py --write >> servers.jsonl

Dense rows judge the preset, to which none of them is fitted. With --write, the mixtures of experts on several GPUs, which nothing judges, are printed
as servers for engine_hosts.py: they tell what workers cost a sequence.

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
DENSE = {"meta-llama/Llama-3.1-8B-Instruct": "llama3.1-8b", "Qwen/Qwen3-32B": "qwen3-32b",
         "meta-llama/Llama-3.1-70B-Instruct": "llama3.1-70b"}
EXPERTS = {"openai/gpt-oss-120b": "gpt-oss-120b", "Qwen/Qwen3-30B-A3B-Instruct-2507": "qwen3-30b-a3b",
           "Qwen/Qwen3-235B-A22B-Thinking-2507-FP8": "qwen3-235b-a22b"}
# By weight_precision: of mxfp4 only experts are, and Hopper multiplies them in 16 bits.
PRECISION = {"bfloat16": {"weights": "bf16", "activations": "bf16"},
             "fp8": {"weights": "fp8_block", "activations": "fp8_block", "kv_cache": "bf16"},
             "mxfp4": {"weights": "bf16", "activations": "bf16", "expert_weights": "mxfp4", "expert_activations": "bf16"}}


def rows_of(models):
    """Rows on H100 whose GPUs are the ranks of their layout: experts' parallelism is of the tensor-parallel ranks (--enable-expert-parallel)."""
    with open(os.environ["WEIR_REFERENCE"] + "/energy/vllm_power.csv") as file:
        for row in csv.DictReader(file):
            ranks = [int(row[k]) for k in ("tensor_parallel", "data_parallel", "expert_parallel")]
            if row["gpu_model"] == "H100" and row["model_id"] in models and row["task"] in PROMPTS \
                    and ranks[1] == 1 and ranks[0] * ranks[2] == int(row["num_gpus"]):
                yield dict(row, model=models[row["model_id"]])


def scenario(row, engine):
    batch, output, prompt = max(1, round(float(row["avg_batch_size"]))), float(row["avg_output_len"]), PROMPTS[row["task"]]
    law = lambda mean, most: {"mean": mean, "std": COEFFICIENT * mean, "max": most}
    return {
        "model": row["model"],
        "precision": PRECISION[row["weight_precision"]],
        "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm", "count": 8}], "interconnect": "nvlink4_switch"}]},
        "serving": {"replicas": [{"parallelism": {"tensor": int(row["num_gpus"]), "expert": int(row["expert_parallel"])}, "engine": engine,
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


def group_of(row):
    return "%s on %s" % (row["model"], row["num_gpus"])


def write():
    for row in rows_of(EXPERTS):
        if int(row["num_gpus"]) > 1:
            print(json.dumps({"group": "ITL of " + group_of(row), "engine": "vllm_v1", "model": row["model"], "ttft_ms": None,
                              "tpot_ms": float(row["median_itl_ms"]), "metric": "median_itl_ms", "scenario": scenario(row, {"kind": "vllm", "version": "0.11.1"})}))


def judge(weir, engine='{"kind": "vllm", "version": "0.11.1"}'):
    rows = list(rows_of(DENSE))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        simulated = list(pool.map(lambda row: latency(weir, row, json.loads(engine)), rows))
    groups = collections.defaultdict(list)
    for row, itl in zip(rows, simulated):
        error = 100 * (itl / float(row["median_itl_ms"]) - 1)
        groups[group_of(row)].append(error)
        print("%-16s %-14s batch %4.0f  measured %6.2f ms  %+5.1f %%" % (
            group_of(row), row["task"], float(row["avg_batch_size"]), float(row["median_itl_ms"]), error))
    for group, errors in list(groups.items()) + [("all", sum(groups.values(), []))]:
        print("%-16s %3d rows  %4.1f %% (%+.1f)" % (group, len(errors), sum(map(abs, errors)) / len(errors),
                                                   sum(errors) / len(errors)))


if __name__ == "__main__":
    write() if sys.argv[1:] == ["--write"] else judge(*sys.argv[1:])
