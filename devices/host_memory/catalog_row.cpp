// The row of devices/catalog of a host's memory.
#include <fmt/format.h>

#include "devices/catalog_rows.h"
#include "devices/host_memory/dimm.h"
#include "models/memory/memory_row.h"

namespace weir {
namespace {

const Choices<DimmLevel> levels = {
    {"bank", DimmLevel::bank}, {"rank", DimmLevel::rank}, {"channel", DimmLevel::channel}};
const Choices<ActivationMode> activations = {
    {"at_once", ActivationMode::at_once}, {"rrd", ActivationMode::rrd}, {"faw", ActivationMode::faw}};

const CatalogNumbers& numbers() {
  static const CatalogNumbers all = {
      {{"memory_capacity_gib", "Device memory as the driver reports it; more of it holds more KV cache."}},
  };
  return all;
}

const CatalogCount counts[] = {
    {{"memory_channels",
      "Dealt out to the devices of the node; bandwidth is so many times the memory's. null: as the catalog "
      "has it."},
     4096},
    {{"ranks", "Ranks of a channel. Capacity stays. null: as the catalog has it."}, 64},
    {{"ranksets",
      "Groups of as many ranks of every channel; a request's keys and values of a layer lie "
      "in one (L3). Divides ranks. null: as the catalog has it."},
     64},
};

const std::vector<CatalogChoice>& choices() {
  static const std::vector<CatalogChoice> all = {
      {{"dimm_timing",
        "Commands plays the bank model's; peak takes a column read at every interval, "
        "without rows, refresh or energy. null: as the catalog has it."},
       {"commands", "peak"}},
      {{"rankset_loads",
        "Of DIMM-PIM, where requests' layers go round the ranksets: what lies in each, or an equal share of "
        "every layer, as L3's figures have it. null: as the catalog has it."},
       {"placed", "even"}},
      {{"activation",
        "The banks of a rank open a row each in one cycle, tRRD apart, or as tFAW allows too. "
        "null: as the catalog has it."},
       words_of(activations)},
      {{"relayout",
        "Elements get into one chip on their way through the buffer chip, or are transposed by "
        "the CPU, three times over the bus. null: as the catalog has it."},
       {"in_flight", "cpu_transposition"}},
      {{"kv_mapping",
        "V by element over the banks (L3, Section 4.2), or laid out as K is. null: as the "
        "catalog has it."},
       {"tailored", "uniform"}},
      {{"kernels_fused",
        "Score, softmax and context in one pipeline, or one after the other. null: as the "
        "catalog has it."},
       {"yes", "no"}},
  };
  return all;
}

void override_dimm(Json& row, Params& params) {
  override_counts(row, counts, params);
  override_numbers(row, numbers(), params);
  override_choices(row, choices(), params);
  if (params.describing() || !row.is_object()) return;
  const auto ranks = row["ranks"].get<std::int64_t>(), ranksets = row["ranksets"].get<std::int64_t>();
  if (ranks % ranksets != 0) {
    params.fail("ranksets",
                fmt::format("expected a divisor of the {} ranks of a channel (got {})", ranks, ranksets));
    row["ranksets"] = 1;  // harmless
  }
}

using Chosen = std::map<std::string, std::string>;

DimmPimOptions options_of(const Chosen& chosen) {
  DimmPimOptions options;
  options.level = choice_named(levels, chosen.at("level"));
  options.activation = choice_named(activations, chosen.at("activation"));
  if (chosen.at("relayout") == "cpu_transposition") options.relayout = Relayout::cpu_transposition;
  if (chosen.at("kv_mapping") == "uniform") options.mapping = KvMapping::uniform;
  options.fused = chosen.at("kernels_fused") == "yes";
  return options;
}

// How often K and V are read for the query heads that share them (models/memory/dimm_pim/rank_attention.h).
double reads_of(DimmLevel level, std::int64_t query_heads) {
  if (level == DimmLevel::channel) return 1;
  const std::int64_t a_pass = level == DimmLevel::rank ? rank_heads_a_pass : 1;
  return static_cast<double>((query_heads + a_pass - 1) / a_pass);
}

// A column read whenever its interval allows one, and nothing else: of one rank, or its share of the
// channel's bus.
void attend_at_peak(DimmShape& shape, const MemorySpec& memory, int ranks) {
  const auto one = RankAttention::shared(memory, {.level = shape.level});
  const DimmLevel level = shape.level;
  const BytesPerSecond peak = level == DimmLevel::channel ? memory.peak() / ranks : one->peak();
  shape.stored = shape.read = memory.peak();
  shape.head = [peak, level](std::int64_t query_heads, std::int64_t head_dim) {
    const Bytes token(static_cast<double>(2 * 2 * head_dim) * reads_of(level, query_heads));
    return RankAttention::Affine{Seconds(0), token / peak, Joules(0), Joules(0)};
  };
}

void attend_by_commands(DimmShape& shape, const MemorySpec& memory, const DimmPimOptions& options) {
  const auto one = RankAttention::shared(memory, options);
  shape.stored = one->store_bandwidth();
  shape.read = one->bus_bandwidth();
  shape.head = [one](std::int64_t query_heads, std::int64_t head_dim) {
    return one->attention(query_heads, head_dim);
  };
}

std::shared_ptr<const Device> read_dimm(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  DimmShape shape;
  const std::map<std::string, std::int64_t> count = read_counts(row, counts);
  Chosen chosen = read_choices(row, choices());
  chosen["level"] = row.choice({"level", ""}, words_of(levels));
  const std::map<std::string, double> value = read_numbers(row, numbers());
  const Json* given = row.value({"memory", ""}, {});
  DeviceSpec spec = common_spec(kind, row);
  close_row(row);
  reading.finish();
  const MemorySpec memory = memory_of(*given);
  const DimmPimOptions options = options_of(chosen);
  const auto ranks = static_cast<int>(count.at("ranks"));
  shape.channels = static_cast<int>(count.at("memory_channels"));
  shape.ranksets = static_cast<int>(count.at("ranksets"));
  shape.ranks_in_channel = ranks / shape.ranksets;
  shape.level = options.level;
  shape.channel_bandwidth = memory.peak();
  chosen["dimm_timing"] == "peak" ? attend_at_peak(shape, memory, ranks)
                                  : attend_by_commands(shape, memory, options);
  spec.peak = [](DataType) { return FlopsPerSecond(0); };
  spec.own().capacity = Bytes(Params::unit("memory_capacity_gib") * value.at("memory_capacity_gib"));
  spec.own().bandwidth = static_cast<double>(shape.channels) * memory.peak();
  spec.own().sustained = static_cast<double>(shape.channels) * shape.read;
  spec.units = {{shape.level == DimmLevel::channel ? "host_cpu" : "ranksets",
                 {KernelKind::decode_attention, KernelKind::copy},
                 {},
                 shape.ranksets}};
  spec.own().members = shape.ranksets;
  spec.own().evenly_filled = chosen["rankset_loads"] == "even";
  return std::make_shared<Dimm>(std::move(spec), std::move(shape));
}

}  // namespace

const DeviceClass& dimm_class() {
  static const DeviceClass made = {
      .name = "dimm", .override = override_dimm, .read = read_dimm, .other_rows = {memory_key()}};
  return made;
}

}  // namespace weir
