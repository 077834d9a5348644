#!/usr/bin/env python3
"""Which share of the prompts of Mooncake's conversation trace KV caches of different sizes find (see kv_reuse.md).

    python3 docs/sweeps/mooncake_cache_size.py build/weir TRACES

TRACES holds mooncake_conversation.csv (a row a request) and mooncake_conversation_hash_ids.txt.gz (its ids of blocks of 512
tokens, a line a row); the trace is not shipped. Writes mooncake_cache_size.csv beside this script, which mooncake_cache_size.gp draws.

One llama3.1-8b on an H100 with all the memory that a size wants, so that its speed alone is a real one's. Requests come in the
trace's order and a hundred times as far apart (RATE_SCALE), which keeps the device in steps 4 % of the time: a prompt is there
before its next turn comes, and next to nothing is held, so that the cache's size alone says what is found.
"""
import concurrent.futures
import gzip
import json
import os
import subprocess
import sys
import tempfile

BLOCK = 512  # tokens
RATE_SCALE = 0.01
SIZES = [round(1000 * 2 ** (step / 2)) for step in range(17)] + [400000]  # blocks; 400,000 keep all there is
INDICES = ["blocks", "radix_tree"]


def scenario(traces, blocks, index):
    device = {"kind": "h100_sxm", "count": 1, "memory_capacity_gib": 60000000}
    return {
        "model": "llama3.1-8b",
        "cluster": {"nodes": [{"devices": [device]}]},
        "serving": {"replicas": [{"batching": {"kind": "chunked_prefill", "max_batch_tokens": 8192},
                                  "kv_cache": {"block_tokens": BLOCK, "blocks": blocks, "prefix_index": index}}]},
        "workload": {"requests": {"kind": "csv", "file": os.path.abspath(traces) + "/mooncake_conversation.csv",
                                  "hash_ids": "ids.txt", "hash_block_tokens": BLOCK},
                     "arrivals": {"kind": "trace", "rate_scale": RATE_SCALE}}}


def share(weir, traces, folder, blocks, index):
    name = "%s/%s_%d" % (folder, index, blocks)
    with open(name + ".json", "w") as out:
        json.dump(scenario(traces, blocks, index), out)
    subprocess.run([weir, "run", name + ".json", "--out", name, "--quiet"], check=True, capture_output=True)
    with open(name + "/summary.json") as file:
        summary = json.load(file)
    assert summary["completed"] == 12031
    return summary["prefix_cache"]["local_hit_tokens"] / summary["prefix_cache"]["prompt_tokens"]


def main(weir, traces):
    points = [(blocks, index) for blocks in SIZES for index in INDICES]
    with tempfile.TemporaryDirectory() as folder:
        with gzip.open(traces + "/mooncake_conversation_hash_ids.txt.gz") as packed, open(folder + "/ids.txt", "wb") as ids:
            ids.write(packed.read())
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            shares = dict(zip(points, pool.map(lambda point: share(weir, traces, folder, *point), points)))
    with open(os.path.splitext(os.path.abspath(__file__))[0] + ".csv", "w") as out:
        print("cache_blocks,cache_million_tokens," + ",".join("found_share_" + index for index in INDICES), file=out)
        for blocks in SIZES:
            print("%d,%.3f,%s" % (blocks, blocks * BLOCK / 1e6, ",".join("%.4f" % shares[blocks, index] for index in INDICES)),
                  file=out)


main(*sys.argv[1:])
