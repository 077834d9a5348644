"""What measured servers take beyond the kernels, group by group (see README.md, "Servers").

WEIR_REFERENCE=/path/to/reference python3 docs/calibration/servers.py build/weir kernels [even|odd] [SUSTAINED ...]
WEIR_REFERENCE=/path/to/reference python3 docs/calibration/servers.py build/weir host [even|odd|all] [LOOPS]

Simulates each closed loop of serving/datacenter_gpus.csv.
kernels: in its steady state, with 0.5 ms of host time a step and none a sequence; regresses (measured - simulated)
  time of a whole request, TTFT included, on its prompt tokens, output tokens and steps. For each SUSTAINED the
  device's sustained_compute is overridden.
host: over a grid of host times, with LOOPS requests for each in flight (4, as `weir reproduce validation`); prints
  those with the least mean |TPOT error|, a group at a time and an engine at a time, and what the presets give.
"""

import collections, concurrent.futures, csv, json, os, subprocess, sys, tempfile

import numpy

MODELS = {"Qwen/Qwen3-32B": "qwen3-32b", "meta-llama/Llama-3.1-8B-Instruct": "llama3.1-8b",
          "meta-llama/Llama-3.1-70B": "llama3.1-70b"}
STEADY = 20  # requests for each in flight: the drain at the end is nothing


def scenario(row, sustained=None, step_us=500, sequence_us=0, loops=STEADY):
    number = "bf16" if row["weights"] != "fp8" else "fp8_block" if row["model"].startswith("Qwen/Qwen3") else "fp8"
    concurrency = int(row["concurrency"])
    trtllm = row["engine"] == "trtllm"
    device = {"kind": row["system"], "count": 8}
    if sustained is not None:
        device["sustained_compute"] = sustained
    return {
        "model": MODELS[row["model"]],
        "precision": {"weights": number, "activations": number, "kv_cache": number.split("_")[0]},
        "cluster": {"nodes": [{"devices": [device], "interconnect": "nvlink4_switch"}]},
        "serving": {"replicas": [{"parallelism": {"tensor": int(row["tp"])},
                                  "kv_cache": {"free_memory_fraction": 0.9} if trtllm else {},
                                  "engine": {"kind": "trtllm" if trtllm else "vllm_v1", "step_overhead_us": step_us,
                                             "sequence_overhead_us": sequence_us}}]},
        "workload": {"requests": {"kind": "fixed", "count": loops * concurrency,
                                  "input_tokens": int(row["input_tokens"]),
                                  "output_tokens": int(row["output_tokens"])},
                     "arrivals": {"kind": "closed_loop", "concurrency": concurrency, "desynchronise": True,
                                  "warmup_requests": concurrency}}}


def simulate(weir, row, *settings):
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/scenario.json"
        with open(file, "w") as out:
            json.dump(scenario(row, *settings), out)
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


def grouped(rows, results):
    groups = collections.defaultdict(list)
    for row, result in zip(rows, results):
        groups[tuple(row[k] for k in ("system", "engine", "model", "weights", "tp"))].append((row, result))
    return groups


def kernels(weir, rows, *sustained):
    for share in map(float, sustained):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda row: simulate(weir, row, share), rows))
        for group, members in grouped(rows, results).items():
            (prompt, output, step), before, after = missing(*zip(*members))
            print(f"{share} {' '.join(group):52} {len(members):3} rows  us a prompt token {prompt:6.1f}  a sequence "
                  f"{output:6.1f}  a step {step:6.0f}  error {100 * before:4.1f} % -> {100 * after:4.1f} %")


STEPS = [0, 300, 500, 800, 1200]  # us; TPOT is linear between them, and between sequence times, to 0.1 %
SEQUENCES = [0, 20, 40, 60, 80]
PRESETS = {"trtllm": (300, 15), "vllm": (500, 20)}


def host(weir, rows, loops="4"):
    def tpots(row):
        return [[simulate(weir, row, None, step, sequence, int(loops))["mean_tpot_ms"] for sequence in SEQUENCES]
                for step in STEPS]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [numpy.array(r) for r in pool.map(tpots, rows)]
    fine_steps, fine_sequences = numpy.arange(0, 1201, 50), numpy.arange(0, 81, 1)

    def errors(members):  # mean |TPOT error| [step, sequence]
        total = numpy.zeros((len(fine_steps), len(fine_sequences)))
        for row, tpot in members:
            by_step = numpy.array([numpy.interp(fine_sequences, SEQUENCES, line) for line in tpot])
            fine = numpy.array([numpy.interp(fine_steps, STEPS, line) for line in by_step.T]).T
            total += abs(fine / float(row["tpot_ms"]) - 1)
        return 100 * total / len(members)

    def report(name, engine, members):
        error = errors(members)
        step, sequence = PRESETS[engine]
        at = numpy.where(fine_steps == step)[0][0]
        best = numpy.unravel_index(error.argmin(), error.shape)
        line = error[at]
        good = fine_sequences[line <= line.min() + 0.5]
        print(f"{name:52} {len(members):3} rows  best {fine_steps[best[0]]:4} + {fine_sequences[best[1]]:2} us: "
              f"{error[best]:4.1f} %  at {step} us a step best {line.argmin():2} us a sequence ({good[0]}-{good[-1]} "
              f"within 0.5 %): {line.min():4.1f} %  preset {step} + {sequence}: {line[sequence]:4.1f} %")

    groups = grouped(rows, results)
    for group, members in groups.items():
        report(" ".join(group), group[1], members)
    for engine in PRESETS:
        report(engine, engine, [m for group, members in groups.items() if group[1] == engine for m in members])


def main(weir, what, which="all", *sustained):
    with open(os.environ["WEIR_REFERENCE"] + "/serving/datacenter_gpus.csv") as file:
        rows = list(csv.DictReader(file))[{"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}[which]]
    {"kernels": kernels, "host": host}[what](weir, rows, *sustained)


if __name__ == "__main__":
    main(*sys.argv[1:])
