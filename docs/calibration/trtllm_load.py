#!/usr/bin/env python3
"""What the table does not record of AIConfigurator's servers of TensorRT-LLM: how many seats they had, and how many tokens a second their front
end and client let through. TTFT of even and of odd rows, under each of what is tried: what one half chooses, the other judges.

    build/weir reproduce validation --only servers_ --reference DIR --out OUT
    python3 docs/calibration/trtllm_load.py build/weir OUT/servers.jsonl [--jobs N]

Seats are 128, as the engine's template has it, or one less than the clients. Errors are of the logarithm, as TTFT of rows at a ceiling is off by factors.
"""
import argparse
import copy
import json
import math
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

CEILINGS = [0, 9000, 10000, 11000, 12000]  # output tokens a second; 0: none


def ttft(weir, row, seats_less, ceiling):
    scenario = copy.deepcopy(row["scenario"])
    replica = scenario["serving"]["replicas"][0]
    clients = scenario["workload"]["arrivals"]["concurrency"]
    replica["batching"]["max_batch_requests"] = clients - 1 if seats_less else 128
    replica["engine"].pop("front_end_tokens_per_s", None)
    if ceiling:
        replica["engine"]["front_end_tokens_per_s"] = ceiling
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([weir, "run", "-", "--quiet", "--out", out + "/r"], input=json.dumps(scenario), text=True, check=True, capture_output=True)
        with open(out + "/r/summary.json") as summary:
            return math.log(json.load(summary)["mean_ttft_ms"] / row["ttft_ms"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir")
    parser.add_argument("servers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    groups = {}
    with open(arguments.servers) as lines:
        for row in map(json.loads, lines):
            if "_trtllm_" in row["group"]:
                groups.setdefault(row["group"], []).append(row)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for group, rows in groups.items():
            print(group)
            for seats_less in (False, True):
                for ceiling in CEILINGS:
                    errors = list(pool.map(lambda row: ttft(arguments.weir, row, seats_less, ceiling), rows))
                    even, odd = (sum(map(abs, half)) / len(half) for half in (errors[::2], errors[1::2]))
                    print("  %s, %s: even rows %4.1f %%, odd rows %4.1f %%, bias %+5.1f %%" % (
                        "a seat less than clients" if seats_less else "128 seats               ",
                        "at most %6d tokens/s" % ceiling if ceiling else "no ceiling            ",
                        100 * even, 100 * odd, 100 * sum(errors) / len(errors)), flush=True)


main()
