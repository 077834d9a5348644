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

const CatalogNumbers& numbers() {
  static const CatalogNumbers all = {
      {{"streaming_multiprocessors", "SMs; attention's tiles are dealt out over them."},
       {1, 1e6},
       false,
       true},
      {{"sustained_compute",
        "Share of the tensor-core rate of short benchmarks that a server sustains under its power limit."},
       {0.01, 1}},
      {{"sustained_compute_8bit", "The same in types of 8 bits or fewer; by default as sustained_compute."},
       {0.01, 1},
       true},
  };
  return all;
}

const CatalogNumbers& power_numbers() {
  static const CatalogNumbers all = {
      {{"active_w", "Power above idle while a step runs, at full clocks, beside flops and bytes."},
       not_negative},
      {{"chip_pj_per_byte", "Energy of a byte on its way between memory and multiprocessors."}, not_negative},
      {{"attention_pj_per_byte", "The same of attention's kernels, beside that."}, not_negative},
  };
  return all;
}

const CatalogNumbers& pim_numbers() {
  static const CatalogNumbers all = {
      {{"pim_bandwidth_gb_per_s", "Of a GPU with HBM-PIM: of all banks, at their peak."}, positive, true},
  };
  return all;
}

// Null where the row has none.
std::optional<GpuPimShape> read_pim(Params& row) {
  const std::map<std::string, double> pim = read_numbers(row, pim_numbers());
  const Json* memory = row.has("pim_memory") ? row.value({"pim_memory", ""}, {}) : nullptr;
  const bool commands =
      row.has("pim_timing") && row.choice({"pim_timing", ""}, {"commands", "peak"}) == "commands";
  if (!memory) return {};
  const MemorySpec banks = memory_of(*memory);
  if (pim.empty()) row.fail("pim_bandwidth_gb_per_s", "required with pim_memory, but missing");
  if (!banks.pim) row.fail("pim_memory", banks.name + " has no PIM");
  if (row.reading().failed()) return {};
  return GpuPimShape{
      BytesPerSecond(Params::unit("pim_bandwidth_gb_per_s") * pim.at("pim_bandwidth_gb_per_s")),
      commands ? PimCosts::shared(banks) : nullptr};
}

void read_power(PowerSpec& power, Params& row, double sustained) {
  const std::map<std::string, double> value = read_numbers(row, power_numbers());
  power.active = Watts(Params::unit("active_w") * value.at("active_w"));
  power.per_chip_byte = JoulesPerByte(Params::unit("chip_pj_per_byte") * value.at("chip_pj_per_byte"));
  power.per_attention_byte =
      JoulesPerByte(Params::unit("attention_pj_per_byte") * value.at("attention_pj_per_byte"));
  power.sustained = sustained;
  power.clocked = true;
  power.note = row.text({"power_note", ""}, std::string(unmeasured_power_note));
}

std::string name_of_kernels(const Json& name_or_row) {
  return name_or_row.is_string() ? name_or_row.get<std::string>() : "given";
}

std::shared_ptr<const Device> read_gpu(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  std::map<std::string, double> value = read_numbers(row, numbers());
  value.merge(read_numbers(row, cache_numbers()));
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  DeviceSpec spec = common_spec(kind, row);
  read_power(spec.power, row, value.at("sustained_compute"));
  read_memory_and_peaks(spec, row);
  const Json* kernels = row.value({"kernels", ""}, {}, {});
  const std::string generation = row.text({"generation", ""}, "unknown");
  const std::string kernels_note = row.text({"kernels_note", ""}, "");
  if (row.has("usual_batch_requests"))
    spec.usual_batch_requests = row.integer({"usual_batch_requests", ""}, {1, 65536});
  std::optional<GpuPimShape> pim = read_pim(row);
  close_row(row);
  reading.finish();
  spec.units = {{"gpu",
                 {KernelKind::gemm, KernelKind::grouped_gemm, KernelKind::attention, KernelKind::elementwise,
                  KernelKind::neurons, KernelKind::tensor_operation, KernelKind::multiply_add}},
                link_unit()};
  const double sustained = value.at("sustained_compute");
  const GpuShape shape{
      value.at("streaming_multiprocessors"), Bytes(si("l2_mb")), sustained,
      value.contains("sustained_compute_8bit") ? value.at("sustained_compute_8bit") : sustained};
  std::vector<KernelEfficiencies> libraries = kernels_of(*kernels, shape);
  const std::string& measured = libraries[0].generation;
  if (measured.empty()) spec.power.sustained = 0;  // an assumption's times are as it says, at any clocks
  spec.notes.foreign_kernels = kernels_note;
  if (!measured.empty() && measured != generation)
    spec.notes.foreign_kernels =
        fmt::format("kernel efficiencies of {} ({}) on a GPU whose own generation ({}) was not measured",
                    libraries[0].name, measured, generation);
  if (value.contains("l2_bandwidth_gb_per_s")) {
    spec.units.push_back({"prefetch", {KernelKind::prefetch}});
    spec.memories.push_back({.name = "L2",
                             .capacity = shape.l2,
                             .bandwidth = BytesPerSecond(si("l2_bandwidth_gb_per_s")),
                             .kept_for = Memory::KeptFor::prefetches});
  }
  std::shared_ptr<const Device> gpu = make_gpu(std::move(spec), shape, std::move(libraries));
  return pim ? with_hbm_pim(std::move(gpu), std::move(*pim)) : gpu;
}

// Efficiencies are shares of the peaks of the machine they were measured on.
void note_kernels(const Json& before, const Json& row, Params& params) {
  std::vector<std::string> changed;
  for (const CatalogNumbers* all : {&memory_and_peak_numbers(), &cache_numbers(), &numbers()})
    for (const CatalogNumber& n : *all)
      if (!std::string_view(n.key.name).ends_with("_gib") &&  // how much there is
          row.value(n.key.name, 0.0) != before.value(n.key.name, 0.0))
        changed.emplace_back(n.key.name);
  const bool measured = !row.value("assumed", false) && !params.has("profile");
  if (!changed.empty() && measured)
    params.note("", fmt::format("kernel efficiencies of {}, which were measured at another {}",
                                name_of_kernels(row["kernels"]), fmt::join(changed, ", ")));
}

void override_gpu(Json& row, Params& params) {
  const Json before = row;
  override_numbers(row, memory_and_peak_numbers(), params);
  override_numbers(row, cache_numbers(), params);
  override_numbers(row, numbers(), params);
  override_numbers(row, power_numbers(), params);
  override_numbers(row, pim_numbers(), params);
  if (row.is_object() && !params.describing()) note_kernels(before, row, params);
}

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
      .override = override_gpu,
      .read = read_gpu,
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
