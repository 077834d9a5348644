#!/usr/bin/env python3
"""What `weir calibrate` is worth: each measured server is fitted on two of its loads and judged on the others.

    build/weir reproduce validation --only servers_ --only frontier_ --reference DIR --out OUT
    python3 docs/calibration/calibrate.py build/weir OUT/servers.jsonl OUT/frontier.jsonl [--reference DIR] [--loads 0,4 1,3 ...] [--groups NAME ...]
    python3 docs/calibration/calibrate.py build/weir OUT/servers.jsonl --everything

Each line is a measured server and the scenario that it is simulated in. Rows of the two loads that share a
server are written as results of vLLM's benchmark, with their lengths, and fitted, each under its own limits of the scheduler; rows at
the other loads are simulated with the file that comes of it and without. --loads: which two, by their number from the lowest. --everything: what a
fit to all rows of a server would gain on these same rows, and each load by a fit to the others. With --reference,
the two recorded runs of vLLM on RTX GPUs are fitted on their first half and judged on the second.
"""
import argparse
import copy
import csv
import json
import os
import random
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor


def vllm_result(inputs, outputs, **more):
    """A result of vLLM's benchmark as `weir calibrate` reads it."""
    return {"model_id": "", "completed": len(inputs), "request_rate": "inf", "burstiness": 1.0, "request_throughput": 1.0,
            "total_input_tokens": sum(inputs), "total_output_tokens": sum(outputs), "input_lens": inputs, "output_lens": outputs, **more}


def write(path, document):
    with open(path, "w") as out:
        json.dump(document, out)


def simulate(weir, scenario, folder):
    """summary.json of a scenario, and its requests' TTFT and TPOT in ms."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        write(out + "/scenario.json", scenario)
        subprocess.run([weir, "run", out + "/scenario.json", "--out", out + "/out", "--quiet"], check=True, capture_output=True)
        with open(out + "/out/summary.json") as summary, open(out + "/out/requests.csv") as requests:
            return json.load(summary), list(csv.DictReader(requests))


def calibrated(scenario, file):
    scenario = copy.deepcopy(scenario)
    for replica in scenario["serving"]["replicas"]:
        replica["engine"]["calibration"] = file
    return scenario


def calibrate(weir, files, scenarios, folder):
    """The file that was written, or None, and why it was not."""
    out = folder + "/calibration.json"
    if os.path.exists(out):
        os.remove(out)
    given = [word for scenario in scenarios for word in ("--scenario", scenario)]
    done = subprocess.run([weir, "calibrate", *files, *given, "--out", out], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    return (out if done.returncode == 0 else None), done


def load(row):
    return row["scenario"]["workload"]["arrivals"]["concurrency"]


def without_workload(row):
    return {key: value for key, value in row["scenario"].items() if key != "workload"}


def server_but_limits(row):
    """What makes two rows one server: all but the load and the scheduler's limits, which followed it."""
    server = copy.deepcopy(without_workload(row))
    for replica in server["serving"]["replicas"]:
        del replica["batching"]
    return server


def largest_alike(rows):
    """The most rows that share a server."""
    servers = [server_but_limits(row) for row in rows]
    most = max(servers, key=servers.count)
    return [row for row, server in zip(rows, servers) if server == most]


def judge_servers(weir, rows, numbers, folder):
    loads = sorted({load(row) for row in rows})
    if max(numbers) >= len(loads) - 1:
        return None
    chosen = [loads[n] for n in numbers]
    fitted = largest_alike([row for row in rows if load(row) in chosen])
    if len({load(row) for row in fitted}) < 2:
        return None
    file, done = calibrate(weir, *as_benchmarks(fitted, folder), folder)
    others = [row for row in rows if load(row) not in chosen]

    def error(scenario, row):
        return abs(simulate(weir, scenario, folder)[0]["mean_tpot_ms"] / row["tpot_ms"] - 1)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        before = list(pool.map(lambda row: error(row["scenario"], row), others))
        after = list(pool.map(lambda row: error(calibrated(row["scenario"], file), row), others)) if file else before
    return 100 * sum(before) / len(before), 100 * sum(after) / len(after), file, done.stderr.strip().split("\n")[-1]


def as_benchmarks(rows, folder):
    """Files of vLLM's benchmark, one a row, and of the servers that they are of."""
    files, scenarios = [], []
    for row in rows:
        lengths = row["scenario"]["workload"]["requests"]
        drawn = random.Random(load(row))
        inputs, outputs = ([drawn.randint(lengths[side]["min"], lengths[side]["max"]) for _ in range(10 * load(row))]
                           for side in ("input", "output"))
        files.append("%s/c%d_%d_%d.json" % (folder, load(row), lengths["input"]["max"], lengths["output"]["max"]))
        write(files[-1], vllm_result(inputs, outputs, max_concurrency=load(row), mean_ttft_ms=row["ttft_ms"], mean_tpot_ms=row["tpot_ms"]))
        scenarios.append(files[-1].replace(".json", "_server.json"))
        write(scenarios[-1], without_workload(row))
    return files, scenarios


def fit_everything(weir, groups, folder):
    """TPOT as presets have it, where a fit to all rows of a server would bring them, and each load by a fit to the others."""
    told = []
    for group, rows in groups.items():
        _, done = calibrate(weir, *as_benchmarks(largest_alike(rows), folder), folder)
        line = next(line for line in done.stdout.split("\n") if line.strip().startswith("mean of |error|"))
        told.append([float(word) for word in line.split("|error|")[1].replace("%", "").split()[:3]])
        print("%-60s TPOT %4.1f %%, fitted to all rows %4.1f %%, held out %4.1f %%" % (group, *told[-1]), flush=True)
    print("%-60s TPOT %4.2f %%, fitted to all rows %4.2f %%, held out %4.2f %%" % ("mean", *(sum(t) / len(told) for t in zip(*told))))


RTX = {"rtx4090": ("vllm_rtx4090_llama3.1-8b.csv", {"blocks": 2588}, 256), "rtx_pro_6000": ("vllm_rtxpro6000_llama3.1-8b.csv", {}, 128)}


def judge_recorded(weir, reference, device, folder):
    """What `weir calibrate` says of a recorded run, whose second half it judges by a fit to the first."""
    name, cache, seats = RTX[device]
    with open(reference + "/serving/" + name) as table:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(table)]
    scenario = {"model": "llama3.1-8b", "cluster": {"nodes": [{"devices": [{"kind": device, "count": 1}]}]},
                "serving": {"replicas": [{"batching": {"kind": "chunked_prefill", "max_batch_requests": seats, "max_batch_tokens": 2048},
                                          "kv_cache": {"block_tokens": 16, **cache}, "engine": {"kind": "vllm", "version": "0.19"}, "max_model_len": 32768}]}}

    def result(rows):
        return vllm_result([int(r["input_tokens"]) for r in rows], [int(r["output_tokens"]) for r in rows], request_rate=10.0,
                           start_times=[r["arrival_s"] for r in rows], ttfts=[r["ttft_s"] for r in rows],
                           itls=[[(r["e2e_s"] - r["ttft_s"]) / max(1, r["output_tokens"] - 1)] * int(r["output_tokens"] - 1) for r in rows])

    write(folder + "/all.json", result(rows))
    write(folder + "/scenario.json", scenario)
    _, done = calibrate(weir, [folder + "/all.json"], [folder + "/scenario.json"], folder)
    return done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir")
    parser.add_argument("servers", nargs="+")
    parser.add_argument("--reference")
    parser.add_argument("--loads", nargs="*", default=["0,4", "1,3"])
    parser.add_argument("--groups", nargs="*", default=[])
    parser.add_argument("--everything", action="store_true")
    arguments = parser.parse_args()
    weir = os.path.abspath(arguments.weir)
    groups = {}
    for name in arguments.servers:
        with open(name) as lines:
            for row in map(json.loads, lines):
                if "concurrency" in row["scenario"]["workload"]["arrivals"] and "_apart_" not in row["group"] and row.get("tpot_ms"):
                    groups.setdefault(row["group"], []).append(row)
    judged = []

    def tell(name, judgement):
        before, after, file, why = judgement
        print("%-60s TPOT of what was not fitted: %5.2f %% -> %5.2f %%%s" % (name, before, after, "" if file else "  " + why), flush=True)
        judged.append((before, after, file is not None))

    with tempfile.TemporaryDirectory() as folder:
        if arguments.everything:
            return fit_everything(weir, groups, folder)
        for group, rows in groups.items():
            for numbers in arguments.loads:
                if arguments.groups and not any(part in group for part in arguments.groups):
                    continue
                judgement = judge_servers(weir, rows, [int(n) for n in numbers.split(",")], folder)
                if judgement:
                    tell("%s, loads %s" % (group, numbers), judgement)
        for device in RTX if arguments.reference else []:
            print("%s\n%s" % (device, judge_recorded(weir, arguments.reference, device, folder)))
    written = [j for j in judged if j[2]]
    print("%d of %d written; of these the error falls in %d, from %.2f to %.2f %% in the mean" % (
        len(written), len(judged), sum(after < before for before, after, _ in written),
        sum(j[0] for j in written) / max(1, len(written)), sum(j[1] for j in written) / max(1, len(written))))


main()
