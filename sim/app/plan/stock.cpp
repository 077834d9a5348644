#include "sim/app/plan/stock.h"

#include <fmt/format.h>

#include <algorithm>

#include "devices/device.h"
#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles server_files;

namespace {

constexpr std::int64_t most_of_a_kind = 4096;

struct ServerKind {
  std::string device, interconnect;
  std::int64_t devices = 0;
};

std::vector<ServerKind> read_servers() {
  const Json& document = embedded_json(*text_of(server_files, "servers"), "servers.json");
  Reading reading("sim/app/plan/servers/servers.json");
  Params table(reading, document);
  std::vector<ServerKind> servers;
  for (Params& row : table.list({"servers", "One a kind of device."}, 1)) {
    servers.push_back({row.text({"device", "Kind."}), row.text({"interconnect", "Between them."}),
                       row.integer({"devices", "In a node."}, {1, 1024})});
    row.text({"source", "Who says so."});
    row.close();
  }
  table.close();
  reading.finish();
  return servers;
}

const std::vector<ServerKind>& servers() {
  static const std::vector<ServerKind> table = read_servers();
  return table;
}

std::int64_t count_in(const Json& object) {
  const auto it = object.find("count");
  return it != object.end() && it->is_number_integer() ? it->get<std::int64_t>() : 1;
}

// The cluster has not been checked yet: the scenario's own reading says what is wrong with it.
void count_devices(const Json& nodes, std::vector<Stock>& stock, bool all) {
  for (const Json& node : nodes) {
    if (!node.is_object() || !node.contains("devices")) continue;
    for (const Json& entry : node["devices"]) {
      if (!entry.is_object() || !entry.contains("kind") || !entry["kind"].is_string()) continue;
      const std::string kind = entry["kind"];
      auto known = std::ranges::find(stock, kind, &Stock::kind);
      if (known == stock.end() && all) known = stock.insert(stock.end(), {kind, 0, 0});
      if (known == stock.end()) continue;
      known->in_a_node = std::max(known->in_a_node, count_in(entry));
      known->count += count_in(node) * count_in(entry);
    }
  }
}

std::vector<Stock> of_nodes(const Json& nodes, const std::vector<Stock>& asked, Reading& reading) {
  std::vector<Stock> there;
  count_devices(nodes, there, true);
  if (asked.empty()) return there;
  std::vector<std::string> kinds;
  for (const Stock& one : there) kinds.push_back(one.kind);
  std::vector<Stock> both;
  for (const Stock& wanted : asked) {
    const auto has = std::ranges::find(there, wanted.kind, &Stock::kind);
    if (has == there.end())
      reading.problem("--devices", no_such("device in the scenario's cluster", wanted.kind, kinds));
    else
      both.push_back({wanted.kind, std::min(wanted.count, has->count), has->in_a_node});
  }
  return both;
}

Json node_of(const ServerKind& server, std::int64_t nodes, std::int64_t devices) {
  return {{"count", nodes},
          {"devices", {{{"kind", server.device}, {"count", devices}}}},
          {"interconnect", server.interconnect}};
}

void append_servers(Json& nodes, Stock& stock, Reading& reading) {
  if (const auto known = device_names(); std::ranges::find(known, stock.kind) == known.end())
    return reading.problem("--devices", no_such("device", stock.kind, known));
  const auto server = std::ranges::find(servers(), stock.kind, &ServerKind::device);
  if (server == servers().end())
    return reading.problem("/cluster",
                           fmt::format("expected the nodes that {} comes in: no server with it is "
                                       "known",
                                       stock.kind));
  stock.in_a_node = std::min(server->devices, stock.count);
  if (const std::int64_t whole = stock.count / server->devices; whole > 0)
    nodes.push_back(node_of(*server, whole, server->devices));
  if (const std::int64_t rest = stock.count % server->devices; rest > 0)
    nodes.push_back(node_of(*server, 1, rest));
}

}  // namespace

std::vector<Stock> read_stock(const std::string& text, Reading& reading) {
  std::vector<Stock> stock;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const std::string one = text.substr(from, end - from);
    from = end + 1;
    const std::size_t x = one.find('x');
    const std::string number = one.substr(0, x);
    const bool digits =
        !number.empty() && number.size() < 9 && number.find_first_not_of("0123456789") == std::string::npos;
    if (x == std::string::npos || !digits || x + 1 == one.size()) {
      reading.problem("--devices", fmt::format("expected a number and a kind, such as 16xh100_sxm, got {}",
                                               one.empty() ? "nothing" : shortened(one, 60)));
      continue;
    }
    const Stock made{one.substr(x + 1), std::stoll(number), 0};
    if (made.count < 1 || made.count > most_of_a_kind)
      reading.problem("--devices",
                      fmt::format("expected 1 to {} of {}, got {}", most_of_a_kind, made.kind, made.count));
    if (std::ranges::find(stock, made.kind, &Stock::kind) != stock.end())
      reading.problem("--devices", fmt::format("{} is given twice", made.kind));
    else
      stock.push_back(made);
  }
  return stock;
}

std::vector<std::string> planned_kinds() {
  std::vector<std::string> kinds;
  for (const ServerKind& server : servers()) kinds.push_back(server.device);
  return kinds;
}

Json cluster_of(const Json& given, std::vector<Stock>& stock, Reading& reading) {
  Json cluster = given.is_object() ? given : Json::object();
  if (const auto nodes = cluster.find("nodes"); nodes != cluster.end()) {
    if (nodes->is_array()) stock = of_nodes(*nodes, stock, reading);
    return cluster;
  }
  Json nodes = Json::array();
  for (Stock& one : stock) append_servers(nodes, one, reading);
  cluster["nodes"] = std::move(nodes);
  return cluster;
}

}  // namespace weir
