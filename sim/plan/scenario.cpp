#include "sim/plan/scenario.h"

#include <fmt/format.h>

#include <filesystem>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

Slo read_slo(Params params) {
  Slo slo;
  slo.ttft =
      params.quantity_or_null<Seconds>({"ttft_ms", "Longest time to the first token of a good request."});
  slo.tpot =
      params.quantity_or_null<Seconds>({"tpot_ms", "Longest mean time a further token of a good request."});
  params.close();
  return slo;
}

// The file's stem; a file name need not be UTF-8, and JSON must.
std::string title_of(const std::string& file) {
  const Json stem = std::filesystem::path(file).stem().string();
  return Json::parse(dumped(stem)).get<std::string>();
}

// The parts that both kinds of scenario have, in the order in which results show them.
void read_names(Params& params, Scenario& s) {
  s.file = params.reading().file();
  s.name = params.text({"name", "Title of tables and figures."}, title_of(s.file));
  s.seed = static_cast<std::uint64_t>(
      params.integer({"seed", "Of every random draw; same scenario and seed, same output."}, {0},
                     std::int64_t{Scenario::usual_seed}));
}

void read_cluster(Params& params, Scenario& s) {
  s.assumptions =
      params.choice({"assumptions",
                     "A named set of constants: physical has none fitted to a paper, paper has "
                     "those of a device's catalog row that are; ideal and eff are those that L3's "
                     "figures were made with (a GPU at its peaks; at shares of them), and paper_gpu "
                     "is ideal with an A100 of the 19.5 TFLOP/s that L3's own text makes it."},
                    {"physical", "paper", "ideal", "eff", "paper_gpu"}, "physical");
  Params cluster = params.object({"cluster", "The hardware."}, Params::Presence::required);
  s.nodes = read_nodes(cluster, s.assumptions);
  s.network = read_network(cluster.object({"network", "Between nodes."}), s.nodes);
  cluster.close();
}

void read_model_and_precision(Params& params, Scenario& s) {
  Reading& reading = params.reading();
  const Json* model =
      params.value({"model",
                    "A name of `weir list models`, the path of a Hugging Face config.json, or "
                    "keys of one over a base, a name or a path."},
                   params.describing() ? model_schema() : Json());
  if (model || reading.describing()) s.model = read_model(model ? *model : Json(""), reading, "/model");
  for (const std::string& note : s.model.notes) reading.note(note);
  Params precision = params.object({"precision", "Number formats."});
  s.precision = Precision::from(precision, s.model.quantization ? &*s.model.quantization : nullptr);
  precision.close();
}

// A router that hears what KV caches hold needs caches that requests find something in.
void check_reports(const Scenario& s, Reading& reading) {
  if (!s.routing || !s.routing->needs().reports) return;
  for (std::size_t i = 0; i < s.replicas.size(); ++i)
    if (s.replicas[i].kv_cache.prefix_caching != PrefixCaching::shared)
      reading.problem(fmt::format("/serving/replicas/{}/kv_cache/prefix_caching", i),
                      "expected true: the routing goes by what KV caches hold for others (serving.routing)");
}

void read_serving(Params& params, Scenario& s) {
  Params serving = params.object({"serving", "How the model is served."});
  s.replicas = read_replicas(serving, s);
  for (ReplicaSpec& replica : s.replicas) replica.parallelism.experts.seed = s.seed;
  s.routing = make_from(routing_policies(), serving.object({"routing", "Which replica a request goes to."}),
                        policy_kind);
  serving.close();
  check_reports(s, params.reading());

  Params workload = params.object({"workload", "Who asks, what and when."}, Params::Presence::required);
  s.workload = read_workload(std::move(workload), s.seed);
  s.slo = read_slo(params.object({"slo", "When a request counts as good (goodput)."}));
  s.collective_flows =
      params.choice({"collectives", "Timed in closed form, or played as flows over the links (slow)."},
                    {"closed_form", "flows"}, "closed_form") == "flows";
  s.actor_a_device =
      params.choice({"actors",
                     "An actor of the simulation for every device, or one for the alike devices of a "
                     "group in lockstep; the results are the same."},
                    {"devices", "groups"}, "devices") == "devices";
  s.fast_forward = params.flag({"fast_forward",
                                "Sum steps whose batch does not change instead of one event each; "
                                "times are the same to 1e-9."},
                               true);
  s.time_limit = params.quantity_or_null<Seconds>(
      {"simulated_time_limit_s", "Stop there; requests not finished stay unfinished."});
  s.sample_period = params.quantity_or_null<Seconds>(
      {"timeseries_period_s", "Of timeseries.csv; null: 200 to 400 samples, whatever the run's length."});
}

Scenario read_serving_scenario(Params params) {
  Scenario s;
  read_names(params, s);
  read_model_and_precision(params, s);
  read_cluster(params, s);
  read_serving(params, s);
  if (params.describing() || params.has("training"))  // beside it
    s.training = read_training(params, Params::Presence::optional);
  params.close();
  return s;
}

Scenario read_training_scenario(Params params) {
  Scenario s;
  read_names(params, s);
  read_cluster(params, s);
  s.training = read_training(params, Params::Presence::required);
  s.fast_forward = params.flag(
      {"fast_forward", "Sum steps that repeat instead of playing each; times are the same to 1e-9."}, true);
  params.close();
  return s;
}

}  // namespace

// Without a `kind` a scenario serves.
Scenario read_scenario(Params params) {
  if (params.describing()) {
    Scenario served = read_serving_scenario(params.alternative(std::string("serving"), true));
    read_training_scenario(params.alternative(std::string("training"), false));
    return served;
  }
  const bool given = params.has("kind");
  const std::string kind =
      given ? params.choice({"kind", "What it simulates."}, {"serving", "training"}) : "serving";
  return kind == "training" ? read_training_scenario(std::move(params))
                            : read_serving_scenario(std::move(params));
}

Json scenario_schema() {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  read_scenario(Params(reading, nothing));
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "A Weir scenario"}};
  schema.update(reading.schema);
  return schema;
}

}  // namespace weir
