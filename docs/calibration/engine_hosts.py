#!/usr/bin/env python3
"""What an engine's host takes, fitted to all of its measured servers at once (see README.md, "Servers").

    WEIR_REFERENCE=DIR build/weir reproduce validation --only servers_ --out OUT
    python3 docs/calibration/engine_hosts.py build/weir OUT/servers.jsonl [--cache FILE]
        [--without FEATURE ...] [--fixed vllm_v1:step=500 trtllm:floor=50 ...] [--sustained 0.8 0.85 ...] [--preset-steps]

Each line of servers.jsonl is a measured server and the scenario that it is simulated in; lines that itl.py writes, appended, have
no TTFT, and their median inter-token latency for TPOT. In a closed loop the steps and their batches do not depend
on how long they take, so that times are linear in what host time a step, a sequence and a prompt takes: each is simulated once
more with some of it, and alone floors of prompt steps, which are not linear, at several values. With --sustained all of it is
done once for each such share of the burst rate, and the one that fits best is taken as well: a model left out is then left out
of all that servers decide. Even rows are fitted (the least sum of |error| of TPOT, and --ttft-weight times that of TTFT), odd
rows judge; then each model is left out in turn. `front` is front_end_ms, `floor` launch_us of steps with prompts, which run as no CUDA graph here, or, with
--preset-steps, as the engine's preset has it. Needs numpy and scipy.
"""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import subprocess
import tempfile

import numpy as np
from scipy.optimize import nnls

# What a feature is simulated with, in us (the front end, which TTFT alone knows, in ms); and the floors, us a kernel of steps with prompts.
TRIED = {"step": 500, "sequence": 20, "prompt": 2000, "small": 5, "front": 20}
FLOORS = [0, 15, 30, 60, 120, 240]
RIDGE = 0.5  # per cent of error
UNKNOWN = 1e12  # ms: a TTFT that was not measured, whose error is -1 whatever is fitted
KEYS = {"step": "step_overhead_us", "sequence": "sequence_overhead_us", "prompt": "prompt_overhead_us",
        "small": "small_kernels_us", "front": "front_end_ms"}


EAGER = {"launch_us": 0, "eager_step_us": 0, "cuda_graphs": "every_size", "cuda_graph_prompts": False}


def settings(preset_steps):
    base = {"step_overhead_us": 0, "sequence_overhead_us": 0, "prompt_overhead_us": 0, "small_kernels_us": 0,
            "worker_step_overhead_us": 0, "worker_sequence_overhead_us": 0, "front_end_ms": 0, **({} if preset_steps else EAGER)}
    yield "base", base
    for feature, us in TRIED.items():
        yield feature, {**base, KEYS[feature]: us}
    for us in FLOORS[1:] if not preset_steps else []:
        yield "floor%d" % us, {**base, "launch_us": us}


def simulate(weir, server, engine, sustained=None):
    scenario = copy.deepcopy(server["scenario"])
    if sustained:
        scenario["cluster"]["nodes"][0]["devices"][0].update(sustained_compute=sustained, sustained_compute_8bit=sustained)
    for replica in scenario["serving"]["replicas"]:
        replica["engine"].update(engine)
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/scenario.json"
        with open(file, "w") as out:
            json.dump(scenario, out)
        subprocess.run([weir, "run", file, "--out", folder + "/out", "--quiet"], check=True, capture_output=True)
        with open(folder + "/out/summary.json") as summary:
            result = json.load(summary)
    return result["mean_ttft_ms"], result[server.get("metric", "mean_tpot_ms")]


def simulate_all(weir, servers, preset_steps, sustained=None):
    """[server, setting, (ttft, tpot)] in ms."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [[pool.submit(simulate, weir, s, engine, sustained) for _, engine in settings(preset_steps)] for s in servers]
        return np.array([[job.result() for job in row] for row in jobs])


def tensor(server):
    parallelism = server["scenario"]["serving"]["replicas"][0].get("parallelism", {})
    return parallelism.get("tensor", 1) * parallelism.get("pipeline", 1)


class Model:
    """Times of servers as a function of an engine's constants, in the units of TRIED: linear but for the floor."""
    linear = ["step", "sequence", "prompt", "small", "front", "worker_step", "worker_sequence"]
    # Constants of this size cost the fit a hundredth of RIDGE: what rows do not tell stays small, and what workers cost beyond
    # what any engine does is told apart only where servers of both kinds were measured.
    size = np.array([500, 20, 2000, 3, 20, 300, 15], float)

    def __init__(self, servers, times):
        order = [name for name, _ in settings(preset_steps=False)]  # the floors come last
        at = lambda name: times[:, order.index(name)]
        floors = times.shape[1] == len(order)
        self.base = at("base")
        slope = {f: (at(f) - self.base) / us for f, us in TRIED.items()}
        workers = np.array([[tensor(s) > 1] for s in servers], float)
        slope["worker_step"], slope["worker_sequence"] = workers * slope["step"], workers * slope["sequence"]
        self.slopes = np.array([slope[f] for f in self.linear])
        self.floors = np.array([self.base] + [at("floor%d" % us) if floors else self.base for us in FLOORS[1:]]) - self.base
        self.workers = workers[:, 0] > 0
        self.measured = np.array([[s["ttft_ms"] or UNKNOWN, s["tpot_ms"]] for s in servers])

    def fix(self, constants):
        """These are so, and no longer to be fitted."""
        for name, us in constants.items():
            if name == "floor":
                self.base, self.floors = self.with_floor(us), 0 * self.floors
                continue
            self.base = self.base + us * self.slopes[self.linear.index(name)]

    def with_floor(self, floor):
        k = min(int(np.searchsorted(FLOORS, floor, "right")), len(FLOORS) - 1)
        share = (floor - FLOORS[k - 1]) / (FLOORS[k] - FLOORS[k - 1])
        return self.base + (1 - share) * self.floors[k - 1] + share * self.floors[k]

    def errors(self, constants):
        p, floor = constants
        return (self.with_floor(floor) + np.tensordot(p, self.slopes, 1)) / self.measured - 1


def least(model, rows, free, ttft_weight, floor):
    """The constants of least mean |error|, by least squares that are weighed anew; none is negative."""
    index = [model.linear.index(f) for f in free]
    weight = np.array([ttft_weight, 1]) / model.measured[rows] / rows.sum()
    gap = ((model.measured - model.with_floor(floor))[rows] * weight).ravel()
    features = (model.slopes[index][:, rows] * weight).reshape(len(index), -1).T
    ridge = np.diag(RIDGE / 100 / model.size[index])
    scale = np.ones(len(gap))
    for _ in range(30):
        x = nnls(np.vstack([features * scale[:, None], ridge * 0.1]), np.append(gap * scale, np.zeros(len(index))))[0]
        left = abs(features @ x - gap)
        scale = 1 / np.sqrt(np.maximum(left, 1e-3 * weight.max() * model.measured[rows].min() + 1e-9))
    p = np.zeros(len(model.linear))
    p[index] = x
    return left.sum() + ((ridge @ x) ** 2).sum(), p


def fitted(model, rows, free, ttft_weight):
    if not free:
        return np.zeros(len(model.linear)), 0
    floors = np.arange(0, FLOORS[-1] + 1, 5) if "floor" in free else [0]
    linear = [f for f in free if f != "floor"]
    tried = [(*least(model, rows, linear, ttft_weight, floor), floor) for floor in floors]
    _, p, floor = min(tried, key=lambda t: t[0])
    return p, floor


def report(name, model, p, rows):
    ttft, tpot = 100 * model.errors(p)[rows & (model.measured[:, 0] < UNKNOWN), 0], 100 * model.errors(p)[rows, 1]
    told = "%-46s %3d  TPOT %4.1f (%+5.1f)" % (name, rows.sum(), abs(tpot).mean(), tpot.mean())
    return told + ("  TTFT %4.1f (%+5.1f)" % (abs(ttft).mean(), ttft.mean()) if len(ttft) else "")


def say(p):
    return ", ".join("%s %.1f" % (n, v) for n, v in zip(Model.linear + ["floor"], list(p[0]) + [p[1]]) if v > 0)


def cached(given, servers, sustained):
    file = given.cache and given.cache + ("" if sustained is None else "-%g" % sustained) + ".npy"
    if file and os.path.exists(file):
        return np.load(file)
    times = simulate_all(given.weir, servers, given.preset_steps, sustained)
    if file:
        np.save(file, times)
    return times


def fixed_of(engine, given):
    return {f.split("=")[0]: float(f.split("=")[1]) for e, f in (g.split(":") for g in given.fixed) if e == engine}


def usable(model, of, free, fixed):
    """What may be fitted to servers `of` an engine."""
    alone = len(set(model.workers[of])) == 1
    return [f for f in free if f not in fixed and not (alone and f.startswith("worker"))]


def with_sustained(given, servers, free):
    """Constants and the sustained share, fitted together; each model is left out of both in turn."""
    value = lambda key: np.array([s[key] for s in servers])
    even = np.arange(len(servers)) % 2 == 0
    times = {share: cached(given, servers, share) for share in given.sustained}
    for left in [""] + sorted(set(value("model"))):
        rest = even & (value("model") != left)
        best = None
        for share in given.sustained:
            loss, error, constants = 0, np.zeros((len(servers), 2)), []
            for engine in sorted(set(value("engine"))):
                of = value("engine") == engine
                model = Model(servers, times[share])
                fixed = fixed_of(engine, given)
                model.fix(fixed)
                p = fitted(model, of & rest, usable(model, of, free, fixed), given.ttft_weight)
                error[of] = model.errors(p)[of]
                loss += (abs(error[of & rest]) @ np.array([given.ttft_weight, 1])).sum()
                constants.append(engine + " " + say(p))
            if best is None or loss < best[0]:
                best = loss, share, 100 * abs(error[:, 1]), "; ".join(constants)
        _, share, off, constants = best
        print("%-21s sustained %.2f, %s: TPOT %s" % (left + " left out" if left else "all", share, constants, ", ".join(
            "%s %.1f" % (m, off[value("model") == m].mean()) for m in sorted(set(value("model"))) if left in ("", m))))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("weir")
    arguments.add_argument("servers")
    arguments.add_argument("--cache", help="keeps the simulated times in this file, and takes them from there")
    arguments.add_argument("--without", nargs="*", default=["small"], help="features that stay 0")
    arguments.add_argument("--fixed", nargs="*", default=[], help="ENGINE:FEATURE=US, not to be fitted")
    arguments.add_argument("--sustained", nargs="*", type=float, default=[], help="shares of the burst rate to choose from")
    arguments.add_argument("--preset-steps", action="store_true", help="steps with prompts as presets have them: no floor is fitted")
    arguments.add_argument("--ttft-weight", type=float, default=0.2)
    given = arguments.parse_args()
    with open(given.servers) as file:
        servers = [json.loads(line) for line in file]
    free = [n for n in Model.linear + ([] if given.preset_steps else ["floor"]) if n not in given.without]
    even = np.arange(len(servers)) % 2 == 0
    value = lambda key: np.array([s[key] for s in servers])
    if given.sustained:
        return with_sustained(given, servers, free)
    times = cached(given, servers, None)
    for engine in sorted(set(value("engine"))):
        of = value("engine") == engine
        fixed = fixed_of(engine, given)
        model = Model(servers, times)
        model.fix(fixed)
        use = usable(model, of, free, fixed)
        p = fitted(model, of & even, use, given.ttft_weight)
        print("%s, fitted to the even rows: %s%s" % (engine, say(p), ", fixed: %s" % fixed if fixed else ""))
        print(report("  even", model, p, of & even))
        print(report("  odd", model, p, of & ~even))
        for group in sorted(set(value("group")[of])):
            print(report("  " + group, model, p, value("group") == group))
        for left in sorted(set(value("model")[of])):
            others = of & even & (value("model") != left)
            if others.any():
                q = fitted(model, others, use, given.ttft_weight)
                print(report("  %s left out" % left, model, q, of & (value("model") == left)), "|", say(q))
        print(report("  no host time at all", model, (np.zeros(len(Model.linear)), 0), of))


if __name__ == "__main__":
    main()
