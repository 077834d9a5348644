#include "models/latency/measured_collectives.h"

#include <algorithm>
#include <limits>
#include <map>

#include "sim/core/params.h"

namespace weir {

extern const EmbeddedFiles interconnect_catalog;

namespace {

constexpr Range<std::int64_t> some_devices{2, 1024};

std::vector<double> scaled(std::vector<double> values, double unit, bool inverse) {
  for (double& v : values) v = inverse ? 1 / (v * unit) : v * unit;
  return values;
}

std::vector<ProtocolTimes> read_protocols(Params& library, const char* name) {
  std::vector<ProtocolTimes> all;
  if (!library.has(name)) return all;
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
    times.below_bytes = row.number({"below_mib", ""}, positive) * 1048576;
    row.close();
    all.push_back(std::move(times));
  }
  return all;
}

Interconnect read_interconnect(const std::string& name, std::string_view text) {
  const std::string file = "models/latency/interconnects/" + name + ".json";
  Reading reading(file);
  const Json& json = embedded_json(text, file);
  Params params(reading, json);
  Interconnect made;
  made.title = params.text({"title", ""});
  made.links.name = name;
  const std::string shape = params.choice({"shape", ""}, {"switch", "ring", "full_mesh"});
  made.links.shape = shape == "full_mesh" ? LinkShape::full_mesh
                     : shape == "ring"    ? LinkShape::ring
                                          : LinkShape::switched;
  made.links.bandwidth = params.quantity<BytesPerSecond>({"bandwidth_gb_per_s", ""});
  made.links.latency = params.quantity<Seconds>({"latency_us", ""});
  Params nccl = params.object({"nccl", ""}, Params::Presence::required);
  made.measured = {.all_reduce = read_protocols(nccl, "all_reduce"),
                   .all_gather = read_protocols(nccl, "all_gather"),
                   .reduce_scatter = read_protocols(nccl, "reduce_scatter"),
                   .all_to_all = read_protocols(nccl, "all_to_all"),
                   .one_shot = read_own_kernels(params, "one_shot"),
                   .two_shot = read_own_kernels(params, "two_shot"),
                   .send_receive = {}};
  nccl.close();
  if (params.has("send_receive")) {
    Params row = params.object({"send_receive", ""});
    made.measured.send_receive = read_line(row);
    row.close();
  }
  params.close_ignoring_rest();  // sources and errors, for people; a test holds them
  reading.finish();
  return made;
}

const std::map<std::string, Interconnect>& catalog() {
  static const auto all = [] {
    std::map<std::string, Interconnect> read;
    for (const auto& [name, text] : interconnect_catalog)
      read.emplace(name, read_interconnect(std::string(name), text));
    return read;
  }();
  return all;
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

const std::vector<ProtocolTimes>* MeasuredLibrary::of(Collective op) const {
  const std::vector<ProtocolTimes>* times = op == Collective::all_reduce       ? &all_reduce
                                            : op == Collective::all_gather     ? &all_gather
                                            : op == Collective::reduce_scatter ? &reduce_scatter
                                            : op == Collective::all_to_all     ? &all_to_all
                                                                               : nullptr;
  return times && !times->empty() ? times : nullptr;
}

const Interconnect* find_measured(const std::string& name) {
  const auto it = catalog().find(name);
  return it == catalog().end() ? nullptr : &it->second;
}

std::vector<std::string> interconnect_names() {
  std::vector<std::string> names = names_of(interconnect_catalog);
  names.emplace_back("none");
  return names;
}

std::string interconnect_summary(const std::string& name) {
  return name == "none" ? "no links between the node's devices" : catalog().at(name).title;
}

LinkSpec find_interconnect(const std::string& name) {
  return name == "none" ? LinkSpec{} : catalog().at(name).links;
}

}  // namespace weir
