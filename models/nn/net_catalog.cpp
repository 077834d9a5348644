#include "models/nn/net_catalog.h"

#include <fmt/format.h>

#include "models/nn/training_graph.h"
#include "sim/core/catalog_row.h"

namespace weir {

extern const EmbeddedFiles net_files;

namespace {

// Layers that make no net are a problem of the file, too: the graph of one example finds them.
Net checked(Reading& reading, const Json& row, const std::string& name) {
  Params params(reading, row);
  Net net = read_params<Net>(std::move(params));
  net.name = name;
  if (reading.failed()) return net;
  try {
    build_training_graph(net, 1);
  } catch (const std::invalid_argument& error) {
    reading.problem("/layers", error.what());
  }
  return net;
}

const RowFamily& net_rows() {
  static const RowFamily family{
      "net", net_files,
      [](Reading& reading, Json& row, const Json&, const std::string& name) { checked(reading, row, name); }};
  return family;
}

Net read_row(const Json& row, const std::string& name) {
  Reading reading(name);
  Params params(reading, row);
  Net net = read_params<Net>(std::move(params));
  net.name = name;
  reading.finish();
  return net;
}

}  // namespace

std::vector<std::string> net_names() {
  return names_of(net_files);
}

std::vector<std::pair<std::string, std::string>> net_summaries() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& name : net_names()) all.emplace_back(name, catalog_net(name).summary);
  return all;
}

Net read_net(const Json& given, Reading& reading, const std::string& pointer) {
  const CatalogRow found = find_row(net_rows(), given, reading, pointer);
  return found.row.is_null() ? Net{} : read_row(found.row, found.name);
}

Net catalog_net(const std::string& name) {
  const auto text = text_of(net_files, name);
  if (!text) throw ConfigError("", "", no_such("net", name, net_names()));
  return read_row(embedded_json(*text, fmt::format("models/nn/catalog/{}.json", name)), name);
}

}  // namespace weir
