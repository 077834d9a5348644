// Reads devices/kernels/*.json: how well one software stack's kernels use one generation of GPUs.
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
  if (!layers.back().name.empty()) params.fail("layers", "the last layer must be \"any\"");
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

}  // namespace

std::vector<std::string> kernel_names() {
  return names_of(kernel_catalog);
}

KernelEfficiencies find_kernels(const std::string& name, const GpuShape& shape) {
  const std::optional<std::string_view> text = text_of(kernel_catalog, name);
  const std::string file = "devices/kernels/" + name + ".json";
  if (!text) throw ConfigError(file, "", no_such("kernels", name, kernel_names()));
  Reading reading(file);
  const Json& json = embedded_json(*text, file);
  Params params(reading, json);
  KernelEfficiencies kernels;
  kernels.generation = params.text({"generation", ""}, "");
  kernels.gemm_16bit = read_gemm(params.object({"gemm_16bit", ""}, Params::Presence::required));
  kernels.gemm_8bit = read_gemm(params.object({"gemm_8bit", ""}, Params::Presence::required));
  kernels.elementwise =
      read_elementwise(params.object({"elementwise", ""}, Params::Presence::required), shape);
  const std::string grid = params.choice({"attention_grid", ""}, {"separate", "persistent", "waves"});
  kernels.attention.grid = grid == "waves"        ? AttentionGrid::waves
                           : grid == "persistent" ? AttentionGrid::persistent
                                                  : AttentionGrid::separate;
  kernels.attention.prefill =
      read_prefill(params.object({"prefill_attention", ""}, Params::Presence::required));
  kernels.attention.decode = read_decode(params.object({"decode_attention", ""}, Params::Presence::required));
  params.close_ignoring_rest();  // title, sources and errors, for people; a test holds them
  reading.finish();
  return kernels;
}

}  // namespace weir
