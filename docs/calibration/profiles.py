"""Dense servers of WEIR_REFERENCE/serving with and without profiles of WEIR_REFERENCE/kernels/engines: the same load, the same
engine, mean |TPOT error| by GPU and by group. Judges profile_from_tables.py and the profiled device, fits nothing.

    WEIR_REFERENCE=DIR python3 docs/calibration/profiles.py build/weir [GPU ...] [--every N] [--rows FILE.csv]

Skips, with a word, where there is no WEIR_REFERENCE. A sample of every N-th row is for haste.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

import profile_from_tables
import servers

# The types that Weir can run, as the rows name them.
RUNS = {"bf16", "fp8", "fp4"}


def dense_rows(reference):
    with open(reference + "/serving/datacenter_gpus.csv") as file:
        rows = list(csv.DictReader(file))
    with open(reference + "/serving/frontier_servers.csv") as file:
        for row in csv.DictReader(file):
            if row["model"] != "llama3.1-70b" or row["mode"] != "agg" or row["judge_tpot"] != "1":
                continue
            rows.append(dict(row, model="meta-llama/Llama-3.1-70B", weights={"nvfp4": "fp4"}.get(row["gemm"], row["gemm"])))
    return rows


def profile_of(row, reference, folder):
    out = os.path.join(folder, "_".join([row["system"], row["engine"], os.path.basename(row["model"]), row["weights"],
                                         "tp" + row["tp"]]))
    if not os.path.exists(out):
        precision = scenario(row)["precision"]
        profile_from_tables.make(reference + "/kernels/engines", row["system"], row["engine"], servers.MODELS[row["model"]],
                                 int(row["tp"]), out, precision["weights"], precision["kv_cache"])
    return out


def scenario(row, profile=None):
    s = servers.scenario(row)
    if profile:
        s["cluster"]["nodes"][0]["devices"][0]["profile"] = profile
    return s


def tpot(weir, row, profile):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/scenario.json", "w") as out:
            json.dump(scenario(row, profile), out)
        ran = subprocess.run([weir, "run", folder + "/scenario.json", "--out", folder + "/out", "--quiet"], capture_output=True,
                             text=True)
        if ran.returncode:
            sys.exit(f"{row}: {ran.stderr}")
        with open(folder + "/out/summary.json") as summary:
            return json.load(summary)["mean_tpot_ms"]


def print_errors(title, errors):
    def said(all_errors):
        return f"{100 * sum(map(abs, all_errors)) / len(all_errors):5.1f} % ({100 * sum(all_errors) / len(all_errors):+5.1f})"
    without, with_profile = zip(*errors)
    print(f"{title:50} {len(errors):3} rows  without {said(without)}  with a profile {said(with_profile)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("weir")
    parser.add_argument("gpus", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rows", help="a CSV of each row, measured, without and with")
    a = parser.parse_args()
    reference = os.environ.get("WEIR_REFERENCE")
    if not reference or not os.path.isdir(reference):
        print("skipped: WEIR_REFERENCE names no folder of measurements")
        return
    rows = [r for r in dense_rows(reference) if r["weights"] in RUNS and (not a.gpus or r["system"] in a.gpus)][::a.every]
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            row["profile"] = profile_of(row, reference, folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            both = list(pool.map(lambda row: [tpot(a.weir, row, p) for p in (None, row["profile"])], rows))
    groups = collections.defaultdict(list)
    for row, simulated in zip(rows, both):
        error = [s / float(row["tpot_ms"]) - 1 for s in simulated]
        for group in (row["system"], " ".join([row[k] for k in ("system", "engine", "model", "weights")] + ["tp" + row["tp"]])):
            groups[group].append(error)
    for group in sorted(groups):
        print_errors(group, groups[group])
    if a.rows:
        keys = ["system", "engine", "model", "weights", "tp", "input_tokens", "output_tokens", "concurrency", "tpot_ms"]
        with open(a.rows, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(keys + ["without_ms", "with_ms"])
            writer.writerows([row[k] for k in keys] + simulated for row, simulated in zip(rows, both))


if __name__ == "__main__":
    main()
