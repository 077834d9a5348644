"""What measured servers take beyond the kernels, group by group (see README.md, "Servers").

WEIR_REFERENCE=/path/to/reference python3 docs/calibration/servers.py build/weir errors [even|odd|all] [POINTER=JSON ...]
WEIR_REFERENCE=/path/to/reference python3 docs/calibration/servers.py build/weir kernels [even|odd|all] [SUSTAINED ...]
WEIR_REFERENCE=/path/to/reference python3 docs/calibration/servers.py build/weir blackwell

Plays each closed loop of serving/datacenter_gpus.csv under its load, as `weir reproduce validation` does (load_of in
sim/studies/validation/measured.cpp); POINTER=JSON is set in all of their scenarios.
errors: mean absolute error and bias of mean TPOT and mean TTFT, a group at a time and an engine at a time.
kernels: with 0.5 ms of host time a step and none a sequence; regresses (measured - simulated) time of a whole request, TTFT
  included, on its prompt tokens, output tokens and steps. For each SUSTAINED the device's sustained_compute is overridden.
blackwell: errors of the dense servers on B200 in serving/frontier_servers.csv, to which nothing is fitted.
"""

import collections, csv, json, os, subprocess, sys, tempfile

import numpy

MODELS = {"Qwen/Qwen3-32B": "qwen3-32b", "meta-llama/Llama-3.1-8B-Instruct": "llama3.1-8b",
          "meta-llama/Llama-3.1-70B": "llama3.1-70b"}
DEVICE = "/cluster/nodes/0/devices/0"
REPLICA = "/serving/replicas/0"


def of_inferencex(row):
    return row["system"] == "h200_sxm" or "origin" in row


def warmed_up(row):
    """InferenceX has a warm-up since then."""
    return not of_inferencex(row) or row.get("measured", "") >= "2026-01-21"


def workload(row):
    concurrency, prompt, output = (int(row[k]) for k in ("concurrency", "input_tokens", "output_tokens"))
    warmup = 2 * concurrency if warmed_up(row) else 0
    requests = {"kind": "fixed", "input_tokens": prompt, "output_tokens": output}
    if of_inferencex(row):
        requests = {"kind": "uniform", "input": {"min": 4 * prompt // 5, "max": prompt},
                    "output": {"min": 4 * output // 5, "max": output}}
    return {"requests": {**requests, "count": warmup + 10 * concurrency},
            "arrivals": {"kind": "closed_loop", "concurrency": concurrency, "warmup_requests": warmup,
                         "restart_after_warmup": warmup > 0}}


def batching(row):
    if of_inferencex(row):
        if row["engine"] == "trtllm":
            return {"kind": "orca", "max_batch_requests": 2048, "max_batch_tokens": 16384}
        seats = int(row["concurrency"]) if row["system"] == "h200_sxm" else 512
        return {"kind": "chunked_prefill", "max_batch_requests": seats, "max_batch_tokens": 8192}
    trtllm = row["engine"] == "trtllm"
    return {"kind": "orca" if trtllm else "chunked_prefill", "max_batch_requests": 128 if trtllm else 1024,
            "max_batch_tokens": 128 + int(row["input_tokens"])}


def engine_of(row):
    """vLLM on B200 ran with FlashInfer's all-reduce and with graphs of decodes only (InferenceX of 2025-10-29, 70b_fp4_b200_docker.sh)."""
    if row["engine"] == "trtllm":
        return {"kind": "trtllm"}
    if row["system"].startswith("b200"):
        return {"kind": "vllm_v1", "collectives": "trtllm", "cuda_graph_prompts": False}
    return {"kind": "vllm_v1"}


def keys(row):
    """What a row's scenario differs in from another's."""
    number = "fp8_block" if row["weights"] == "fp8" and row["model"].startswith("Qwen/Qwen3") else row["weights"]
    trtllm = row["engine"] == "trtllm"
    return {"/model": MODELS[row["model"]],
            "/precision": {"weights": number, "activations": number, "kv_cache": number if number == "bf16" else "fp8"},
            DEVICE + "/kind": row["system"],
            "/cluster/nodes/0/interconnect": "nvlink5_switch" if row["system"].startswith("b200") else "nvlink4_switch",
            REPLICA + "/parallelism/tensor": int(row["tp"]),
            REPLICA + "/batching": batching(row),
            REPLICA + "/kv_cache": {"free_memory_fraction": 0.9} if trtllm else {},
            REPLICA + "/engine": engine_of(row),
            "/workload": workload(row)}


def scenario(row):
    own = keys(row)
    return {"model": own["/model"], "precision": own["/precision"],
            "cluster": {"nodes": [{"devices": [{"kind": row["system"], "count": 8}], "interconnect": own["/cluster/nodes/0/interconnect"]}]},
            "serving": {"replicas": [{"parallelism": {"tensor": int(row["tp"])}, "batching": batching(row),
                                      "kv_cache": own[REPLICA + "/kv_cache"],
                                      "engine": own[REPLICA + "/engine"]}]},
            "workload": own["/workload"]}


def simulate(weir, rows, settings=({},)):
    """summary.json's means [row][setting], by one sweep over all of them; a setting is {pointer: value}."""
    own, base = [keys(row) for row in rows], scenario(rows[0])
    names = sorted({name for setting in settings for name in setting})
    for name in names:  # a pointer that the scenario lacks cannot vary
        place = base
        *path, last = name.split("/")[1:]
        for key in path:
            place = place[int(key) if isinstance(place, list) else key]
        place.setdefault(last, next(s[name] for s in settings if name in s))
    axes = [{name: [k[name] for k in own] for name in own[0]}]
    if names:
        axes.append({name: [setting[name] for setting in settings] for name in names})
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/sweep.json", "w") as out:
            json.dump({"scenario": base, "zip": axes}, out)
        subprocess.run([weir, "sweep", folder + "/sweep.json", "--out", folder + "/out", "--jobs", str(os.cpu_count())],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(folder + "/out/results.csv") as file:
            results = list(csv.DictReader(file))
    assert len(results) == len(rows) * len(settings)
    return [results[i:i + len(settings)] for i in range(0, len(results), len(settings))]


def engine_keys(text):
    pointer, _, value = text.partition("=")
    return pointer, json.loads(value)


def group_of(row):
    return " ".join(row[k] for k in ("system", "engine", "model", "weights", "tp"))


def grouped(rows):
    """Indices of the rows by group, by engine, and of all."""
    groups = collections.defaultdict(list)
    for i, row in enumerate(rows):
        groups[group_of(row)].append(i)
    for i, row in enumerate(rows):
        groups[row["engine"]].append(i)
    groups["all"] = list(range(len(rows)))
    return groups


def measured(rows, what):
    return numpy.array([float(row[what]) for row in rows])


def errors(weir, rows, *settings):
    results = [r[0] for r in simulate(weir, rows, [dict(map(engine_keys, settings))])]
    off = {what: numpy.array([float(r[f"mean_{what}"]) for r in results]) / measured(rows, what) - 1
           for what in ("tpot_ms", "ttft_ms")}
    for name, members in grouped(rows).items():
        print(f"{name:52} {len(members):3} rows " + "  ".join(
            f"{what[:4].upper()} {100 * abs(e[members]).mean():5.1f} % bias {100 * e[members].mean():+6.1f} %"
            for what, e in off.items()))


def missing(rows, results):
    """Microseconds a prompt token, an output token and a step, and the mean error before and after."""
    features, gaps, weights = [], [], []
    for row, result in zip(rows, results):
        concurrency, prompt, output = (int(row[k]) for k in ("concurrency", "input_tokens", "output_tokens"))
        took = float(row["ttft_ms"]) + (output - 1) * float(row["tpot_ms"])
        features.append([concurrency * prompt, concurrency * output, output])
        gaps.append(1e3 * (took - float(result["mean_e2el_ms"])))
        weights.append(1e-3 / took)
    weights = numpy.array(weights)
    gaps = numpy.array(gaps) * weights
    features = numpy.array(features, float) * weights[:, None]
    fit = numpy.linalg.lstsq(features, gaps, rcond=None)[0]
    return fit, abs(gaps).mean(), abs(features @ fit - gaps).mean()


def kernels(weir, rows, *sustained):
    for share in map(float, sustained):
        results = simulate(weir, rows, [{DEVICE + "/sustained_compute": share, REPLICA + "/engine/step_overhead_us": 500,
                                         REPLICA + "/engine/sequence_overhead_us": 0}])
        for group, members in grouped(rows).items():
            (prompt, output, step), before, after = missing([rows[i] for i in members], [results[i][0] for i in members])
            print(f"{share} {group:52} {len(members):3} rows  us a prompt token {prompt:6.1f}  a sequence "
                  f"{output:6.1f}  a step {step:6.0f}  error {100 * before:4.1f} % -> {100 * after:4.1f} %")


def blackwell(weir):
    with open(os.environ["WEIR_REFERENCE"] + "/serving/frontier_servers.csv") as file:
        rows = [r for r in csv.DictReader(file)
                if r["model"] == "llama3.1-70b" and r["judge_tpot"] == "1" and r["mode"] == "agg"]
    for row in rows:
        row.update(model="meta-llama/Llama-3.1-70B", weights={"fp8": "fp8", "nvfp4": "fp4"}[row["gemm"]])
    errors(weir, rows)


def main(weir, what, which="all", *more):
    if what == "blackwell":
        return blackwell(weir)
    with open(os.environ["WEIR_REFERENCE"] + "/serving/datacenter_gpus.csv") as file:
        rows = list(csv.DictReader(file))[{"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}[which]]
    {"errors": errors, "kernels": kernels}[what](weir, rows, *more)


if __name__ == "__main__":
    main(*sys.argv[1:])
