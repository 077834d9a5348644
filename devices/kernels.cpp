// Reads devices/kernels/*.json: how well an engine's kernel library uses one generation of GPUs.
#include "devices/gpu.h"
#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles kernel_catalog;

namespace {

constexpr Range<double> multiple{1, 100};

GemmEfficiency read_gemm(Params params) {
  GemmEfficiency e;
  e.compute = params.number({"compute_efficiency", ""}, fraction);
  e.memory = params.number({"memory_efficiency", ""}, fraction);
  e.knee = params.number({"knee", ""}, multiple);
  e.tail_tiles = params.number({"tail_tiles", ""}, {0, 1});
  e.launch = params.quantity<Seconds>({"launch_us", ""}, not_negative);
  params.close();
  return e;
}

ElementwiseLayer read_layer(Params& params, BytesPerSecond cache_bandwidth, Bytes cache) {
  ElementwiseLayer layer;
  layer.name = params.text({"name", ""});
  if (layer.name == "any") layer.name.clear();
  layer.efficiency = {.memory = params.number({"memory_efficiency", ""}, fraction),
                      .cache_bandwidth = cache_bandwidth,
                      .cache = cache,
                      .launch = params.quantity<Seconds>({"launch_us", ""}, not_negative)};
  params.close();
  return layer;
}

std::vector<ElementwiseLayer> read_elementwise(Params params, const GpuShape& shape) {
  const double share = params.number({"cache_fraction", ""}, {0, 1});
  const auto bandwidth = params.quantity<BytesPerSecond>({"cache_gb_per_s", ""});
  std::vector<ElementwiseLayer> layers;
  for (Params& layer : params.list({"layers", ""}, 1))
    layers.push_back(read_layer(layer, bandwidth, share * shape.l2));
  if (!params.describing() && (layers.empty() || !layers.back().name.empty()))
    params.fail("layers", "the last layer must be \"any\"");
  params.close();
  return layers;
}

PrefillEfficiency read_prefill(Params params) {
  PrefillEfficiency e;
  e.context = params.number({"context_efficiency", ""}, fraction);
  e.causal = params.number({"causal_efficiency", ""}, fraction);
  e.tile_rows = params.number({"tile_rows", ""}, {1, 1024});
  e.tile_tokens = params.number({"tile_tokens", ""}, not_negative);
  e.padding_tokens = params.number({"padding_tokens", ""}, not_negative);
  e.wave_share = params.number({"wave_share", ""}, {0, 1}, 0);
  e.packed_heads = params.flag({"packed_heads", ""});
  e.launch = params.quantity<Seconds>({"launch_us", ""}, not_negative);
  params.close();
  return e;
}

DecodeEfficiency read_decode(Params params) {
  DecodeEfficiency e;
  e.memory = params.number({"memory_efficiency", ""}, fraction);
  e.launch = params.quantity<Seconds>({"launch_us", ""}, not_negative);
  e.wave = params.quantity<Seconds>({"wave_us", ""}, not_negative);
  e.overlapped_wave = params.quantity<Seconds>({"overlapped_wave_us", ""}, not_negative);
  e.split = params.quantity<Seconds>({"split_us", ""}, not_negative);
  e.split_tokens = params.number({"split_tokens", ""}, not_negative);
  e.split_waves = params.number({"split_waves", ""}, not_negative);
  e.tile_alone = params.quantity<BytesPerSecond>({"tile_alone_gb_per_s", ""}, not_negative);
  e.tile_paired = params.quantity<BytesPerSecond>({"tile_paired_gb_per_s", ""}, not_negative);
  e.skew = params.number({"skew", ""}, {0, 1});
  params.close();
  return e;
}

KernelEfficiencies read_kernels(Params params, const GpuShape& shape) {
  KernelEfficiencies kernels;
  kernels.library = params.text({"library", ""}, "");
  kernels.generation = params.text({"generation", ""}, "");
  params.text_or_null({"stands_in_for", ""});
  kernels.gemm_16bit = read_gemm(params.object({"gemm_16bit", ""}, Params::Presence::required));
  kernels.gemm_8bit = read_gemm(params.object({"gemm_8bit", ""}, Params::Presence::required));
  kernels.elementwise =
      read_elementwise(params.object({"elementwise", ""}, Params::Presence::required), shape);
  kernels.attention.grid =
      params.choice<AttentionGrid>({"attention_grid", ""}, {{"separate", AttentionGrid::separate},
                                                            {"persistent", AttentionGrid::persistent},
                                                            {"waves", AttentionGrid::waves}});
  kernels.attention.prefill =
      read_prefill(params.object({"prefill_attention", ""}, Params::Presence::required));
  kernels.attention.decode = read_decode(params.object({"decode_attention", ""}, Params::Presence::required));
  params.text({"title", "What it is."}, "");
  params.value({"sources", "Where the numbers are from, for people."}, {{"type", "object"}}, Json::object());
  params.value({"errors", "How far off they are, for people."}, {{"type", "object"}}, Json::object());
  params.close();
  return kernels;
}

}  // namespace

std::vector<std::string> kernel_names() {
  return names_of(kernel_catalog);
}

const RowFamily& kernel_rows() {
  static const RowFamily family{"set of kernels", kernel_catalog,
                                [](Reading& reading, Json& row, const Json&, const std::string&) {
                                  read_kernels(Params(reading, row), {});
                                }};
  return family;
}

Json kernel_row_schema() {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  read_kernels(Params(reading, nothing), {});
  return row_schema(kernel_rows(), reading.schema);
}

std::vector<KernelEfficiencies> kernels_of(const Json& name_or_row, const GpuShape& shape) {
  std::vector<KernelEfficiencies> libraries;
  const auto add = [&](const Json& row, const std::string& name) {
    Reading reading("devices/kernels/" + name + ".json");
    libraries.push_back(read_kernels(Params(reading, row), shape));
    libraries.back().name = name;
    reading.finish();
  };
  if (!name_or_row.is_string()) {
    add(name_or_row, "given");
    return libraries;
  }
  const std::string chosen = name_or_row.get<std::string>();
  add(embedded_json(*text_of(kernel_catalog, chosen), chosen), chosen);
  for (const std::string& name : kernel_names())
    if (const Json row = embedded_json(*text_of(kernel_catalog, name), name);
        row.value("stands_in_for", Json()) == chosen)
      add(row, name);
  return libraries;
}

}  // namespace weir
