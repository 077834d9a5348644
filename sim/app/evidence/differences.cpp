// The resolved scenario beside that of a measured server, key by key: a key that is on no list here counts,
// and so does one that comes later.
#include "sim/app/evidence/differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/app/evidence/leaves.h"
#include "sim/plan/engine_catalog.h"

namespace weir {
namespace {

// Keys without a part in any time of a server.
const Pointers of_no_time = {"/name",
                             "/seed",
                             "/slo",
                             "/actors",
                             "/fast_forward",
                             "/timeseries_period_s",
                             "/simulated_time_limit_s",
                             "/model",                  // other_model()
                             "/cluster/nodes",          // other_device()
                             "/cluster/network",        // of one node's replicas nothing crosses it
                             "/serving/replicas",       // key by key
                             "/workload/requests",      // other_load()
                             "/workload/arrivals",      // likewise
                             "/serving/routing/kind"};  // other_routing()
// Likewise, of a replica. Seats are a matter of the load: other_load().
const Pointers of_no_time_of_replica = {"/count",
                                        "/device",
                                        "/parallelism",
                                        "/engine/kind",
                                        "/engine/version",
                                        "/batching/max_batch_requests",
                                        "/max_model_len",  // refuses requests, no more
                                        "/engine/calibration"};
// Room and what a client's text costs: left at their defaults they were not chosen, and are enough.
const Pointers of_launches_alone = {"/batching/max_batch_tokens",     "/kv_cache/memory_fraction",
                                    "/kv_cache/free_memory_fraction", "/engine/sampler",
                                    "/engine/front_end_us_per_token", "/engine/front_end_tokens_per_s"};
const Pointers layout_keys = {"tensor", "pipeline", "expert"};
// Keys of a device's entry that say which it is and how many there are.
const Pointers not_of_speed = {"kind", "count"};

Scenario played(Json typed, const char* name) {
  typed["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", 1}, {"input_tokens", 1}, {"output_tokens", 1}}},
      {"arrivals", {{"kind", "all_at_once"}}}};
  return read_plan(typed, name).scenario;
}

// The server with nothing but its hardware, model, formats and the replica's engine: what a key is where no
// value is given.
Json usual_of(const Json& typed, const Json& given) {
  Json usual = typed;
  usual["precision"].erase("kv_cache");
  Json& replica = usual["serving"]["replicas"][0];
  Json engine = {{"kind", given["kind"]}};
  if (given.contains("version") && !given["version"].is_null()) engine["version"] = given["version"];
  replica = {
      {"parallelism", replica["parallelism"]}, {"engine", engine}, {"kv_cache", {{"memory_fraction", 1}}}};
  Json resolved = played(usual, "usual server").resolved;  // which need not fit within the usual fraction
  resolved["serving"]["replicas"][0]["kv_cache"]["memory_fraction"] = KvCacheSpec().memory_fraction;
  return resolved;
}

class Comparison {
 public:
  Comparison(const MeasuredCell& cell, const Plan& plan, std::size_t replica, const ServedLoad& load)
      : cell_(cell),
        plan_(plan),
        replica_(plan.replicas[replica]),
        at_(fmt::format("/serving/replicas/{}", replica)),
        load_(load),
        server_(played(cell.scenario, "measured server")),
        usual_(usual_of(cell.scenario, value_at(mine(), at_ + "/engine"))) {}

  Differences find() {
    other_model();
    other_format();
    other_device();
    other_replica();
    other_surroundings();
    other_load();
    return std::move(found_);
  }

 private:
  const Json& mine() const { return plan_.scenario.resolved; }
  const Json& its() const { return server_.resolved; }

  // Every value that servers of the cell had; the first's is a default where it says none.
  bool measured(const std::string& its_pointer, const Json& value) const {
    const Json first = value_at(its(), its_pointer);
    if (same_value(value, first)) return true;
    const auto varies = cell_.varies.find(its_pointer);
    if (varies == cell_.varies.end()) return false;
    double least = INFINITY, most = -INFINITY;
    for (const Json& typed : varies->second) {
      const Json& one = typed.is_null() ? value_at(usual_, its_pointer) : typed;
      if (same_value(value, one)) return true;
      if (one.is_number())
        least = std::min(least, one.get<double>()), most = std::max(most, one.get<double>());
    }
    return value.is_number() && value.get<double>() >= least && value.get<double>() <= most;
  }

  std::string otherwise(const std::string& name, const Json& value, const Json& measured) const {
    return fmt::format("{} {} (measured: {})", name, shown_value(value), shown_value(measured));
  }

  // A key that differs; `pointer` is the scenario's own, `its_pointer` the server's, `name` what it is
  // called.
  void compare(const std::string& pointer, const std::string& its_pointer, const std::string& name) {
    const Json value = value_at(mine(), pointer);
    if (measured(its_pointer, value)) return;
    const bool left = same_value(value, value_at(usual_, its_pointer));
    if (left && of_launches_alone.contains("/" + name)) return;
    (left ? found_.launch : found_.more).push_back(otherwise(name, value, value_at(its(), its_pointer)));
  }

  void other_model() {
    const Json& given = mine()["model"];
    const Architecture &ours = plan_.scenario.model, &theirs = server_.model;
    if (given.is_object() && given.contains("base")) {
      std::vector<std::string> keys;
      for (const auto& [key, value] : given.items())
        if (key != "base") keys.push_back(key);
      found_.more.push_back(fmt::format("a model with another {}", fmt::join(keys, ", ")));
    }
    if (ours.name == theirs.name && !given.is_object()) return;
    found_.model.push_back(fmt::format("model ({})", ours.name));
    // ESTIMATE: within four times as large, as kernels' efficiencies move slowly with sizes.
    const double larger = std::abs(std::log2(static_cast<double>(ours.active_parameters()) /
                                             static_cast<double>(theirs.active_parameters())));
    const bool experts = ours.most_experts() > 0, others_experts = theirs.most_experts() > 0;
    if (experts != others_experts)
      found_.more.push_back(experts ? "a mixture of experts" : "a dense model");
    else if (larger > 2 || kinds_of_attention(ours) != kinds_of_attention(theirs))
      found_.more.emplace_back("a model of another size or attention");
  }

  static std::set<std::size_t> kinds_of_attention(const Architecture& model) {
    std::set<std::size_t> kinds;
    for (const LayerKind& layer : model.layer_kinds()) kinds.insert(layer.attention.index());
    return kinds;
  }

  // That of the KV cache is on no record of dense servers; it counts as any key.
  void other_format() {
    for (std::string& format : other_formats(plan_.scenario, server_))
      found_.more.push_back(std::move(format));
    compare("/precision/kv_cache", "/precision/kv_cache", "kv_cache type");
  }

  void other_device() {
    const std::string& kind = replica_.rank.on->spec().kind;
    const Json& their_node = its()["cluster"]["nodes"][0];
    const Json& theirs = their_node["devices"][0];
    if (kind != cell_.device) found_.device.push_back(fmt::format("device ({})", kind));
    if (const std::string& foreign = replica_.rank.on->spec().notes.foreign_kernels;
        kind != cell_.device && !foreign.empty())
      found_.more.push_back(foreign);
    const std::set<int> nodes = nodes_of_replica();
    if (nodes.size() > 1) found_.more.emplace_back("a replica over several nodes");
    std::set<std::string> told;
    for (const int place : nodes) {
      const Json node = node_of(place);
      for (const Json& device : node.value("devices", Json::array()))
        if (device["kind"] == kind)
          for (const auto& [key, value] : device.items())
            if (!not_of_speed.contains(key) && !same_value(value, theirs.value(key, Json())) &&
                told.insert(key).second)
              found_.more.push_back(fmt::format("{} of {}", key, kind));
      for (const auto& [key, value] : node.items())
        if (key != "count" && key != "devices" && !same_value(value, their_node.value(key, Json())) &&
            (key != "interconnect" || ranks() > 1) && told.insert(key).second)
          found_.more.push_back(otherwise(key, value, their_node.value(key, Json())));
    }
  }

  std::set<int> nodes_of_replica() const {
    std::set<int> nodes;
    for (const auto& stage : replica_.places.front())
      for (const DevicePlace& place : stage) nodes.insert(place.node);
    return nodes;
  }

  // The entry of the cluster that the so-many-th node is of.
  Json node_of(int place) const {
    for (const Json& node : mine()["cluster"]["nodes"])
      if ((place -= node.value("count", 1)) < 0) return node;
    return Json::object();
  }

  int ranks() const {
    const Sharding& cut = replica_.spec.parallelism;
    return cut.tensor * cut.pipeline * cut.attention_data;
  }

  // All of a replica's keys. Those that are its layout may be the one thing that is otherwise, one of them.
  void other_replica() {
    const std::string theirs = "/serving/replicas/0";
    const bool other_engine = compare_engine();
    for (const std::string& leaf :
         leaves_of(value_at(mine(), at_ + "/parallelism"), value_at(its(), theirs + "/parallelism"))) {
      const std::string key = leaf.substr(1);
      const Json value = value_at(mine(), at_ + "/parallelism" + leaf);
      if (measured(theirs + "/parallelism" + leaf, value)) continue;
      (layout_keys.contains(key) ? found_.layout : found_.more)
          .push_back(otherwise(key, value, value_at(its(), theirs + "/parallelism" + leaf)));
    }
    if (found_.layout.size() > 1) found_.more.emplace_back("more than one key of its layout");
    for (const std::string& leaf : leaves_of(value_at(mine(), at_), value_at(its(), theirs)))
      if (!(other_engine && leaf.starts_with("/engine/")) && !under_any(of_no_time_of_replica, leaf) &&
          !leaf.starts_with("/parallelism/"))
        compare(at_ + leaf, theirs + leaf, leaf.substr(1));
    if (plan_.replicas.size() > 1 && mine()["serving"]["routing"] != usual_["serving"]["routing"])
      found_.more.push_back(
          fmt::format("routing {}", shown_value(value_at(mine(), "/serving/routing/kind"))));
  }

  // Versions differ by what they cost; what a user may turn on or off is a key of its own.
  bool compare_engine() {
    const EngineOverhead &ours = replica_.spec.engine, &theirs = server_.replicas[0].engine;
    const auto words = [](const EngineOverhead& engine) {
      return engine.version.empty() ? engine.kind : engine.kind + " " + engine.version;
    };
    const auto costs = [](const EngineOverhead& engine) {
      EnginePreset preset = engine_in_force(engine).row->preset;
      preset.overlapped = false;
      return preset;
    };
    if (ours.kind == theirs.kind && costs(ours).same_times(costs(theirs))) return false;
    found_.more.push_back(fmt::format("engine {} (measured: {})", words(ours), words(theirs)));
    return true;
  }

  // What else a scenario says: assumptions, training beside it, whatever keys come.
  void other_surroundings() {
    Json ours = mine(), theirs = its();
    for (const std::string& leaf : leaves_of(ours, theirs))
      if (!under_any(of_no_time, leaf) && !leaf.starts_with("/precision") &&
          !leaf.starts_with("/serving/routing"))
        if (const Json value = value_at(ours, leaf); !same_value(value, value_at(theirs, leaf)))
          found_.more.push_back(otherwise(leaf.substr(1), value, value_at(theirs, leaf)));
  }

  void other_load() {
    if (load_.sessions) found_.more.emplace_back("sessions");
    if (load_.begins_alike && replica_.spec.shares_prefixes())
      found_.more.emplace_back("prompts that begin alike");
    if (load_.in_generation) found_.more.emplace_back("requests in generation");
    within("prompts of", load_.input_tokens, cell_.input_tokens, "tokens");
    within("answers of", load_.output_tokens, cell_.output_tokens, "tokens");
    within("contexts up to", load_.longest,
           {cell_.input_tokens.least, cell_.input_tokens.most + cell_.output_tokens.most}, "tokens");
    found_.load_unknown = !load_.in_flight;
    if (load_.in_flight) within("load of", *load_.in_flight, cell_.in_flight, "requests in flight");
    if (const std::int64_t seats = replica_.spec.batching->max_batch_requests(); seats < fewest_seats())
      found_.more.push_back(fmt::format("{} seats (measured: {} and more)", seats, fewest_seats()));
  }

  std::int64_t fewest_seats() const {
    const std::string pointer = "/serving/replicas/0/batching/max_batch_requests";
    std::int64_t fewest = server_.replicas.front().batching->max_batch_requests();
    if (const auto varies = cell_.varies.find(pointer); varies != cell_.varies.end())
      for (const Json& seats : varies->second)
        if (seats.is_number()) fewest = std::min(fewest, seats.get<std::int64_t>());
    // Servers with a seat for each of few clients tell of more seats too, and of no fewer.
    return std::min(fewest, static_cast<std::int64_t>(cell_.in_flight.least));
  }

  // Means over a run that begins and ends empty are a little lower than what was asked for.
  static constexpr double slack = 0.1;

  void within(const char* what, double value, const MeasuredRange& range, const char* unit) {
    if (value < (1 - slack) * range.least || value > (1 + slack) * range.most)
      found_.more.push_back(fmt::format("{} {:.0f} {} (measured: {:.0f} to {:.0f})", what, value, unit,
                                        range.least, range.most));
  }

  const MeasuredCell& cell_;
  const Plan& plan_;
  const ReplicaPlan& replica_;
  std::string at_;
  const ServedLoad& load_;
  Scenario server_;
  Json usual_;
  Differences found_;
};

}  // namespace

std::vector<std::string> Differences::all() const {
  std::vector<std::string> all;
  for (const auto* some : {&model, &device, &layout, &more, &launch})
    all.insert(all.end(), some->begin(), some->end());
  return all;
}

int Differences::kinds() const {
  return !model.empty() + !device.empty() + !layout.empty() + !launch.empty();
}

Differences differences_from(const MeasuredCell& cell, const Plan& plan, std::size_t replica,
                             const ServedLoad& load) {
  return Comparison(cell, plan, replica, load).find();
}

}  // namespace weir
