"""Measured servers with and without profiles of WEIR_REFERENCE/kernels/engines: the scenarios that `weir reproduce validation` has of
them, mean |TPOT error| by GPU and by group. Judges profile_from_tables.py and the profiled device.

    WEIR_REFERENCE=DIR python3 docs/calibration/profiles.py build/weir [GPU ...] [--experts] [--every N] [--rows FILE.csv] [--keep DIR]

Dense models, or with --experts all aggregated servers of serving/frontier_servers.csv. Three columns: the analytic device; the
profile, with what hosts take beside measured kernels (HOSTS); the profile with the presets' hosts. Skips, with a word, where there is
no WEIR_REFERENCE. A sample of every N-th row is for haste; --keep leaves the profiles there, and servers.jsonl for engine_hosts.py.
"""
import argparse
import collections
import concurrent.futures
import copy
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

import profile_from_tables

# What hosts take a step, us, fitted by engine_hosts.py to the even rows of dense servers on Hopper with profiles, as the presets are with
# the analytic device; vLLM's come out as its preset's (README.md, "Profiles of engines' tables").
HOSTS = {"trtllm": {"step_overhead_us": 106, "worker_step_overhead_us": 222}}
# vLLM's NVFP4 matrices were FlashInfer's CUTLASS kernels (modelopt.py, "flashinfer-cutlass") when its dense servers were measured
# (2025-10), as SGLang's are; its own table of 0.24 is of CuTe DSL's.
GEMMS_OF = {("vllm", "fp4"): "sglang"}
DENSE = "llama", "qwen3-32b"


def measured_servers(weir, reference):
    """servers.jsonl and frontier.jsonl of the study."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([weir, "reproduce", "validation", "--reference", reference, "--only", "servers_", "--out", folder], check=True,
                       capture_output=True)
        for name in ("servers", "frontier"):
            with open(f"{folder}/{name}.jsonl") as file:
                for row in map(json.loads, file):
                    yield dict(row, set=name)


def wanted(row, experts, gpus):
    replicas = row["scenario"]["serving"]["replicas"]
    if gpus and device_of(row["scenario"])["kind"] not in gpus or "role" in replicas[0]:
        return False
    return row["set"] == "frontier" if experts else row["model"].startswith(DENSE)


def device_of(scenario):
    return scenario["cluster"]["nodes"][0]["devices"][0]


def profile_of(row, reference, folder):
    """The folder of the profile that the row's servers have, made once; None where no table is of the GPU."""
    scenario = row["scenario"]
    gpu, types = device_of(scenario)["kind"], scenario["precision"]
    parallelism = scenario["serving"]["replicas"][0]["parallelism"]
    engine, tensor, expert = row["engine"].removesuffix("_v1"), parallelism["tensor"], parallelism["expert"]
    if not glob.glob(f"{reference}/kernels/engines/{gpu}__gemm_*"):
        return None
    experts = None
    if "expert_weights" in types:
        experts = "/".join(dict.fromkeys([types["expert_weights"], types.get("expert_activations", types["activations"])]))
    name = "_".join([gpu, engine, row["model"], types["weights"], *(experts.split("/") if experts else []), types["kv_cache"],
                     f"ep{expert}_tp{tensor}"])
    out = os.path.join(folder, name)
    if not os.path.exists(out):
        profile_from_tables.make(reference + "/kernels/engines", gpu, engine, row["model"], tensor, out, types["weights"],
                                 types["kv_cache"], experts=experts, ep=expert,
                                 gemms_of_engine=GEMMS_OF.get((engine, types["weights"])))
    return out


def with_profile(row, hosts):
    scenario = copy.deepcopy(row["scenario"])
    if not row["profile"]:
        return scenario
    device_of(scenario)["profile"] = row["profile"]
    for replica in scenario["serving"]["replicas"]:
        replica["engine"].update(hosts.get(row["engine"], {}))
    return scenario


def write_scenarios(path, rows):
    """With their profiles, of the servers that presets are fitted to."""
    with open(path, "w") as file:
        for row in rows:
            if row["set"] == "servers":
                kept = {key: row[key] for key in ("group", "engine", "model", "ttft_ms", "tpot_ms")}
                file.write(json.dumps({**kept, "scenario": with_profile(row, {})}) + "\n")


def tpot(weir, scenario):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/scenario.json", "w") as out:
            json.dump(scenario, out)
        ran = subprocess.run([weir, "run", folder + "/scenario.json", "--out", folder + "/out", "--quiet"], capture_output=True,
                             text=True)
        if ran.returncode:
            sys.exit(f"{scenario}: {ran.stderr}")
        with open(folder + "/out/summary.json") as summary:
            return json.load(summary)["mean_tpot_ms"]


def print_errors(title, errors):
    def said(off):
        return f"{100 * sum(map(abs, off)) / len(off):5.1f} % ({100 * sum(off) / len(off):+5.1f})"
    without, beside, presets = zip(*errors)
    print(f"{title:56} {len(errors):3} rows  without {said(without)}  with a profile {said(beside)}  hosts as presets {said(presets)}")


def write_rows(path, rows, simulated):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["group", "input_tokens", "output_tokens", "concurrency", "tpot_ms", "without_ms", "with_ms",
                         "with_hosts_as_presets_ms"])
        for row, times in zip(rows, simulated):
            load = row["scenario"]["workload"]
            writer.writerow([row["group"], *(load["requests"][key]["max"] for key in ("input", "output")),
                             load["arrivals"]["concurrency"], row["tpot_ms"], *times])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("weir")
    parser.add_argument("gpus", nargs="*")
    parser.add_argument("--experts", action="store_true", help="all aggregated servers of frontier_servers.csv")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rows", help="a CSV of each row, measured, without and with")
    parser.add_argument("--keep", help="leaves the profiles and their scenarios in this folder")
    a = parser.parse_args()
    reference = os.environ.get("WEIR_REFERENCE")
    if not reference or not os.path.isdir(reference):
        print("skipped: WEIR_REFERENCE names no folder of measurements")
        return
    rows = [row for row in measured_servers(a.weir, reference) if wanted(row, a.experts, a.gpus)][::a.every]
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            row["profile"] = profile_of(row, reference, os.path.abspath(a.keep or folder))
        if without := sum(row["profile"] is None for row in rows):
            print(f"{without} rows are of GPUs that no table has, and analytic in all columns")
        if a.keep:
            write_scenarios(os.path.join(a.keep, "servers.jsonl"), rows)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            simulated = list(pool.map(lambda row: [tpot(a.weir, s) for s in
                                                   (row["scenario"], with_profile(row, HOSTS), with_profile(row, {}))], rows))
    groups = collections.defaultdict(list)
    for row, times in zip(rows, simulated):
        off = [t / row["tpot_ms"] - 1 for t in times]
        for group in (device_of(row["scenario"])["kind"], row["group"], "~ all"):
            groups[group].append(off)
    for group in sorted(groups):
        print_errors(group, groups[group])
    if a.rows:
        write_rows(a.rows, rows, simulated)


if __name__ == "__main__":
    main()
