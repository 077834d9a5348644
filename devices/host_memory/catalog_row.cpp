// The row of devices/catalog of a host's memory.
#include <fmt/format.h>

#include "devices/catalog_rows.h"
#include "devices/host_memory/dimm.h"
#include "models/memory/memory_row.h"

namespace weir {
namespace {

const Choices<DimmLevel> levels = {
    {"bank", DimmLevel::bank}, {"rank", DimmLevel::rank}, {"channel", DimmLevel::channel}};

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

struct DimmRow final : DeviceRow {
  void bind(RowKeys& keys) override {
    keys.count(
        {"memory_channels", "Dealt out to the devices of the node; bandwidth is so many times the memory's."},
        shape.channels, 4096);
    keys.count({"ranks", "Ranks of a channel. Capacity stays."}, ranks, 64);
    keys.count({"ranksets",
                "Groups of as many ranks of every channel; a request's keys and values of a layer lie in one "
                "(L3). Divides ranks."},
               shape.ranksets, 64);
    keys.quantity(reported_capacity_key, spec.own().capacity);
    keys.choice({"dimm_timing",
                 "Commands plays the bank model's; peak takes a column read at every interval, without rows, "
                 "refresh or energy."},
                at_peak, {{"commands", false}, {"peak", true}});
    keys.choice({"rankset_loads",
                 "Of DIMM-PIM, where requests' layers go round the ranksets: what lies in each, or an equal "
                 "share of every layer, as L3's figures have it."},
                spec.own().evenly_filled, {{"placed", false}, {"even", true}});
    bind_pim(keys);
    if (Params* row = keys.row()) options.level = shape.level = row->choice({"level", ""}, levels);
    bind_memory(keys, memory);
  }

  void bind_pim(RowKeys& keys) {
    keys.choice(
        {"activation",
         "The banks of a rank open a row each in one cycle, tRRD apart, or as tFAW allows too."},
        options.activation,
        {{"at_once", ActivationMode::at_once}, {"rrd", ActivationMode::rrd}, {"faw", ActivationMode::faw}});
    keys.choice({"relayout",
                 "Elements get into one chip on their way through the buffer chip, or are transposed by the "
                 "CPU, three times over the bus."},
                options.relayout,
                {{"in_flight", Relayout::in_flight}, {"cpu_transposition", Relayout::cpu_transposition}});
    keys.choice({"kv_mapping", "V by element over the banks (L3, Section 4.2), or laid out as K is."},
                options.mapping, {{"tailored", KvMapping::tailored}, {"uniform", KvMapping::uniform}});
    keys.choice({"kernels_fused", "Score, softmax and context in one pipeline, or one after the other."},
                options.fused, {{"yes", true}, {"no", false}});
  }

  void overridden(Json& row, Params& scenario) override {
    const auto of_channel = row["ranks"].get<std::int64_t>(), sets = row["ranksets"].get<std::int64_t>();
    if (of_channel % sets == 0) return;
    scenario.fail("ranksets",
                  fmt::format("expected a divisor of the {} ranks of a channel (got {})", of_channel, sets));
    row["ranksets"] = 1;  // harmless
  }

  std::shared_ptr<const Device> make() override {
    shape.ranks_in_channel = ranks / shape.ranksets;
    shape.channel_bandwidth = memory.peak();
    at_peak ? attend_at_peak(shape, memory, ranks) : attend_by_commands(shape, memory, options);
    spec.peak = [](DataType) { return FlopsPerSecond(0); };
    spec.own().bandwidth = static_cast<double>(shape.channels) * memory.peak();
    spec.own().sustained = static_cast<double>(shape.channels) * shape.read;
    spec.units = {{shape.level == DimmLevel::channel ? "host_cpu" : "ranksets",
                   {KernelKind::decode_attention, KernelKind::copy},
                   {},
                   shape.ranksets}};
    spec.own().members = shape.ranksets;
    return std::make_shared<Dimm>(std::move(spec), std::move(shape));
  }

  DimmShape shape;
  int ranks = 1;  // of a channel
  bool at_peak = false;
  DimmPimOptions options;
  MemorySpec memory;
};

}  // namespace

const DeviceClass& dimm_class() {
  static const DeviceClass made = {.name = "dimm", .row = empty_row<DimmRow>, .other_rows = {memory_key()}};
  return made;
}

}  // namespace weir
