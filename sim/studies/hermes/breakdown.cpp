// Figure 12: where the time of a run goes, and what remapping shows of itself. What runs at the same moment
// is counted once, as the first of the kinds below.
#include <algorithm>
#include <array>
#include <cmath>

#include "models/neurons/neurons.h"
#include "sim/app/child_process.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/hermes/decoding.h"
#include "sim/studies/hermes/study.h"

namespace weir::hermes {
namespace {

enum Kind { on_dimms, on_gpu, predicting, attending, transferring, other, kinds };
constexpr const char* kind_titles[] = {"fc_on_dimms", "fc_on_gpu", "predictor",
                                       "attention",   "transfer",  "other"};

Kind kind_of_operator(std::string_view name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string_view::npos; };
  if (has("_cold")) return on_dimms;
  if (has("_hot") || has("_proj") || has("lm_head")) return on_gpu;
  if (has("predictor")) return predicting;
  if (has("attention")) return attending;
  return has("load") || has("send") || has("fetch") ? transferring : other;
}

struct Breakdown {
  std::array<double, kinds> ms{};  // of all decodes
  double transfer_ms = 0;          // with what goes on beside it
  double all() const {
    double sum = 0;
    for (const double one : ms) sum += one;
    return sum;
  }
};

void add_step(std::span<const OperatorSpan> spans, Breakdown& into) {
  struct Change {
    Seconds at;
    Kind kind;
    int by;
  };
  std::vector<Change> changes;
  for (const OperatorSpan& span : spans) {
    changes.push_back({span.start, kind_of_operator(span.name), 1});
    changes.push_back({span.finish, kind_of_operator(span.name), -1});
  }
  std::ranges::sort(changes, {}, &Change::at);
  std::array<int, kinds> running{};
  Seconds before{};
  for (const Change& change : changes) {
    const double ms = 1e3 * (change.at - before).value();
    const auto found = std::ranges::find_if(running, [](int count) { return count > 0; });
    const auto first = static_cast<std::size_t>(found - running.begin());
    into.ms[found == running.end() ? std::size_t{other} : first] += ms;
    if (running[transferring] > 0) into.transfer_ms += ms;
    running[change.kind] += change.by;
    before = change.at;
  }
}

Breakdown breakdown(const HermesRun& run) {
  Decoding decoding(run, "paper");
  PlayedStep step(decoding.rank(), decoding.operators(), 1);
  Breakdown sum;
  decoding.each_token([&](const BatchShape& batch) { add_step(step.operators({&batch, 1}), sum); });
  return sum;
}

// DIMMs do this share of all multiplications with matrices.
double share_on_dimms(const HermesRun& run) {
  Decoding decoding(run, "paper");
  double on = 0, all = 0;
  decoding.each_token([&](const BatchShape& batch) {
    for (const Part& part : decoding.operators().parts)
      for (std::size_t v = 0; v < boost::num_vertices(part.operators); ++v) {
        const Operator& op = part.operators[v];
        if (!op.as<Neurons>() && !op.as<Gemm>()) continue;
        for (std::int64_t l = 0; l < part.times; ++l) {
          const double flops = decoding.rank().cost(op, batch, l).flops.value();
          all += flops;
          if (kind_of_operator(op.name) == on_dimms) on += flops;
        }
      }
  });
  return on / all;
}

struct Remapping {
  double exposed_ms = 0, raw_ms = 0;  // raw: of the busiest link, beside whatever else
};
Remapping remapping(const char* model) {
  const auto is_remap = [](const Operator& op) { return op.name == "remap"; };
  Decoding decoding(run_of(hermes_system, model), "paper");
  PlayedStep with(decoding.rank(), decoding.operators(), 1),
      without(decoding.rank(),
              decoding.only([&](const OperatorGraph&g, std::size_t v) { return !is_remap(g[v]); }), 1);
  Remapping sum;
  decoding.each_token([&](const BatchShape& batch) {
    sum.exposed_ms += 1e3 * (with.cost({&batch, 1}).cost.time - without.cost({&batch, 1}).cost.time).value();
    for (const Part& part : decoding.operators().parts)
      for (std::size_t v = 0; v < boost::num_vertices(part.operators); ++v)
        if (is_remap(part.operators[v]))
          for (std::int64_t l = 0; l < part.times; ++l)
            sum.raw_ms += 1e3 * decoding.rank().cost(part.operators[v], batch, l).time.value();
  });
  return sum;
}

struct Shown {
  const OffloadSystem* system;
  const char* model;
};
const Shown shown[] = {{&deja_vu, "opt13b"},         {&hermes_system, "opt13b"},
                       {&deja_vu, "opt30b"},         {&hermes_system, "opt30b"},
                       {&deja_vu, "opt66b"},         {&hermes_system, "opt66b"},
                       {&base_system, "falcon40b"},  {&hermes_system, "falcon40b"},
                       {&base_system, "llama2_70b"}, {&hermes_system, "llama2_70b"}};
constexpr int shown_batches[] = {1, 16};

HermesRun run_shown(std::size_t i) {
  const Shown& one = shown[i / std::size(shown_batches)];
  return run_of(*one.system, one.model, shown_batches[i % std::size(shown_batches)]);
}

// In children; none of a run that failed.
std::vector<std::optional<Breakdown>> breakdowns(const ReproduceOptions& options) {
  std::vector<std::optional<Breakdown>> all(std::size(shown) * std::size(shown_batches));
  in_children(
      all.size(), options.jobs,
      [&](std::size_t i) {
        const Breakdown one = breakdown(run_shown(i));
        return Json{one.ms, one.transfer_ms}.dump();
      },
      [&](std::size_t i, const ChildResult& child) {
        if (!child.error.empty()) return true;
        const Json one = Json::parse(child.output);
        all[i] = {one[0].get<std::array<double, kinds>>(), one[1].get<double>()};
        return true;
      });
  return all;
}

std::optional<double> transfer_share(const std::vector<std::optional<Breakdown>>& all, const Shown& of) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const HermesRun run = run_shown(i);
    if (run.batch == 1 && run.system == of.system && run.model == of.model && all[i])
      return all[i]->transfer_ms / all[i]->all();
  }
  return {};
}

void add_remap(const Runs& runs, Rows& rows) {
  double exposed = 0, raw = 0;
  const char* of = "";
  for (const char* model : all_models()) {
    const Remapping here = remapping(model);
    const double run_ms = runs.found(run_of(hermes_system, model)).paper.e2e_mean_ms;
    exposed = std::max(exposed, here.exposed_ms / run_ms);
    if (here.raw_ms / run_ms > raw) raw = here.raw_ms / run_ms, of = model_of(model).title;
  }
  add_row(rows, "remap_share", "remapping's share of a run beyond what hides it, largest of six models",
          0.002, {exposed, {}}, {{}, 0.002})
      .note = fmt::format("on its links {:.4f} at most ({}), beside projections", raw, of);
}

// 4 bits of state and two parents of 16 bits each, which the paper's "less than 1 MB" leaves out.
double predictor_share(const Runs& runs) {
  const HermesRun run = run_of(hermes_system, "llama2_70b");
  const auto plan = neurons_of(run, "paper");
  const double neurons = static_cast<double>(plan->layers * (plan->counts.attention + plan->counts.mlp)),
               bytes = neurons * (0.5 + 2 * 2), cache_bytes_per_s = 400e9;  // ESTIMATE
  return bytes / cache_bytes_per_s * runs.found(run).paper.output_throughput;
}

constexpr const char *prefill_id = "fig12_prefill_share_llama2_70b",
                     *transfer_id = "fig12_dejavu_transfer_share",
                     *base_id = "fig12_base_ndp_share_llama2_70b", *predictor_id = "fig12_predictor_share",
                     *remap_id = "remap_share";

HermesRun seventy() {
  return run_of(hermes_system, "llama2_70b");
}

}  // namespace

void want_breakdown(Runs& runs) {
  if (runs.wants_row(prefill_id) || runs.wants_row(predictor_id)) runs.want(seventy());
  if (runs.wants_row(remap_id))
    for (const SparseModel& model : models) runs.want(run_of(hermes_system, model.id));
  if (runs.wants_row(transfer_id))
    for (std::size_t i = 0; i < std::size(shown) * std::size(shown_batches); ++i) runs.want(run_shown(i));
}

void add_breakdown(const Runs& runs, const Folder& folder, Rows& rows) {
  if (runs.wants_row(prefill_id))
    add_row(rows, prefill_id, "prompt's share of a run: Hermes, LLaMA2-70B, batch 1", 0.330,
            figure(runs, seventy(), &CaseResult::ttft_mean_ms) /
                figure(runs, seventy(), &CaseResult::e2e_mean_ms),
            {0.28, 0.42}, {0.47, 0.61});
  if (runs.wants_row(base_id))
    add_row(rows, base_id, "share of FC that is computed on DIMMs: Hermes-base, LLaMA2-70B", 0.80,
            {share_on_dimms(run_of(base_system, "llama2_70b")), {}}, {0.82, 0.88})
        .note = "the paper has \"over 80 %\"";
  if (runs.wants_row(predictor_id))
    add_row(rows, predictor_id, "predictor's share of a run: Hermes, LLaMA2-70B", 0.001,
            {predictor_share(runs), {}})
        .note =
        "no bounds: an ESTIMATE, 13 MB of states and parents a token at 400 GB/s of a cache; no run has this "
        "time";
  if (runs.wants_row(remap_id)) add_remap(runs, rows);
  if (!runs.wants_row(transfer_id)) return;
  const auto all = breakdowns(runs.options());
  add_row(rows, transfer_id, "PCIe's share of decodes: Deja Vu, OPT-66B, batch 1", 0.89,
          {transfer_share(all, {&deja_vu, "opt66b"}), {}}, {0.80, 0.92});
  OutputFile file(folder / "breakdown.csv");
  file.text("model,batch,system,prefill_ms");
  for (const char* title : kind_titles) file.print(",{}_ms", title);
  file.text("\n");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const HermesRun run = run_shown(i);
    const CaseResult& whole = runs.found(run).paper;
    if (!all[i] || !whole.error.empty()) continue;
    // Deja Vu's GPU has not the room for 16 requests of OPT-66B at once: some wait, and have other steps.
    const double decoding_ms = whole.e2e_mean_ms - whole.ttft_mean_ms;
    if (std::abs(all[i]->all() - decoding_ms) > 0.02 * decoding_ms) continue;
    file.print("{},{},{},{:.5g}", model_of(run.model).title, run.batch, run.system->title,
               whole.ttft_mean_ms);
    for (const double ms : all[i]->ms) file.print(",{:.5g}", ms);
    file.text("\n");
  }
  file.close();
}

}  // namespace weir::hermes
