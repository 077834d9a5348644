"""What measured servers take beyond the kernels, group by group (see README.md, "Servers").

WEIR_REFERENCE=/path/to/reference python3 docs/calibration/servers.py build/weir [even|odd] [SUSTAINED ...]

Simulates each closed loop of serving/datacenter_gpus.csv to its steady state, with 0.5 ms of host time a step and
none a sequence, and regresses (measured - simulated) time of a whole request, TTFT included, on its prompt tokens,
output tokens and steps. For each SUSTAINED the device's sustained_compute is overridden.
"""

import collections, concurrent.futures, csv, json, os, subprocess, sys, tempfile

import numpy

MODELS = {"Qwen/Qwen3-32B": "qwen3-32b", "meta-llama/Llama-3.1-8B-Instruct": "llama3.1-8b",
          "meta-llama/Llama-3.1-70B": "llama3.1-70b"}


def scenario(row, sustained):
    number = "fp8" if row["weights"] == "fp8" else "bf16"
    concurrency = int(row["concurrency"])
    trtllm = row["engine"] == "trtllm"
    return {
        "model": MODELS[row["model"]],
        "precision": {"weights": number, "activations": number, "kv_cache": number},
        "cluster": {"nodes": [{"devices": [{"kind": row["system"], "count": 8, "sustained_compute": sustained}],
                               "interconnect": "nvlink4_switch"}]},
        "serving": {"replicas": [{"parallelism": {"tensor": int(row["tp"])},
                                  "kv_cache": {"free_memory_fraction": 0.9} if trtllm else {},
                                  "engine": {"kind": "trtllm" if trtllm else "vllm_v1", "step_overhead_us": 500}}]},
        "workload": {"requests": {"kind": "fixed", "count": 20 * concurrency,
                                  "input_tokens": int(row["input_tokens"]),
                                  "output_tokens": int(row["output_tokens"])},
                     "arrivals": {"kind": "closed_loop", "concurrency": concurrency, "desynchronise": True,
                                  "warmup_requests": concurrency}}}


def simulate(weir, row, sustained):
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/scenario.json"
        with open(file, "w") as out:
            json.dump(scenario(row, sustained), out)
        subprocess.run([weir, "run", file, "--out", folder + "/out", "--quiet"], check=True, capture_output=True)
        with open(folder + "/out/summary.json") as summary:
            return json.load(summary)


def missing(rows, results):
    """Microseconds a prompt token, an output token and a step, and the mean error before and after."""
    features, gaps, weights = [], [], []
    for row, result in zip(rows, results):
        concurrency, prompt, output = (int(row[k]) for k in ("concurrency", "input_tokens", "output_tokens"))
        measured = float(row["ttft_ms"]) + (output - 1) * float(row["tpot_ms"])
        features.append([concurrency * prompt, concurrency * output, output])
        gaps.append(1e3 * (measured - result["mean_e2el_ms"]))
        weights.append(1e-3 / measured)
    weights = numpy.array(weights)
    gaps = numpy.array(gaps) * weights
    features = numpy.array(features, float) * weights[:, None]
    fit = numpy.linalg.lstsq(features, gaps, rcond=None)[0]
    return fit, abs(gaps).mean(), abs(features @ fit - gaps).mean()


def main(weir, which, *sustained):
    with open(os.environ["WEIR_REFERENCE"] + "/serving/datacenter_gpus.csv") as file:
        rows = list(csv.DictReader(file))[0 if which == "even" else 1::2]
    for share in map(float, sustained):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda row: simulate(weir, row, share), rows))
        groups = collections.defaultdict(list)
        for row, result in zip(rows, results):
            groups[tuple(row[k] for k in ("system", "engine", "model", "weights", "tp"))].append((row, result))
        for group, members in groups.items():
            (prompt, output, step), before, after = missing(*zip(*members))
            print(f"{share} {' '.join(group):52} {len(members):3} rows  us a prompt token {prompt:6.1f}  a sequence "
                  f"{output:6.1f}  a step {step:6.0f}  error {100 * before:4.1f} % -> {100 * after:4.1f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
