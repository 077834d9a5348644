// Figure 2: what a device reads for half a layer, attention or MLP, beside the L2 of accelerators.
#include <algorithm>
#include <boost/range/iterator_range.hpp>

#include "sim/app/output/output_file.h"
#include "sim/studies/preserve/study.h"
#include "sim/studies/validation/kernels.h"

namespace weir::preserve {
namespace {

struct Halves {
  double attention = 0, mlp = 0;  // MB
};

// int8, 8 requests of 16k tokens each.
Halves halves(const std::string& name, int devices) {
  Reading reading("Figure 2");
  const Architecture model = find_architecture(name, reading, "");
  const Precision int8{DataType::int8, DataType::int8, DataType::int8, DataType::int8};
  const StageGraph stage = build_stage(model, int8, {.tensor = devices, .pad_heads = true}, 0);
  const OperatorGraph& block = part_named(stage, "block").operators;
  BatchShape batch;
  batch.decodes = batch.sequences = 8;
  batch.decode_context_max = 16384;
  batch.decode_context_sum = 8 * 16384;
  Halves sum;
  bool before = true;  // the MLP, that is
  for (const auto v : boost::make_iterator_range(boost::vertices(block))) {
    (before ? sum.attention : sum.mlp) += 1e-6 * stored_bytes(lowered(block[v], batch)).value();
    if (block[v].name == "o_proj") before = false;
  }
  return sum;
}

}  // namespace

void add_footprints(const Runs&, const Folder& folder, Rows& rows) {
  OutputFile file(folder / "footprints.csv");
  file.text("model,devices,attention_mb,mlp_mb\n");
  double most = 0;
  std::string of;
  for (const std::string& model : explored_models)
    for (const int devices : footprint_clusters) {
      const Halves half = halves(model, devices);
      file.print("{},{},{:.4f},{:.4f}\n", model, devices, half.attention, half.mlp);
      if (devices != 16 || std::max(half.attention, half.mlp) <= most) continue;
      most = std::max(half.attention, half.mlp);
      of = fmt::format("{}, {}", model, half.mlp > half.attention ? "MLP" : "attention");
    }
  file.close();
  ReproducedRow& row = add_row(rows, "fig2_largest_at_16",
                               "largest half of a layer on 16 devices, MB, int8, 8 x 16k", {}, {most, most});
  row.note = fmt::format(
      "{}; the paper: 16 devices suffice for the L2 of today's, of which the largest has {:.0f} MB", of,
      1e-6 * catalog_device("ascend_910b")->spec().cache()->capacity.value());
}

}  // namespace weir::preserve
