#!/usr/bin/env python3
"""Makes a profile folder of one model at one tensor parallelism of measured kernel tables, as AIConfigurator publishes them
(systems data, Apache-2.0: GPU__FAMILY_ENGINE_VERSION_TABLE.csv.gz, the newest version of each). Needs nothing but Python.

    python3 docs/calibration/profile_from_tables.py TABLES GPU ENGINE MODEL TP OUT [--weights fp8] [--kv-cache fp8]
        [--table-type fp8_block] [--experts fp4] [--expert-parallel 1] [--gemms-of sglang]

MODEL is a name of models/llm/catalog or the path of a config.json. A scenario's device then has "profile": OUT. What is
written, and what of the tables is not, is said in README.md beside this file ("Profiles of engines' tables").
"""
import argparse
import collections
import csv
import functools
import glob
import gzip
import json
import os
import re
import statistics
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Weir's names of the tables' types: weights/activations where these differ.
TYPES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "fp4", "w4a8_mxfp4_mxfp8": "mxfp4/fp8",
         "w4a16_mxfp4": "mxfp4/bf16", "int4_wo": "int4/bf16", "int8_wo": "int8/bf16", "sq": "int8"}
KV_TYPES = {"bf16": "bfloat16", "fp16": "bfloat16", "fp8": "fp8"}
# All engines call cuBLAS for 16-bit matrices, each table a version of it.
CUBLAS = ("sglang", "trtllm", "vllm")


class Tables:
    def __init__(self, folder, gpu):
        self.folder, self.gpu, self.used = folder, gpu, []

    def device(self):
        with open(os.path.join(ROOT, "devices", "catalog", self.gpu + ".json")) as file:
            return json.load(file)

    def newest(self, family, engine, table):
        """The path of the newest version; None where there is no such table."""
        begin, end = f"{self.gpu}__{family}_{engine}_", f"_{table}.csv.gz"
        found = {}
        for file in glob.glob(os.path.join(glob.escape(self.folder), glob.escape(begin) + "*" + glob.escape(end))):
            version = os.path.basename(file)[len(begin):-len(end)]
            if "_" not in version:  # that of another table, whose name ends alike
                found[tuple(map(int, re.findall(r"\d+", version)))] = file
        if not found:
            return None
        self.used.append(os.path.basename(found[max(found)]))
        return found[max(found)]

    def rows(self, family, engine, table):
        path = self.newest(family, engine, table)
        return rows_of(path) if path else []


def rows_of(path):
    with gzip.open(path, "rt") as file:
        return list(csv.DictReader(file))


def model_shape(name):
    path = name if os.path.exists(name) else os.path.join(ROOT, "models", "llm", "catalog", name + ".json")
    with open(path) as file:
        config = json.load(file)
    return config.get("text_config", config)


def heads_of(config, tp):
    query, kv = config["num_attention_heads"], config.get("num_key_value_heads") or config["num_attention_heads"]
    return query // tp, max(1, kv // tp), config.get("head_dim") or config["hidden_size"] // query


def experts_of(config):
    total = config.get("num_local_experts") or config.get("num_experts") or config.get("n_routed_experts") or 0
    return total and dict(experts=total, topk=config["num_experts_per_tok"],
                          inter=config.get("moe_intermediate_size") or config["intermediate_size"])


def weight_shapes(config, tp):
    """n, k of each matrix on a rank."""
    hidden = config["hidden_size"]
    shapes = [(config["vocab_size"] // tp, hidden)]
    if "kv_lora_rank" not in config:
        query, kv, dim = heads_of(config, tp)
        shapes += [((query + 2 * kv) * dim, hidden), (hidden, query * dim)]
    else:
        heads, rank = config["num_attention_heads"] // tp, config.get("q_lora_rank") or 0
        queries = heads * (config["qk_nope_head_dim"] + config["qk_rope_head_dim"])
        shapes += [((rank or queries) + config["kv_lora_rank"] + config["qk_rope_head_dim"], hidden),
                   (hidden, heads * config["v_head_dim"])] + ([(queries, rank)] if rank else [])
    widths = [config[k] for k in ("intermediate_size", "shared_expert_intermediate_size") if config.get(k)]
    if config.get("n_shared_experts"):
        widths.append(config["n_shared_experts"] * config["moe_intermediate_size"])
    for width in widths:
        shapes += [(2 * width // tp, hidden), (width // tp, hidden), (hidden, width // tp)]
    if experts_of(config):
        shapes.append((experts_of(config)["experts"], hidden))
    return shapes


def around(axis, value):
    """The two neighbours among the measured ones, or the one that it is."""
    if value in axis:
        return [value]
    return [f(side) for f, side in ((max, [a for a in axis if a < value]), (min, [a for a in axis if a > value])) if side]


@functools.cache
def gemms_in(path):
    """{table type: {(n, k): {m: us}}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in rows_of(path):
        at = found[row["gemm_dtype"]][int(row["n"]), int(row["k"])]
        m, us = int(row["m"]), 1e3 * float(row["latency"])
        at[m] = min(at.get(m, us), us)
    return found


def gemms_of(tables, engine, wanted):
    """As gemms_in, of the newest table, the wanted types alone."""
    path = tables.newest("gemm", engine, "gemm")
    return {table: gemms_in(path).get(table, {}) if path else {} for table in wanted}


@functools.cache
def cublas(paths):
    """The mean of tables."""
    return mean_of([gemms_in(path)["bfloat16"] for path in paths])


def mean_of(tables):
    """Geometric, of the points that all of them have; a single one is as it was."""
    found = {}
    for shape in set.intersection(*map(set, tables)):
        all_at = [table[shape] for table in tables]
        found[shape] = {m: statistics.geometric_mean([at[m] for at in all_at]) if len(all_at) > 1 else all_at[0][m]
                        for m in set.intersection(*map(set, all_at))}
    return found


def quantising(engine, bandwidth, fp8, half):
    """Microseconds by (m, k) of the kernel by itself that quantises the activations in the tables' fp8 rows. Servers fuse it into
    the norm or activation before."""
    shapes = {(m, k) for (n, k), at in fp8.items() for m in at}
    if engine == "vllm":
        # On H100 the older table (reference kernels/gemm_vllm.csv) has none: with 0.8 us and 3.4 bytes an element less, 306 GEMMs
        # of vLLM 0.24 are 4.6 % from it, and 9.3 % without; bf16's are 2 %. ESTIMATE: the same bytes on other GPUs.
        return {(m, k): 0.8 + 3.4 * m * k / bandwidth for m, k in shapes}
    # TensorRT-LLM's takes what its fp8 takes more than its bf16 where the matrix itself is next to nothing.
    narrow = sorted({n for n, k in fp8})[:3]
    took = {}
    for m, k in shapes:
        both = [fp8[n, k][m] - half[n, k][m] for n in narrow if m in fp8.get((n, k), {}) and m in half.get((n, k), {})]
        if both:
            took[m, k] = max(0, statistics.median(both))
    return took


def fused(engine, bandwidth, fp8, half):
    took = quantising(engine, bandwidth, fp8, half)
    return {shape: {m: us - min(took.get((m, shape[1]), 0), 0.7 * us) for m, us in at.items()} for shape, at in fp8.items()}


def kernels_of(tables, engine, table_type):
    """Whose table has the matrix kernels that the engine's servers run (README.md, "Kernel libraries")."""
    if table_type == "fp8_block" and (engine == "vllm" or engine == "sglang" and tables.gpu.startswith("b200")):
        return "trtllm"
    return engine


def gemm_tables(tables, engine, table_type, say):
    """{table type: {(n, k): {m: us}}} of the linear layers and of what stays in 16 bits."""
    paths = tuple(path for path in (tables.newest("gemm", one, "gemm") for one in CUBLAS) if path)
    found = {"bfloat16": cublas(paths)} if paths else {}
    if table_type == "bfloat16":
        return found
    own = gemms_of(tables, engine, {table_type, "bfloat16"})
    if own[table_type]:
        found[table_type] = own[table_type]
    if table_type == "fp8" and engine in ("vllm", "trtllm") and own["bfloat16"]:
        found["fp8"] = fused(engine, 1e3 * tables.device()["memory_bandwidth_gb_per_s"], own["fp8"], own["bfloat16"])
        say("fp8 GEMMs without the quantisation that the server fuses")
    return found


def gemm_rows(tables, engine, config, tp, table_type, as_type, gemms_of_engine, say):
    whose = gemms_of_engine or kernels_of(tables, engine, table_type)
    if whose != engine:
        say(f"{table_type} GEMMs of {whose}'s table: the kernels that {engine} runs")
    for table, shapes in sorted(gemm_tables(tables, whose, table_type, say).items()):
        n_axis, k_axis = sorted({n for n, k in shapes}), sorted({k for n, k in shapes})
        corners = sorted({(n, k) for wanted in weight_shapes(config, tp) for n in around(n_axis, wanted[0])
                          for k in around(k_axis, wanted[1]) if (n, k) in shapes})
        for n, k in corners:
            for m, us in sorted(shapes[n, k].items()):
                yield [as_type if table == table_type else TYPES[table], m, n, k, f"{us:.4g}"]


def attention_rows(tables, engine, config, tp, kv_type, say):
    device = tables.device()
    cache, bandwidth = 1e6 * device["l2_mb"], 1e3 * device["memory_bandwidth_gb_per_s"]  # bytes a us
    query, kv, dim = heads_of(config, tp)
    token = 2 * kv * dim * (1 if kv_type == "fp8" else 2)
    windows = {0, config.get("sliding_window") or 0}
    if engine == "sglang":
        engine = "vllm"
        say("attention of vLLM's table: SGLang's was not measured")

    def mine(row):
        return (int(row["num_heads"]), int(row["num_key_value_heads"]), int(row["head_dim"])) == (query, kv, dim) and \
            int(row["window_size"]) in windows and row["kv_cache_dtype"] == KV_TYPES[kv_type] and \
            row.get("attn_dtype", KV_TYPES[kv_type]) == KV_TYPES[kv_type]

    of = [query, kv, dim, kv_type]
    for row in filter(mine, tables.rows("attention", engine, "context_attention")):
        yield of + [row["window_size"], row["batch_size"], row["isl"], 0, 0, 0, f"{1e3 * float(row['latency']):.5g}"]
    left_out = 0
    for row in filter(mine, tables.rows("attention", engine, "generation_attention")):
        batch, length, us = int(row["batch_size"]), int(row["step"]), 1e3 * float(row["latency"])
        read = batch * min(length + 1, int(row["window_size"]) or length + 1) * token
        # The same keys were read over and over, from the cache where they fit: a model's other layers would have replaced them.
        if read < cache and read / bandwidth > 0.1 * us:
            left_out += 1
            continue
        yield of + [row["window_size"], 0, 0, 0, batch, length, f"{us:.5g}"]
    if left_out:
        say(f"{left_out} batches of decodes left out whose keys lay in the L2 cache")


def experts_kernels(tables, engine, table_type, say):
    """Rows of the tables whose kernels the engine's servers run (README.md, "Kernel libraries", "Whose experts")."""
    blackwell = tables.gpu.startswith("b200")
    whose = [engine]
    if blackwell and (engine == "sglang" or table_type == "fp8_block"):
        whose = ["vllm"]  # trtllm-gen; the engines' own tables have other kernels
    elif not blackwell and engine != "trtllm":
        whose = ["vllm", "sglang"]  # Triton's fused experts and Marlin's, of one origin; slow where a table lacks a configuration
    if whose != [engine]:
        say(f"experts of the tables of {' and '.join(whose)}: the kernels that {engine} runs")
    rows = [row for one in whose for row in tables.rows("moe", one, "moe") if row["moe_dtype"] == table_type]
    if not blackwell and engine == "vllm" and table_type == "w4a16_mxfp4":
        rows = [row for row in rows if "marlin" in row["kernel_source"]]  # what its servers run on Hopper, not Triton's
    quick = [row for row in rows if "min_latency" in row["kernel_source"]]
    return quick if blackwell and whose == ["trtllm"] and table_type == "nvfp4" and quick else rows


def expert_rows(tables, engine, config, tp, ep, as_type, table_type, say):
    experts = experts_of(config)
    if not experts:
        return
    if ep > 1:
        say("no experts: of ranks that share them the tables have the heaviest one's time, where servers' routers balance")
        return
    of = (config["hidden_size"], experts["experts"], experts["topk"], experts["inter"], tp, ep)
    columns = ("hidden_size", "num_experts", "topk", "inter_size", "moe_tp_size", "moe_ep_size")
    best = {}
    for row in experts_kernels(tables, engine, table_type, say):
        if tuple(int(row[column]) for column in columns) == of and row["distribution"] != "balanced":
            key, us = (row["distribution"], int(row["num_tokens"])), 1e3 * float(row["latency"])
            best[key] = min(best.get(key, us), us)
    if not best:
        say(f"no experts of {table_type} of this shape")
        return
    evenest = min(key[0] for key in best)  # power_law_1.01 before power_law_1.2
    for (distribution, tokens), us in sorted(best.items()):
        if distribution == evenest:
            yield [as_type, config["hidden_size"], experts["inter"], experts["topk"], experts["experts"], ep, tp, distribution,
                   tokens, f"{us:.5g}"]


def latent_rows(tables, engine, config, tp, kv_type, table_type, say):
    """Whole attention modules of a layer, projections and all."""
    if "kv_lora_rank" not in config:
        return
    module = "dsa" if "index_topk" in config else "mla"
    best = {}
    for phase, wide in (("context", "wideep_context_mla"), ("generation", "wideep_generation_mla")):
        rows = tables.rows("mla" if module == "mla" else "sparse_attention", engine, f"{module}_{phase}_module")
        if not rows and module == "mla":
            rows = tables.rows("mla", engine, wide)
            if rows and phase == "context" and tables.gpu.startswith("b200"):
                say("mla of prompts has a floor of 0.53 ms that no server has")
        for row in rows:
            if row["kv_cache_dtype"] != KV_TYPES[kv_type] or row["gemm_type"] != table_type or \
                    int(row["num_heads"]) != config["num_attention_heads"] // tp:
                continue
            isl, step = int(row["isl"]), int(row["step"])
            tokens, context = (isl, step) if phase == "context" else (1, step + isl - 1 if step else isl)
            key = (phase, int(row["batch_size"]), tokens, context)
            us = 1e3 * float(row["latency"])
            best[key] = min(best.get(key, us), us)
    for (phase, sequences, tokens, context), us in sorted(best.items()):
        yield [module, phase, config["num_attention_heads"] // tp, sequences, tokens, context, kv_type, f"{us:.5g}"]


def write(out, name, header, rows):
    rows = list(rows)
    if not rows:
        return
    with open(os.path.join(out, name), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header.split(","))
        writer.writerows(rows)


def table_type_of(name):
    found = next((table for table, weir in TYPES.items() if weir == name), None)
    if found is None:
        sys.exit(f"no table type is {name} (known: {', '.join(TYPES.values())})")
    return found


def make(tables_folder, gpu, engine, model, tp, out, weights="bf16", kv_cache=None, table_type=None, experts=None, ep=1,
         gemms_of_engine=None, say=lambda what: None):
    """Types as Weir names them; `experts` where theirs is another, weights/activations where these differ."""
    config = model_shape(model)
    kv_cache = kv_cache or "bf16"
    table_type = table_type or table_type_of(weights)
    tables = Tables(tables_folder, gpu)
    os.makedirs(out, exist_ok=True)
    write(out, "gemm.csv", "type,m,n,k,time_us", gemm_rows(tables, engine, config, tp, table_type, weights, gemms_of_engine, say))
    if "kv_lora_rank" not in config:
        write(out, "attention.csv", "heads,kv_heads,head_dim,kv_type,window,prompts,prefill_chunk,kv_prefill,n_decode,kv_decode,time_us",
              attention_rows(tables, engine, config, tp, kv_cache, say))
    write(out, "moe.csv", "type,hidden,inter,topk,experts,ep,tp,distribution,tokens,time_us",
          expert_rows(tables, engine, config, tp, ep, experts or weights, table_type_of(experts) if experts else table_type, say))
    write(out, "mla.csv", "module,phase,heads,sequences,tokens,context,kv_type,time_us",
          latent_rows(tables, engine, config, tp, kv_cache, table_type, say))
    if not tables.used:
        sys.exit(f"{tables_folder} has no tables of {engine} on {gpu}")
    with open(os.path.join(out, "profile.json"), "w") as file:
        json.dump({"engine": engine, "gpu": gpu, "tp": tp, "source":
                   "AIConfigurator systems data (Apache-2.0): " + ", ".join(sorted(set(tables.used))), "missing": "analytic"},
                  file, indent=2)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tables", "gpu", "engine", "model"):
        parser.add_argument(name)
    parser.add_argument("tp", type=int)
    parser.add_argument("out")
    parser.add_argument("--weights", default="bf16", help="Weir's type of the linear layers' weights")
    parser.add_argument("--kv-cache", default="bf16")
    parser.add_argument("--table-type", help="the tables' name of that type, where it is another: fp8_block")
    parser.add_argument("--experts", help="Weir's type of the experts, where it is another: mxfp4/fp8")
    parser.add_argument("--expert-parallel", type=int, default=1, help="over how many of the ranks experts are dealt out")
    parser.add_argument("--gemms-of", metavar="ENGINE", help="whose table has the matrix kernels of the engine's version")
    a = parser.parse_args()
    make(a.tables, a.gpu, a.engine, a.model, a.tp, a.out, a.weights, a.kv_cache, a.table_type, a.experts, a.expert_parallel, a.gemms_of,
         lambda what: print("note:", what, file=sys.stderr))


if __name__ == "__main__":
    main()
