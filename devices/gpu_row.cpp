// A GPU's row of devices/catalog.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "devices/catalog_rows.h"
#include "devices/gpu.h"
#include "devices/gpu_pim/gpu_pim.h"
#include "devices/profile/profiled.h"
#include "models/memory/memory_row.h"

namespace weir {
namespace {

std::string name_of_kernels(const Json& name_or_row) {
  return name_or_row.is_string() ? name_or_row.get<std::string>() : "given";
}

struct GpuRow final : DeviceRow {
  void bind(RowKeys& keys) override {
    bind_memory_and_peaks(keys, spec);
    bind_cache(keys, l2_mb, l2_bandwidth);
    keys.whole_number({"streaming_multiprocessors", "SMs; attention's tiles are dealt out over them."},
                      shape.multiprocessors, {1, 1e6});
    keys.number(
        {"sustained_compute",
         "Share of the tensor-core rate of short benchmarks that a server sustains under its power limit."},
        shape.sustained_compute, efficiency_range);
    keys.number(
        {"sustained_compute_8bit", "The same in types of 8 bits or fewer; by default as sustained_compute."},
        sustained_8bit, efficiency_range);
    changed_machine = keys.changed();
    bind_power(keys);
    keys.quantity({"pim_bandwidth_gb_per_s", "Of a GPU with HBM-PIM: of all banks, at their peak."},
                  pim_bandwidth);
    if (Params* row = keys.row()) read_own(*row);
  }

  void bind_power(RowKeys& keys) {
    keys.quantity({"active_w", "Power above idle while a step runs, at full clocks, beside flops and bytes."},
                  spec.power.active, not_negative);
    keys.quantity({"chip_pj_per_byte", "Energy of a byte on its way between memory and multiprocessors."},
                  spec.power.per_chip_byte, not_negative);
    keys.quantity({"attention_pj_per_byte", "The same of attention's kernels, beside that."},
                  spec.power.per_attention_byte, not_negative);
  }

  void read_own(Params& row) {
    if (const Json* given = row.value({"kernels", ""}, {}, {})) kernels = *given;
    generation = row.text({"generation", ""}, "unknown");
    kernels_note = row.text({"kernels_note", ""}, "");
    spec.power.note = row.text({"power_note", ""}, std::string(unmeasured_power_note));
    if (row.has("usual_batch_requests"))
      spec.usual_batch_requests = row.integer({"usual_batch_requests", ""}, {1, 65536});
    read_pim(row);
  }

  void read_pim(Params& row) {
    const Json* memory = row.has("pim_memory") ? row.value({"pim_memory", ""}, {}) : nullptr;
    const bool commands =
        row.has("pim_timing") && row.choice({"pim_timing", ""}, {"commands", "peak"}) == "commands";
    if (!memory) return;
    const MemorySpec banks = memory_of(*memory);
    if (!pim_bandwidth) row.fail("pim_bandwidth_gb_per_s", "required with pim_memory, but missing");
    if (!banks.pim) row.fail("pim_memory", banks.name + " has no PIM");
    if (!row.reading().failed())
      pim = GpuPimShape{*pim_bandwidth, commands ? PimCosts::shared(banks) : nullptr};
  }

  // Efficiencies are shares of the peaks of the machine they were measured on.
  void overridden(Json& row, Params& scenario) override {
    std::erase_if(changed_machine, [](const std::string& key) { return key.ends_with("_gib"); });  // how much
    if (changed_machine.empty() || row.value("assumed", false) || scenario.has("profile")) return;
    scenario.note("", fmt::format("kernel efficiencies of {}, which were measured at another {}",
                                  name_of_kernels(row["kernels"]), fmt::join(changed_machine, ", ")));
  }

  std::shared_ptr<const Device> make() override {
    shape.l2 = Bytes(1e6 * l2_mb);
    shape.sustained_compute_8bit = sustained_8bit.value_or(shape.sustained_compute);
    spec.power.sustained = shape.sustained_compute;
    spec.power.clocked = true;
    spec.units = {{"gpu",
                   {KernelKind::gemm, KernelKind::grouped_gemm, KernelKind::attention,
                    KernelKind::elementwise, KernelKind::custom}},
                  link_unit()};
    std::vector<KernelEfficiencies> libraries = kernels_of(kernels, shape);
    const std::string& measured = libraries[0].generation;
    if (measured.empty()) spec.power.sustained = 0;  // an assumption's times are as it says, at any clocks
    spec.notes.foreign_kernels = kernels_note;
    if (!measured.empty() && measured != generation)
      spec.notes.foreign_kernels =
          fmt::format("kernel efficiencies of {} ({}) on a GPU whose own generation ({}) was not measured",
                      libraries[0].name, measured, generation);
    if (l2_bandwidth) {
      spec.units.push_back({"prefetch", {KernelKind::prefetch}});
      spec.memories.push_back({.name = "L2",
                               .capacity = shape.l2,
                               .bandwidth = *l2_bandwidth,
                               .kept_for = Memory::KeptFor::prefetches});
    }
    std::shared_ptr<const Device> gpu = make_gpu(std::move(spec), shape, std::move(libraries));
    return pim ? with_hbm_pim(std::move(gpu), std::move(*pim)) : gpu;
  }

  GpuShape shape;
  double l2_mb = 0;
  std::optional<double> sustained_8bit;
  std::optional<BytesPerSecond> l2_bandwidth, pim_bandwidth;
  Json kernels;
  std::string generation, kernels_note;
  std::optional<GpuPimShape> pim;
  std::vector<std::string> changed_machine;  // by the scenario
};

std::shared_ptr<const Device> profiled_if_asked(std::shared_ptr<const Device> gpu, Params& params) {
  const std::optional<std::filesystem::path> folder = params.path_or_null(
      {"profile",
       "Folder of measured kernel times (dense.csv, per_sequence.csv, attention.csv) to use instead."});
  if (!gpu) return gpu;
  if (folder) return make_profiled(std::move(gpu), *folder, params);
  const std::string& foreign = gpu->spec().notes.foreign_kernels;
  if (!foreign.empty()) params.note("kind", foreign);
  return gpu;
}

}  // namespace

const DeviceClass& gpu_class() {
  static const DeviceClass made = {
      .name = "gpu",
      .row = empty_row<GpuRow>,
      .other_rows = {{{"kernels",
                       "How well kernels use it, a name (hopper), the path of a file like "
                       "devices/kernels/*.json, or keys over a base."},
                      kernel_rows,
                      kernel_row_schema},
                     {{"pim_memory",
                       "Of one with HBM-PIM: the memory whose bank model says what PIM and reads reach."},
                      memory_rows,
                      memory_row_schema}},
      .finish = profiled_if_asked};
  return made;
}

}  // namespace weir
