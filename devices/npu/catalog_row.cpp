// An NPU's row of devices/catalog.
#include <fmt/format.h>

#include "devices/catalog_rows.h"
#include "devices/npu/npu.h"
#include "models/memory/memory_row.h"

namespace weir {
namespace {

// Share of the bandwidth that PIM with dual row buffers takes from normal reads, in the `paper` assumptions:
// reads keep 0.70 to 0.80 of the peak in NeuPIMs' simulator (models/memory/pim/beside.h;
// docs/memory_models.md).
constexpr double fitted_withheld = 0.22;

struct NpuRow final : DeviceRow {
  void bind(RowKeys& keys) override {
    bind_arrays(keys);
    keys.quantity(reported_capacity_key, capacity);
    bind_pim(keys);
    if (Params* row = keys.row()) read_assumptions(*row);
    bind_memory(keys, memory);
    if (Params* row = keys.row()) check_pim(*row);
  }

  void bind_arrays(RowKeys& keys) {
    constexpr std::int64_t most = 4096;
    keys.count({"systolic_arrays", ""}, shape.arrays.arrays, most);
    keys.count({"systolic_rows", "Of a systolic array, along a matrix's input;"}, shape.arrays.rows, most);
    keys.count({"systolic_columns", "Of a systolic array, along a matrix's output;"}, shape.arrays.columns,
               most);
    keys.count({"vector_lanes", "Of all vector units of an NPU;"}, shape.vector_lanes, 1 << 20);
    keys.count({"memory_channels", "Capacity and bandwidth are so many times the memory's."}, channels, most);
    keys.quantity({"clock_ghz", "Of an NPU's arrays and vector units."}, shape.arrays.clock_hz);
    keys.quantity(
        {"scratchpad_mib", "On-chip memory; activations that do not fit half of it are read again."},
        shape.arrays.scratchpad);
    keys.number(memory_efficiency_key, shape.arrays.memory_efficiency, efficiency_range);
    keys.number({"softmax_cycles", "Cycles of a vector lane for an element's softmax."},
                shape.softmax_cycles);
  }

  void bind_pim(RowKeys& keys) {
    keys.choice({"row_buffers",
                 "Of an NPU's PIM: dual ones let it run beside normal reads, none is memory without PIM;"},
                buffers,
                {{"none", std::nullopt}, {"single", RowBuffers::single}, {"dual", RowBuffers::dual}});
    keys.choice({"pim_timing", "Of an NPU's PIM; artifact does what NeuPIMs' simulator does."},
                options.timing, {{"physical", PimTiming::physical}, {"artifact", PimTiming::artifact}});
    keys.choice({"pim_refresh",
                 "Of an NPU's PIM; off: GEMVs never wait for a refresh, to see what it costs (normal reads: "
                 "memory_efficiency)."},
                options.refresh, {{"on", true}, {"off", false}});
    options.buffers = buffers.value_or(RowBuffers::single);
  }

  void read_assumptions(Params& row) {
    if (row.has("kv_read_efficiency"))
      shape.fitted = FittedNpu{row.number({"kv_read_efficiency", ""}, fraction)};
    if (row.has("pim_tile_ck"))
      fitted =
          FittedPim{row.number({"pim_tile_ck", ""}, positive), row.number({"pim_gwrite_ck", ""}, positive),
                    row.number({"pim_blocked_slowdown", ""}, {1})};
  }

  void check_pim(Params& row) {
    if (!buffers || !row.has("memory")) return;
    if (!memory.pim)
      row.fail("memory", fmt::format("{} has no PIM; \"row_buffers\": \"none\" goes without", memory.name));
    else if (const std::string why = cannot_play(memory, interference_request, options); !why.empty())
      row.fail("memory", why);
  }

  std::shared_ptr<const Device> make() override {
    spec.own().capacity =
        capacity.value_or(Bytes(static_cast<double>(channels * memory.organisation.capacity())));
    spec.own().bandwidth = static_cast<double>(channels) * memory.peak();
    shape.arrays.bandwidth = spec.own().bandwidth;
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
    if (buffers) add_pim();
    spec.units.push_back(link_unit());
    return make_npu(std::move(spec), std::move(shape));
  }

  void add_pim() {
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

  NpuShape shape;
  std::int64_t channels = 0;
  std::optional<Bytes> capacity;      // none: the memory's
  std::optional<RowBuffers> buffers;  // none: no PIM
  PimOptions options;
  std::optional<FittedPim> fitted;
  MemorySpec memory;
};

void stream_as_its_memory_does(Json& row, const std::function<bool(const char*)>& given) {
  if (given("memory") && !given("memory_efficiency"))
    row["memory_efficiency"] = stream_efficiency(memory_of(row["memory"]));
}

}  // namespace

const DeviceClass& npu_class() {
  static const DeviceClass made = {
      .name = "npu",
      .row = empty_row<NpuRow>,
      .other_rows = {{{"memory",
                       "A name of `weir list memories`, the path of such a file, or keys over the device's "
                       "own (or a base). What streams reach follows from it, and what PIM takes unless "
                       "assumptions: paper fix that."},
                      memory_rows,
                      memory_row_schema}},
      .follow = stream_as_its_memory_does};
  return made;
}

}  // namespace weir
