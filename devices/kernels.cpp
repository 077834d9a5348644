// Reads devices/kernels/*.json: how well an engine's kernel library uses one generation of GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "devices/gpu.h"
#include "sim/core/cache/made_once.h"
#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles kernel_catalog;

namespace {

constexpr Range<double> multiple{1, 100}, multiple_of_law{0.1, 10};

constexpr std::array<std::pair<const char*, MatrixKind>, matrix_kinds> kinds = {{
    {"16bit", MatrixKind::sixteen_bit},
    {"8bit", MatrixKind::eight_bit},
    {"fp8_block", MatrixKind::eight_bit},
    {"fp4", MatrixKind::eight_bit},
    {"4bit_weights", MatrixKind::sixteen_bit},
    {"4bit_by_8bit", MatrixKind::eight_bit},
}};  // as MatrixKind counts, with what stands in

std::vector<GemmEfficiency::Step> read_steps(Params& params) {
  std::vector<GemmEfficiency::Step> steps;
  if (!params.has("steps") && !params.describing()) return steps;
  for (Params& row : params.list({"steps", ""}, 1)) {
    steps.push_back({row.number({"rows", ""}, positive), row.number({"factor", ""}, multiple_of_law)});
    row.close();
  }
  return steps;
}

// A step that divides an efficiency leaves it below the peak, and rows of steps rise.
void check_steps(const GemmEfficiency& e, Params& params) {
  for (std::size_t i = 0; i < e.steps.size(); ++i) {
    if (i > 0 && e.steps[i].rows <= e.steps[i - 1].rows) params.fail("steps", "rows must rise");
    if (std::max(e.compute, e.memory) > e.steps[i].factor)
      params.fail("steps", fmt::format("a factor of {} is more than the peak or the bandwidth allows",
                                       e.steps[i].factor));
  }
}

GemmEfficiency read_gemm(Params params) {
  GemmEfficiency e;
  e.compute = params.number({"compute_efficiency", ""}, fraction);
  e.memory = params.number({"memory_efficiency", ""}, fraction);
  e.knee = params.number({"knee", ""}, multiple);
  e.tail_tiles = params.number({"tail_tiles", ""}, {0, 4});
  e.launch = params.quantity<Seconds>({"launch_us", ""}, not_negative);
  e.quantising_bytes = params.number({"quantising_bytes", ""}, not_negative, 0);
  e.empty_rows_per_expert = params.number({"empty_rows_per_expert", ""}, not_negative, 8);
  e.steps = read_steps(params);
  check_steps(e, params);
  params.close();
  return e;
}

MatrixEfficiencies read_matrices(Params& params, const std::string& prefix, std::size_t required) {
  MatrixEfficiencies all;
  for (std::size_t i = 0; i < matrix_kinds; ++i) {
    const std::string key = prefix + kinds[i].first;
    if (i < required || params.has(key.c_str()) || params.describing())
      all[i] = read_gemm(params.object(
          {key.c_str(), ""}, i < required ? Params::Presence::required : Params::Presence::optional));
  }
  return all;
}

std::map<std::string, std::string> read_taken(Params& params) {
  std::map<std::string, std::string> taken;
  const Json* given =
      params.value({"taken_from", "Keys of what nobody measured under this library, and whose it is."},
                   {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}}, Json::object());
  if (!given || params.describing()) return taken;
  for (const auto& [key, whose] : given->items()) {
    if (!params.has(key.c_str()) || !whose.is_string())
      params.fail("taken_from", fmt::format("{} is no key of these kernels with the name of others", key));
    else
      taken[key] = whose.get<std::string>();
  }
  return taken;
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
  e.softmax_elements = params.number({"softmax_elements", ""}, not_negative, 0);
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
  e.first_reads = params.number({"first_reads", ""}, not_negative, 0);
  e.first_reads_most = params.quantity<Seconds>({"first_reads_most_us", ""}, not_negative, 0);
  params.close();
  return e;
}

ExpertPadding read_padding(Params params) {
  ExpertPadding padding;
  padding.hidden = params.integer({"hidden", ""}, {1, 4096});
  padding.width = params.integer({"width", ""}, {1, 4096});
  params.close();
  return padding;
}

KernelEfficiencies read_kernels(Params params, const GpuShape& shape) {
  KernelEfficiencies kernels;
  kernels.library = params.text({"library", ""}, "");
  kernels.generation = params.text({"generation", ""}, "");
  params.text_or_null({"stands_in_for", ""});
  kernels.gemms = read_matrices(params, "gemm_", 2);
  kernels.experts = read_matrices(params, "experts_", 0);
  kernels.taken_from = read_taken(params);
  if (params.has("mxfp4_expert_multiples") || params.describing())
    kernels.expert_padding = read_padding(params.object({"mxfp4_expert_multiples", ""}));
  kernels.elementwise =
      read_elementwise(params.object({"elementwise", ""}, Params::Presence::required), shape);
  kernels.attention.grid =
      params.choice<AttentionGrid>({"attention_grid", ""}, {{"separate", AttentionGrid::separate},
                                                            {"persistent", AttentionGrid::persistent},
                                                            {"waves", AttentionGrid::waves}});
  kernels.attention.prefill =
      read_prefill(params.object({"prefill_attention", ""}, Params::Presence::required));
  kernels.attention.decode = read_decode(params.object({"decode_attention", ""}, Params::Presence::required));
  kernels.attention_8bit_cache = kernels.attention;
  if (params.has("prefill_attention_8bit_cache") || params.describing())
    kernels.attention_8bit_cache.prefill = read_prefill(params.object({"prefill_attention_8bit_cache", ""}));
  if (params.has("decode_attention_8bit_cache") || params.describing())
    kernels.attention_8bit_cache.decode = read_decode(params.object({"decode_attention_8bit_cache", ""}));
  params.text({"title", "What it is."}, "");
  params.value({"sources", "Where the numbers are from, for people."}, {{"type", "object"}}, Json::object());
  params.value({"errors", "How far off they are, for people."}, {{"type", "object"}}, Json::object());
  params.close();
  return kernels;
}

bool four_bits(const StoredType& stored) {
  const DataType type = stored.number;
  return type == DataType::int4 || type == DataType::fp4 || type == DataType::mxfp4;
}

bool eight_bits(DataType type) {
  return type == DataType::fp8 || type == DataType::int8;
}

}  // namespace

MatrixKind matrix_kind(const Gemm& matrix) {
  if (four_bits(matrix.activations)) return MatrixKind::fp4;
  if (matrix.activations == DataType::fp8_block) return MatrixKind::fp8_block;
  if (eight_bits(matrix.activations))
    return four_bits(matrix.weights) ? MatrixKind::four_by_eight_bit : MatrixKind::eight_bit;
  return four_bits(matrix.weights) ? MatrixKind::four_bit_weights : MatrixKind::sixteen_bit;
}

const char* name_of(MatrixKind kind) {
  return kinds[static_cast<std::size_t>(kind)].first;
}

MatrixKind stands_in_for(MatrixKind kind) {
  return kinds[static_cast<std::size_t>(kind)].second;
}

MatrixChoice matrix_choice(const KernelEfficiencies& kernels, MatrixKind kind, bool grouped) {
  const auto of = [&](const MatrixEfficiencies& all, const char* prefix, MatrixKind k) {
    const auto& one = all[static_cast<std::size_t>(k)];
    return one ? MatrixChoice{&*one, std::string(prefix) + name_of(k)} : MatrixChoice{};
  };
  MatrixChoice choice;
  if (grouped) choice = of(kernels.experts, "experts_", kind);
  if (!choice.efficiency) choice = of(kernels.gemms, "gemm_", kind);
  if (!choice.efficiency && grouped) choice = of(kernels.experts, "experts_", stands_in_for(kind));
  return choice.efficiency ? choice : of(kernels.gemms, "gemm_", stands_in_for(kind));
}

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

namespace {

KernelEfficiencies kernels_in(const Json& row, const std::string& name, const GpuShape& shape) {
  Reading reading("devices/kernels/" + name + ".json");
  KernelEfficiencies kernels = read_kernels(Params(reading, row), shape);
  kernels.name = name;
  reading.finish();
  return kernels;
}

std::vector<KernelEfficiencies> kernels_named(const std::string& chosen, const GpuShape& shape) {
  std::vector<KernelEfficiencies> libraries = {
      kernels_in(embedded_json(*text_of(kernel_catalog, chosen), chosen), chosen, shape)};
  for (const auto& [file, text] : kernel_catalog) {
    const std::string name(file);
    const Json& row = embedded_json(text, name);
    if (row.value("stands_in_for", Json()) == chosen) libraries.push_back(kernels_in(row, name, shape));
  }
  return libraries;
}

}  // namespace

std::vector<KernelEfficiencies> kernels_of(const Json& name_or_row, const GpuShape& shape) {
  static MadeOnce<std::pair<std::string, GpuShape>, std::vector<KernelEfficiencies>> all;
  if (!name_or_row.is_string()) return {kernels_in(name_or_row, "given", shape)};
  const std::string chosen = name_or_row.get<std::string>();
  return all.of({chosen, shape}, [&] { return kernels_named(chosen, shape); });
}

}  // namespace weir
