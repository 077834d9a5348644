#include "models/latency/measured_collectives.h"

#include <algorithm>
#include <limits>
#include <map>

#include "models/latency/expert_exchange.h"
#include "sim/core/catalog_row.h"

namespace weir {

extern const EmbeddedFiles interconnect_catalog;

namespace {

constexpr Range<std::int64_t> some_devices{2, 1024};

bool given(Params& params, const char* name) {
  return params.has(name) || params.describing();
}

std::vector<double> scaled(std::vector<double> values, double unit, bool inverse) {
  for (double& v : values) v = inverse ? 1 / (v * unit) : v * unit;
  return values;
}

std::vector<ProtocolTimes> read_protocols(Params& library, const char* name) {
  std::vector<ProtocolTimes> all;
  if (!given(library, name)) return all;
  for (Params& row : library.list({name, ""}, 0)) {
    ProtocolTimes times;
    times.devices = static_cast<int>(row.integer({"devices", ""}, some_devices));
    times.alpha = scaled(row.numbers({"alpha_us", ""}, 1, positive), 1e-6, false);
    times.seconds_per_byte = scaled(row.numbers({"gb_per_s", ""}, 1, positive), 1e9, true);
    row.close();
    all.push_back(std::move(times));
  }
  return all;
}

// A single protocol: numbers instead of lists.
ProtocolTimes read_line(Params& row) {
  ProtocolTimes times;
  times.alpha = {1e-6 * row.number({"alpha_us", ""}, positive)};
  times.seconds_per_byte = {1 / (1e9 * row.number({"gb_per_s", ""}, positive))};
  return times;
}

std::vector<ProtocolTimes> read_own_kernels(Params& params, const char* name) {
  std::vector<ProtocolTimes> all;
  for (Params& row : params.list({name, ""}, 0)) {
    ProtocolTimes times = read_line(row);
    times.devices = static_cast<int>(row.integer({"devices", ""}, some_devices));
    times.library =
        row.choice({"library", "The engine whose kernel it is."}, {"vllm", "trtllm", "sglang"}, "vllm");
    times.below_bytes = row.number({"below_mib", ""}, positive) * 1048576;
    row.close();
    all.push_back(std::move(times));
  }
  return all;
}

MeasuredLibrary read_measured(Params& params) {
  MeasuredLibrary library;
  if (given(params, "nccl")) {
    Params nccl = params.object({"nccl", "NCCL's collectives as measured."});
    library.all_reduce = read_protocols(nccl, "all_reduce");
    library.all_gather = read_protocols(nccl, "all_gather");
    library.reduce_scatter = read_protocols(nccl, "reduce_scatter");
    library.all_to_all = read_protocols(nccl, "all_to_all");
    nccl.close();
  }
  if (given(params, "one_shot")) library.one_shot = read_own_kernels(params, "one_shot");
  if (given(params, "two_shot")) library.two_shot = read_own_kernels(params, "two_shot");
  if (given(params, "send_receive")) {
    Params row = params.object({"send_receive", "From one device to another, as measured."});
    library.send_receive = read_line(row);
    row.close();
  }
  return library;
}

LinkSpec read_links(Params params, const std::string& name) {
  LinkSpec links;
  links.name = name;
  links.shape = params.choice<LinkShape>(
      {"shape", "How the devices are joined."},
      {{"switch", LinkShape::switched}, {"ring", LinkShape::ring}, {"full_mesh", LinkShape::full_mesh}},
      "switch");
  links.bandwidth = params.quantity<BytesPerSecond>(
      {"bandwidth_gb_per_s", "Per device and direction, as a collective sees it."}, positive);
  links.latency = params.quantity<Seconds>({"latency_us", "From one device to the next."}, not_negative);
  links.latency_once =
      params.choice({"latency",
                     "Who pays latency_us: every round of a collective, one after another, or the collective "
                     "once, however many rounds it takes (as PRESERVE's design space exploration has it)."},
                    {"per_round", "once"}, "per_round") == "once";
  const auto mesh = params.integer_or_null({"links",
                                            "Of a full mesh, how many make up the bandwidth, so that a group "
                                            "of n devices has n - 1 of them; null: "
                                            "a group of any size has all of it."},
                                           {1, 4096});
  links.links = static_cast<int>(mesh.value_or(0));
  if (given(params, "in_network_gb_per_s"))
    links.in_network = params.quantity<BytesPerSecond>(
        {"in_network_gb_per_s",
         "Payload of an all-reduce that a switch adds up by itself (NVLink SHARP), of any number of devices: "
         "a benchmark's bus bandwidth over 2 (n - 1) / n. Libraries take it where it is faster than a "
         "ring."});
  if (given(params, "buffers_gib"))
    links.buffers = params.quantity<Bytes>(
        {"buffers_gib", "Memory of each device that a library takes for a group over these links."},
        not_negative);
  if (links.in_network > BytesPerSecond(0) && links.shape != LinkShape::switched)
    params.fail("in_network_gb_per_s", "only a switch adds up: expected \"shape\": \"switch\"");
  const bool measured =
      params.has("nccl") || params.has("one_shot") || params.has("two_shot") || params.has("send_receive");
  MeasuredLibrary library = read_measured(params);
  if (measured) links.measured = std::make_shared<MeasuredLibrary>(std::move(library));
  if (given(params, "expert_exchange")) {
    Params exchange =
        params.object({"expert_exchange",
                       "Kernels that send tokens to their experts, as measured; in shares of bandwidth."});
    links.exchange = std::make_shared<ExchangeLibrary>(read_exchange_library(exchange));
  }
  for (const char* key : {"title", "sources", "errors"})
    if (given(params, key)) params.value({key, "For people."}, {{"type", {"string", "object"}}});
  params.close();
  return links;
}

// Times measured on the base's links do not hold for others: a row that changes its links loses them.
void forget_measurements(Json& row, const Json& given) {
  bool other = false;
  for (const char* key : {"shape", "bandwidth_gb_per_s", "latency_us", "latency"})
    other = other || given.contains(key);
  for (const char* key : {"nccl", "one_shot", "two_shot", "send_receive", "in_network_gb_per_s", "errors"})
    if (other && !given.contains(key)) row.erase(key);
}

const RowFamily& interconnect_rows() {
  static const RowFamily family{"interconnect", interconnect_catalog,
                                [](Reading& reading, Json& row, const Json& given, const std::string& name) {
                                  forget_measurements(row, given);
                                  read_links(Params(reading, row), name);
                                  if (!reading.failed()) row = reading.resolved;
                                  for (const char* key : {"sources", "errors"}) row.erase(key);
                                }};
  return family;
}

Json interconnect_schema() {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  read_links(Params(reading, nothing), "");
  Json schema = row_schema(interconnect_rows(), reading.schema);
  schema["oneOf"].erase(2);  // null
  schema["oneOf"][0]["anyOf"][0]["enum"].push_back("none");
  schema["oneOf"][1]["anyOf"] = {{{"required", {"base"}}},
                                 {{"required", {"bandwidth_gb_per_s", "latency_us"}}}};
  return schema;
}

LinkSpec links_of(const CatalogRow& found) {
  Reading reading("interconnect");
  LinkSpec links = read_links(Params(reading, found.row), found.name);
  reading.finish();
  return links;
}

}  // namespace

double ProtocolTimes::operator()(double bytes) const {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < alpha.size(); ++i)
    best = std::min(best, alpha[i] + bytes * seconds_per_byte[i]);
  return best;
}

double interpolated(const std::vector<ProtocolTimes>& measured, double bytes, int devices) {
  const auto above =
      std::find_if(measured.begin(), measured.end(), [&](auto& m) { return m.devices >= devices; });
  if (above != measured.end() && above->devices == devices) return (*above)(bytes);
  const double n = devices;
  if (above == measured.begin() || above == measured.end()) {
    const ProtocolTimes& nearest = above == measured.end() ? measured.back() : measured.front();
    const double m = nearest.devices;
    const double traffic = ((n - 1) / n) / ((m - 1) / m), fixed = nearest(0) * (n - 1) / (m - 1);
    return fixed + (nearest(bytes) - nearest(0)) * traffic;
  }
  const ProtocolTimes &low = *(above - 1), &high = *above;
  const double weight = (n - low.devices) / (high.devices - low.devices);
  return low(bytes) + weight * (high(bytes) - low(bytes));
}

MeasuredLibrary MeasuredLibrary::under(const std::string& engine) const {
  const auto its = [&](const std::string& name) {
    MeasuredLibrary one = *this;
    const auto other = [&](const ProtocolTimes& times) { return times.library != name; };
    std::erase_if(one.one_shot, other);
    std::erase_if(one.two_shot, other);
    return one;
  };
  MeasuredLibrary one = its(engine);
  return one.one_shot.empty() && one.two_shot.empty() ? its("vllm") : one;
}

const std::vector<ProtocolTimes>* MeasuredLibrary::of(Collective op) const {
  const std::vector<ProtocolTimes>* times = op == Collective::all_reduce       ? &all_reduce
                                            : op == Collective::all_gather     ? &all_gather
                                            : op == Collective::reduce_scatter ? &reduce_scatter
                                            : op == Collective::all_to_all     ? &all_to_all
                                                                               : nullptr;
  return times && !times->empty() ? times : nullptr;
}

std::vector<std::string> interconnect_names() {
  std::vector<std::string> names = names_of(interconnect_catalog);
  names.emplace_back("none");
  return names;
}

std::string interconnect_summary(const std::string& name) {
  if (name == "none") return "no links between the node's devices";
  return embedded_json(*text_of(interconnect_catalog, name), name).value("title", "");
}

LinkSpec find_interconnect(const std::string& name) {
  if (name == "none") return {};
  static const auto all = [] {
    std::map<std::string, LinkSpec> read;
    for (const auto& [row, text] : interconnect_catalog)
      read.emplace(row, links_of({std::string(row), embedded_json(text, std::string(row))}));
    return read;
  }();
  return all.at(name);
}

LinkSpec read_interconnect(Params& node) {
  const Json* given =
      node.value({"interconnect",
                  "What joins the node's devices: a name of `weir list interconnects`, the path "
                  "of such a file, or shape and numbers, by themselves or over a base."},
                 node.describing() ? interconnect_schema() : Json(), "none");
  if (!given || *given == "none") return {};
  if (given->is_string() && text_of(interconnect_catalog, given->get<std::string>()))
    return find_interconnect(given->get<std::string>());
  const std::string pointer = node.pointer() + "/interconnect";
  const CatalogRow found = find_row(interconnect_rows(), *given, node.reading(), pointer);
  if (found.row.is_null()) return {};
  if (given->is_object()) node.reading().resolved[Json::json_pointer(pointer)] = found.row;
  return links_of(found);
}

}  // namespace weir
