#include "sim/app/plan/launch/settings.h"

#include <fmt/format.h>

#include <boost/algorithm/string/replace.hpp>

#include "sim/plan/engine_catalog.h"

namespace weir {
namespace {

class SettingList {
 public:
  void add(const std::string& name, const Json& value, const std::string& words) {
    list_.push_back({name, value, fmt::format("{} {}", words, text(value)), nullptr});
  }
  void add_of_each_rank(const std::string& name, const Json& value, std::int64_t ranks) {
    if (value.is_null()) return;
    add(name, value, "batching." + name);
    list_.back().of_all_ranks = value.get<std::int64_t>() * ranks;
  }
  void add_above_one(const std::string& name, const Json& value, const std::string& words) {
    if (value > 1) add(name, value, words);
  }
  void add_given(const std::string& name, const Json& value, const std::string& words) {
    if (!value.is_null()) add(name, value, words);
  }
  std::vector<Setting> take() { return std::move(list_); }

  static std::string text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

 private:
  std::vector<Setting> list_;
};

void add_layout(SettingList& list, const Json& replica, bool experts) {
  const Json& cut = replica.at("parallelism");
  const std::int64_t ranks =
      cut.at("tensor").get<std::int64_t>() * cut.at("attention_data").get<std::int64_t>();
  list.add_above_one("tensor", cut.at("tensor"), "parallelism.tensor");
  list.add_above_one("ranks", ranks, "tensor x attention_data");
  list.add_above_one("pipeline", cut.at("pipeline"), "parallelism.pipeline");
  list.add_above_one("attention_data", cut.at("attention_data"), "parallelism.attention_data");
  if (!experts) return;
  const std::int64_t expert = cut.at("expert");
  // An engine that only knows all or none is not told of something between.
  if (expert > 1) list.add("expert", expert, "parallelism.expert");
  if (expert > 1 && expert == ranks) list.add("expert_on_every_rank", true, "parallelism.expert");
  const std::string communication = replica.at("communication");
  if (cut.at("attention_data") > 1)
    list.add("communication",
             communication == "deepep" ? communication + " " + replica.at("role").get<std::string>()
                                       : communication,
             "communication");
  if (const Json& redundant = replica.at("experts").at("redundant"); redundant > 0)
    list.add("redundant", redundant, "experts.redundant");
}

void add_cache(SettingList& list, const Json& cache) {
  if (!cache.at("blocks").is_null())
    list.add("blocks", cache["blocks"], "kv_cache.blocks");
  else if (!cache.at("free_memory_fraction").is_null())
    list.add("free_memory_fraction", cache["free_memory_fraction"], "kv_cache.free_memory_fraction");
  else
    list.add("memory_fraction", cache.at("memory_fraction"), "kv_cache.memory_fraction");
  list.add("block_tokens", cache.at("block_tokens"), "kv_cache.block_tokens");
  if (cache.at("admission") != "chunk") list.add("admission", cache["admission"], "kv_cache.admission");
  if (const Json& watermark = cache.at("watermark"); watermark > 0)
    list.add("watermark", watermark, "kv_cache.watermark");
  if (cache.at("preemption") != "recompute")
    list.add("preemption", cache["preemption"], "kv_cache.preemption");
  if (const Json& caching = cache.at("prefix_caching"); caching != true)
    list.add(caching == false ? "no_prefix_caching" : "prefix_caching", caching, "kv_cache.prefix_caching");
  for (const Json& tier : cache.at("tiers"))
    list.add(tier.at("kind") == "host" ? "host_tier_gb" : "tier", tier.at("capacity_gb"),
             fmt::format("kv_cache.tiers: {} of GB", tier.at("kind").get<std::string>()));
}

void add_drafts(SettingList& list, const Json& speculative) {
  if (speculative.is_null()) return;
  const std::string kind = speculative.at("kind");
  list.add("speculative_" + kind, speculative.value("tokens", Json(1)), "speculative " + kind + ", tokens");
}

std::string filled(std::string word, const Setting& setting) {
  boost::replace_all(word, "{value}", SettingList::text(setting.value));
  boost::replace_all(word, "{of_all_ranks}", SettingList::text(setting.of_all_ranks));
  return word;
}

// "{value}" alone is the value itself, a number where it is one.
Json filled_config(const Json& config, const Json& value) {
  if (config == "{value}") return value;
  if (config == "{bytes}") return static_cast<std::int64_t>(value.get<double>() * 1e9);
  if (!config.is_object()) return config;
  Json made = Json::object();
  for (const auto& [key, below] : config.items()) made[key] = filled_config(below, value);
  return made;
}

}  // namespace

std::vector<Setting> settings_of(const Json& replica, const Json& precision, bool experts) {
  SettingList list;
  add_layout(list, replica, experts);
  list.add("weights", precision.at("weights"), "precision.weights");
  for (const char* key : {"expert_weights", "experts"})
    if (const Json& own = precision.at(key); own != "auto")
      list.add("expert_weights", own, std::string("precision.") + key);
  for (const char* key : {"attention", "mlp", "shared_expert", "head", "embedding"})
    if (const Json& own = precision.at(key); own != "auto")
      list.add(key, own, std::string("precision.") + key);
  list.add("kv_cache_type", precision.at("kv_cache"), "precision.kv_cache");
  const Json& batching = replica.at("batching");
  list.add("batching", batching.at("kind"), "batching");
  for (const char* key : {"max_batch_requests", "max_batch_tokens"})
    list.add_of_each_rank(key, batching.value(key, Json()), replica.at("parallelism").at("attention_data"));
  add_cache(list, replica.at("kv_cache"));
  list.add_given("max_model_len", replica.at("max_model_len"), "max_model_len");
  const Json& engine = replica.at("engine");
  // Settings that are the version's own defaults are not written.
  const KnownEngine known =
      find_engine(engine.at("kind"), engine.at("version").is_null()
                                         ? std::nullopt
                                         : std::optional<std::string>(engine.at("version")))
          .value();
  if (const bool ahead = engine.at("async_scheduling"); ahead != known.row->preset.overlapped)
    list.add(ahead ? "async_scheduling" : "no_async_scheduling", true,
             fmt::format("engine.async_scheduling {}", ahead));
  if (engine.value("two_batch_overlap", false))
    list.add("two_batch_overlap", true, "engine.two_batch_overlap");
  if (const std::string sampler = engine.at("sampler"); sampler != "fused")
    list.add("sampler", sampler, "engine.sampler");
  add_drafts(list, replica.at("speculative"));
  list.add("role", replica.at("role"), "role");
  return list.take();
}

EngineCommand command_of(const LaunchEngine& engine, const std::vector<Setting>& settings) {
  EngineCommand command;
  command.words = engine.command;
  for (const Setting& setting : settings) {
    const std::optional<Saying> said = engine.saying(setting.name, SettingList::text(setting.value));
    if (said) {
      for (const std::string& word : said->words) command.words.push_back(filled(word, setting));
      if (!said->config.is_null()) command.config.merge_patch(filled_config(said->config, setting.value));
    }
    // A degree that another row says whole needs no comment.
    const bool whole =
        setting.name == "expert" && engine.row("expert_on_every_rank") &&
        std::ranges::any_of(settings, [](const Setting& s) { return s.name == "expert_on_every_rank"; });
    if (!said && !whole)
      command.comments.push_back(
          fmt::format("{}: no flag of {} {} says it", setting.words, engine.name, engine.version));
  }
  return command;
}

}  // namespace weir
