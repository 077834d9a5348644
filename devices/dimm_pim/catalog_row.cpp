// The row of devices/catalog of a host's memory.
#include <fmt/format.h>

#include "devices/catalog_rows.h"
#include "devices/dimm_pim/dimm_pim.h"
#include "models/memory/memory_spec.h"

namespace weir {
namespace {

const CatalogNumbers& numbers() {
  static const CatalogNumbers all = {
      {{"memory_capacity_gib", "Device memory as the driver reports it; more of it holds more KV cache."}},
  };
  return all;
}

struct Count {
  Key key;
  std::int64_t most;
};
const Count counts[] = {
    {{"memory_channels",
      "Of an NPU; capacity and bandwidth are so many times the memory's. Of host memory: dealt out to the "
      "devices "
      "of the node. null: as the catalog has it."},
     4096},
    {{"ranks", "Of host memory: ranks of a channel. Capacity stays. null: as the catalog has it."}, 64},
    {{"ranksets",
      "Of host memory: groups of so many ranks of every channel; a request's keys and values of a layer lie "
      "in one "
      "(L3). Divides ranks. null: as the catalog has it."},
     64},
};

struct Choice {
  Key key;
  std::vector<std::string> known;
};
const std::vector<Choice>& choices() {
  static const std::vector<Choice> all = {
      {{"memory", "A name of `weir list memories`; null: as the catalog has it."}, memory_names()},
      {{"dimm_timing",
        "Of host memory: commands plays the bank model's; peak takes every column read at its interval, "
        "without rows "
        "or refresh. null: as the catalog has it."},
       {"commands", "peak"}},
  };
  return all;
}

void override_dimm(Json& row, Params& params) {
  for (const Count& count : counts)
    if (const auto given = params.integer_or_null(count.key, {1, count.most}); given && row.is_object())
      row[count.key.name] = *given;
  override_numbers(row, numbers(), params);
  for (const Choice& choice : choices()) override_choice(row, choice.key, choice.known, params);
  if (params.describing() || !row.is_object()) return;
  const auto ranks = row["ranks"].get<std::int64_t>(), ranksets = row["ranksets"].get<std::int64_t>();
  if (ranks % ranksets != 0) {
    params.fail("ranksets",
                fmt::format("expected a divisor of the {} ranks of a channel (got {})", ranks, ranksets));
    row["ranksets"] = 1;  // harmless
  }
}

DimmLevel level_named(const std::string& name) {
  return name == "bank" ? DimmLevel::bank : name == "rank" ? DimmLevel::rank : DimmLevel::channel;
}

// Of one rank's banks, of its bus, or of a channel's.
BytesPerSecond peak_of(DimmLevel level, const MemorySpec& memory) {
  if (level != DimmLevel::bank) return memory.peak();
  const Seconds interval(static_cast<double>(memory.timings.ccd_l) * memory.clock.value());
  return Bytes(static_cast<double>(memory.organisation.banks_per_rank() * memory.organisation.access_bytes)) /
         interval;
}

std::shared_ptr<const Device> read_dimm(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  DimmShape shape;
  shape.channels = static_cast<int>(row.integer(counts[0].key, {1, counts[0].most}));
  const auto ranks = static_cast<int>(row.integer(counts[1].key, {1, counts[1].most}));
  shape.ranksets = static_cast<int>(row.integer(counts[2].key, {1, counts[2].most}));
  shape.ranks_in_channel = ranks / shape.ranksets;
  shape.level = level_named(row.choice({"level", ""}, {"bank", "rank", "channel"}));
  const MemorySpec memory = find_memory(row.choice({"memory", ""}, memory_names()));
  row.choice({"dimm_timing", ""}, {"commands", "peak"});
  const std::map<std::string, double> value = read_numbers(row, numbers());
  DeviceSpec spec = common_spec(kind, row);
  row.close_ignoring_rest();  // sources
  reading.finish();
  shape.channel_bandwidth = shape.stored = memory.peak();
  const BytesPerSecond attended = peak_of(shape.level, memory);
  const bool shares_reads = shape.level == DimmLevel::channel;
  shape.head = [attended, shares_reads](std::int64_t query_heads, std::int64_t head_dim) {
    const Bytes token(static_cast<double>(2 * 2 * head_dim * (shares_reads ? 1 : query_heads)));
    return HeadAttention{Seconds(0), token / attended, Joules(0), Joules(0)};
  };
  spec.is_host_memory = true;
  spec.peak = [](DataType) { return FlopsPerSecond(0); };
  spec.memory = Bytes(Params::unit("memory_capacity_gib") * value.at("memory_capacity_gib"));
  spec.memory_bandwidth = static_cast<double>(shape.channels) * memory.peak();
  if (shape.level == DimmLevel::channel) shape.ranks_in_channel = 1;  // one processor reads them all
  spec.units = {{shape.level == DimmLevel::channel ? "host_cpu" : "ranksets", shape.ranksets}};
  spec.kv_channels = shape.ranksets;
  return make_dimm(std::move(spec), std::move(shape));
}

}  // namespace

const DeviceClass dimm_class = {"dimm", override_dimm, read_dimm};

}  // namespace weir
