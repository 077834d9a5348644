#include <fmt/format.h>

#include "sim/core/catalog_row.h"
#include "sim/plan/calibration.h"

namespace weir {
namespace {

constexpr Range<double> overhead{0, 1e7};  // ten seconds a step
// ESTIMATE: a server whose kernels reach a quarter or four times of what was measured elsewhere runs others.
constexpr Range<double> reach{0.25, 4};

Calibration read_constants(Params params) {
  Calibration c;
  params.text({"format", "That it is one: weir-calibration-1."}, "weir-calibration-1");
  c.engine = params.text({"engine", "engine.kind of the server that it was fitted on; of no other."});
  c.engine_version = params.text({"engine_version", "Its version; \"\" in files of before it was told."}, "");
  c.device = params.text({"device", "The server's devices, which memory and compute are of."});
  c.step_overhead_us =
      params.number_if_given({"step_overhead_us", "In the place of the preset's."}, overhead);
  c.sequence_overhead_us = params.number_if_given({"sequence_overhead_us", "Likewise."}, overhead);
  c.prompt_overhead_us = params.number_if_given({"prompt_overhead_us", "Likewise."}, overhead);
  c.front_end_ms = params.number_if_given({"front_end_ms", "Likewise."}, {0, 60'000});
  c.reach.memory =
      params
          .number_if_given({"memory_efficiency",
                            "So many times what kernels reach of the memory's bandwidth, all of it at most."},
                           reach)
          .value_or(1);
  c.reach.compute =
      params.number_if_given({"compute_efficiency", "The same of the peak of arithmetic."}, reach)
          .value_or(1);
  params.value({"fitted", "How it was got, for people: measurements, errors, what could not be told."},
               {{"type", "object"}}, Json::object());
  params.close();
  return c;
}

const RowFamily& calibrations() {
  static const EmbeddedFiles none;
  static const RowFamily family{"calibration", none,
                                [](Reading& reading, Json& row, const Json&, const std::string&) {
                                  read_constants(Params(reading, row));
                                }};
  return family;
}

Json calibration_schema() {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  read_constants(Params(reading, nothing));
  reading.schema["properties"].erase("$schema");
  return {{"oneOf", Json::array({path_schema(), reading.schema, {{"type", "null"}}})}};
}

}  // namespace

Calibration read_calibration(Params& engine) {
  const Json* given = engine.value({"calibration",
                                    "What weir calibrate fitted to a server, its file or the object in it: "
                                    "stands where the preset's host times would; null: nothing."},
                                   calibration_schema(), Json(nullptr));
  if (!given || given->is_null()) return {};
  Reading& reading = engine.reading();
  const std::string at = engine.pointer() + "/calibration";
  const CatalogRow found = find_row(calibrations(), *given, reading, at);
  if (found.row.is_null()) return {};
  reading.resolved[Json::json_pointer(at)] = found.row;
  Reading row(reading.file());
  return read_constants(Params(row, found.row));
}

std::shared_ptr<const Device> calibrated(std::shared_ptr<const Device> device,
                                         const Calibration& calibration) {
  const bool is_asked = !calibration.reach.as_measured() && calibration.device == device->spec().kind;
  const std::shared_ptr<const Device> reaching = is_asked ? device->reaching(calibration.reach) : nullptr;
  return reaching ? reaching : device;
}

std::string unused_reach(const Calibration& calibration, const Device& device) {
  const std::string& kind = device.spec().kind;
  if (calibration.reach.as_measured()) return "";
  if (calibration.device != kind)
    return fmt::format("they are of {}, and this is {}", calibration.device, kind);
  return device.reaching(calibration.reach) ? "" : fmt::format("times of this {} do not come of them", kind);
}

}  // namespace weir
