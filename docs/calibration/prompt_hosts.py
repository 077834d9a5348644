"""What steps with prompts take an engine's host (`eager_step_us`, `launch_us`), by the TTFT of its measured servers, and what TPOT of a
model becomes where its servers are left out of that.

    build/weir reproduce validation --reference DIR --only servers_ --only frontier_ --out OUT   # leaves OUT/servers.jsonl, frontier.jsonl
    python3 docs/calibration/prompt_hosts.py build/weir ENGINE OUT/servers.jsonl OUT/frontier.jsonl --steps US,US --launches US,US [--jobs N]

Whole servers that were measured after a warm-up say what TTFT is (mean |error|, each model as much as any other); all whole ones say what TPOT is.
The grid is what is tried; the preset's own values should be on it.
"""
import argparse
import collections
import concurrent.futures
import copy
import itertools
import json
import subprocess
import tempfile


def whole_servers(files, engine):
    for name in files:
        with open(name) as file:
            for line in file:
                server = json.loads(line)
                if server["engine"] == engine and "role" not in server["scenario"]["serving"]["replicas"][0]:
                    yield server


def errors(weir, server, step_us, launch_us):
    scenario = copy.deepcopy(server["scenario"])
    scenario["serving"]["replicas"][0]["engine"].update({"eager_step_us": step_us, "launch_us": launch_us})
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([weir, "run", "-", "--quiet", "--out", out + "/r"], input=json.dumps(scenario), text=True, check=True,
                       capture_output=True)
        with open(out + "/r/summary.json") as file:
            summary = json.load(file)
    return [abs(100 * (summary[f"mean_{what}_ms"] / server[f"{what}_ms"] - 1)) for what in ("ttft", "tpot")]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir")
    parser.add_argument("engine")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--steps", required=True, type=lambda text: [float(us) for us in text.split(",")])
    parser.add_argument("--launches", required=True, type=lambda text: [float(us) for us in text.split(",")])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    servers = list(whole_servers(arguments.files, arguments.engine))
    warm = [server["scenario"]["workload"]["arrivals"].get("warmup_requests", 0) > 0 for server in servers]
    models = sorted({server["model"] for server in servers})
    ttft, tpot = collections.defaultdict(dict), collections.defaultdict(dict)  # by point of the grid, by model
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for point in itertools.product(arguments.steps, arguments.launches):
            found = list(pool.map(lambda server: errors(arguments.weir, server, *point), servers))
            for model in models:
                of_it = [i for i, server in enumerate(servers) if server["model"] == model]
                tpot[point][model] = mean(found[i][1] for i in of_it)
                if any(warm[i] for i in of_it):
                    ttft[point][model] = mean(found[i][0] for i in of_it if warm[i])
            print(f"step {point[0]:6.0f} us, launch {point[1]:4.0f} us: TTFT {mean(ttft[point].values()):5.1f} %, "
                  f"TPOT {mean(tpot[point].values()):5.1f} %", flush=True)

    def best(without=None):
        return min(ttft, key=lambda point: mean(e for model, e in ttft[point].items() if model != without))

    print("of all:", best())
    for model in models:
        rows = sum(server["model"] == model for server in servers)
        point = best(model)
        print(f"{model}, {rows} servers: without it {point}, its TPOT {tpot[point][model]:.1f} for {tpot[best()][model]:.1f} %")


main()
