#!/usr/bin/env python3
"""How many tokens a second client and front end of AIConfigurator's servers of TensorRT-LLM let through, which their table does not record: tokens/s of
even rows choose it, as a ceiling is one of tokens/s, TTFT judges, with and without the rows that are held up by something that more GPUs do not make
faster (by what was measured alone, sim/studies/validation/closed_loops.h).

    build/weir reproduce validation --only servers_ --reference DIR --out OUT
    python3 docs/calibration/trtllm_load.py build/weir OUT/servers.jsonl [--jobs N] [--seats] [--ceilings TOKENS ...]

Errors are of the logarithm, as TTFT of rows at a ceiling is off by factors. --seats tries each with as many seats as clients too.
"""
import argparse
import copy
import json
import math
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

CEILINGS = [0, 9000, 9500, 10000, 10500, 11000, 11500, 12000]  # output tokens a second; 0: none


def tokens_per_s(row, ttft_ms, tpot_ms):
    """By Little's law."""
    load = row["scenario"]["workload"]
    output = load["requests"]["output"]["max"]
    return 1e3 * load["arrivals"]["concurrency"] * output / (ttft_ms + tpot_ms * (output - 1))


def errors_of(weir, row, seats_of_clients, ceiling):
    """Logarithms of simulated over measured tokens/s and TTFT."""
    scenario = copy.deepcopy(row["scenario"])
    replica = scenario["serving"]["replicas"][0]
    if seats_of_clients:
        replica["batching"]["max_batch_requests"] = scenario["workload"]["arrivals"]["concurrency"]
    replica["engine"].pop("front_end_tokens_per_s", None)
    if ceiling:
        replica["engine"]["front_end_tokens_per_s"] = ceiling
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([weir, "run", "-", "--quiet", "--out", out + "/r"], input=json.dumps(scenario), text=True, check=True, capture_output=True)
        with open(out + "/r/summary.json") as summary:
            result = json.load(summary)
    ttft, tpot = result["mean_ttft_ms"], result["mean_tpot_ms"]
    return math.log(tokens_per_s(row, ttft, tpot) / tokens_per_s(row, row["ttft_ms"], row["tpot_ms"])), math.log(ttft / row["ttft_ms"])


def told(errors):
    if not errors:
        return "none"
    return "%4.1f %% (%+5.1f)" % (100 * sum(map(abs, errors)) / len(errors), 100 * sum(errors) / len(errors))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir")
    parser.add_argument("servers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seats", action="store_true")
    parser.add_argument("--ceilings", type=int, nargs="*", default=CEILINGS)
    arguments = parser.parse_args()
    groups = {}
    with open(arguments.servers) as lines:
        for place, row in enumerate(map(json.loads, lines)):
            if "_trtllm_" in row["group"]:
                groups.setdefault(row["group"], []).append((place, row))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for group, rows in groups.items():
            print(group)
            for seats_of_clients in (False, True) if arguments.seats else (False,):
                for ceiling in arguments.ceilings:
                    errors = list(pool.map(lambda row: errors_of(arguments.weir, row[1], seats_of_clients, ceiling), rows))

                    def of(what, odd, held_up=None):
                        return told([e[what] for e, (place, row) in zip(errors, rows)
                                     if odd in (None, place % 2) and held_up in (None, row["held_up"])])

                    print("  %s, %-20s tokens/s of even rows %s, odd %s; TTFT of all %s, not held up %s" % (
                        "seats of all clients" if seats_of_clients else "seats as loaded",
                        "at most %6d/s:" % ceiling if ceiling else "no ceiling:", of(0, 0), of(0, 1), of(1, None), of(1, None, False)), flush=True)


main()
