// An NPU's row of devices/catalog.
#include <fmt/format.h>

#include <algorithm>

#include "devices/catalog_rows.h"
#include "devices/npu/npu.h"
#include "models/memory/memory_row.h"

namespace weir {
namespace {

// Share of the bandwidth that PIM with dual row buffers takes from normal reads, in the `paper` assumptions:
// reads keep 0.70 to 0.80 of the peak in NeuPIMs' simulator (models/memory/pim/beside.h;
// docs/memory_models.md).
constexpr double fitted_withheld = 0.22;

const CatalogNumbers& numbers() {
  static const CatalogNumbers all = {
      {{"clock_ghz", "Of an NPU's arrays and vector units."}},
      {{"scratchpad_mib", "On-chip memory; activations that do not fit half of it are read again."}},
      {{"memory_efficiency", "Share of the memory's peak that a stream of reads reaches."}, {0.01, 1}},
      {{"softmax_cycles", "Cycles of a vector lane for an element's softmax."}},
      {{"memory_capacity_gib", "Device memory as the driver reports it; more of it holds more KV cache."},
       positive,
       true},
  };
  return all;
}

const CatalogCount counts[] = {
    {{"systolic_arrays", "null: as the catalog has it."}, 4096},
    {{"systolic_rows", "Of a systolic array, along a matrix's input; null: as the catalog has it."}, 4096},
    {{"systolic_columns", "Of a systolic array, along a matrix's output; null: as the catalog has it."},
     4096},
    {{"vector_lanes", "Of all vector units of an NPU; null: as the catalog has it."}, 1 << 20},
    {{"memory_channels",
      "Capacity and bandwidth are so many times the memory's. null: as the catalog has it."},
     4096},
};

const std::vector<CatalogChoice>& choices() {
  static const std::vector<CatalogChoice> all = {
      {{"row_buffers",
        "Of an NPU's PIM: dual ones let it run beside normal reads, none is memory without PIM; null: as the "
        "catalog has it."},
       {"none", "single", "dual"}},
      {{"pim_timing",
        "Of an NPU's PIM; artifact does what NeuPIMs' simulator does. null: as the catalog has it."},
       {"physical", "artifact"}},
      {{"pim_refresh",
        "Of an NPU's PIM; off: GEMVs never wait for a refresh, to see what it costs (normal reads: "
        "memory_efficiency). null: as the catalog has it."},
       {"on", "off"}},
  };
  return all;
}

void override_npu(Json& row, Params& params) {
  override_counts(row, counts, params);
  override_numbers(row, numbers(), params);
  override_choices(row, choices(), params);
}

PimOptions pim_options(std::map<std::string, std::string>& chosen) {
  return {.timing = chosen["pim_timing"] == "artifact" ? PimTiming::artifact : PimTiming::physical,
          .buffers = chosen["row_buffers"] == "dual" ? RowBuffers::dual : RowBuffers::single,
          .refresh = chosen["pim_refresh"] == "on"};
}

MemorySpec read_memory(Params& row, bool with_pim, const PimOptions& options) {
  const Json* given = row.value({"memory", ""}, {});
  if (!given) return {};
  MemorySpec memory = memory_of(*given);
  if (!with_pim) return memory;
  if (!memory.pim)
    row.fail("memory", fmt::format("{} has no PIM; \"row_buffers\": \"none\" goes without", memory.name));
  else if (const std::string why = cannot_play(memory, interference_request, options); !why.empty())
    row.fail("memory", why);
  return memory;
}

std::optional<FittedPim> fitted_pim(Params& row) {
  if (!row.has("pim_tile_ck")) return {};
  return FittedPim{row.number({"pim_tile_ck", ""}, positive), row.number({"pim_gwrite_ck", ""}, positive),
                   row.number({"pim_blocked_slowdown", ""}, {1})};
}

void add_pim(DeviceSpec& spec, NpuShape& shape, const MemorySpec& memory, const PimOptions& options,
             std::int64_t channels, const std::optional<FittedPim>& fitted) {
  shape.pim = PimGemvs::shared(memory, options, fitted);
  const bool dual = options.buffers == RowBuffers::dual;  // with single ones nothing runs beside it
  // A stream of reads keeps what it reaches beside the PIM.
  const double withheld = shape.fitted ? (dual ? fitted_withheld : 1)
                                       : 1 - shape.arrays.memory_efficiency * shape.pim->reads_kept();
  const Port memory_port{own_memory, withheld, dual ? shape.pim->slowed_by_reads() : 0};
  spec.units.push_back({dual ? "pim" : "pim_blocked",
                        {KernelKind::logit, KernelKind::attend},
                        {memory_port},
                        static_cast<int>(channels)});
  spec.own().members = static_cast<int>(channels);
  spec.own().page_elements = shape.pim->page_elements();
  spec.own().banks = memory.organisation.banks();
}

std::shared_ptr<const Device> read_npu(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  const std::map<std::string, double> value = read_numbers(row, numbers());
  std::map<std::string, std::int64_t> count = read_counts(row, counts);
  std::map<std::string, std::string> chosen = read_choices(row, choices());
  DeviceSpec spec = common_spec(kind, row);
  NpuShape shape;
  if (row.has("kv_read_efficiency"))
    shape.fitted = FittedNpu{row.number({"kv_read_efficiency", ""}, fraction)};
  const std::optional<FittedPim> fitted = fitted_pim(row);
  const bool with_pim = chosen["row_buffers"] != "none";
  const PimOptions options = pim_options(chosen);
  const MemorySpec memory = read_memory(row, with_pim, options);
  close_row(row);
  reading.finish();

  const std::int64_t channels = count["memory_channels"];
  spec.own().capacity = value.contains("memory_capacity_gib")
                            ? Bytes(Params::unit("memory_capacity_gib") * value.at("memory_capacity_gib"))
                            : Bytes(static_cast<double>(channels * memory.organisation.capacity()));
  spec.own().bandwidth = static_cast<double>(channels) * memory.peak();
  shape.arrays = {.arrays = count["systolic_arrays"],
                  .rows = count["systolic_rows"],
                  .columns = count["systolic_columns"],
                  .clock_hz = 1e9 * value.at("clock_ghz"),
                  .bandwidth = spec.own().bandwidth,
                  .memory_efficiency = value.at("memory_efficiency"),
                  .scratchpad = Bytes(Params::unit("scratchpad_mib") * value.at("scratchpad_mib"))};
  shape.vector_lanes = static_cast<double>(count["vector_lanes"]);
  shape.softmax_cycles = value.at("softmax_cycles");
  const FlopsPerSecond peak(
      2 * static_cast<double>(shape.arrays.arrays * shape.arrays.rows * shape.arrays.columns) *
      shape.arrays.clock_hz);
  spec.peak = [peak](DataType t) {
    return t == DataType::bf16 || t == DataType::fp16 ? peak : FlopsPerSecond(0);
  };
  spec.units = {
      {"systolic", {KernelKind::gemm, KernelKind::grouped_gemm, KernelKind::attention}},
      {"vector", {KernelKind::elementwise, KernelKind::softmax}},
  };
  if (with_pim) add_pim(spec, shape, memory, options, channels, fitted);
  spec.units.push_back(link_unit());
  return make_npu(std::move(spec), std::move(shape));
}

void stream_as_its_memory_does(Json& row, const std::function<bool(const char*)>& given) {
  if (given("memory") && !given("memory_efficiency"))
    row["memory_efficiency"] = stream_efficiency(memory_of(row["memory"]));
}

}  // namespace

const DeviceClass& npu_class() {
  static const DeviceClass made = {
      .name = "npu",
      .override = override_npu,
      .read = read_npu,
      .other_rows =
          {{{"memory",
             "A name of `weir list memories`, the path of such a file, or keys over the device's own "
             "(or a base). What streams reach follows from it, and what PIM takes unless "
             "assumptions: paper fix that."},
            memory_rows,
            memory_row_schema}},
      .follow = stream_as_its_memory_does};
  return made;
}

}  // namespace weir
