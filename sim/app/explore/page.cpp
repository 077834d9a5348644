#include "sim/app/explore/page.h"

#include "devices/device.h"
#include "models/latency/collectives.h"
#include "models/llm/architecture.h"
#include "policies/batching/batching.h"
#include "policies/routing/routing.h"
#include "sim/app/output/rows/metric_rows.h"
#include "sim/app/report/embedded_page.h"
#include "workloads/workload.h"

namespace weir {

extern const EmbeddedFiles explore_files;  // of page/

namespace {

// [[name, summary], ...]
template <class Row>
Json named(const std::vector<Row>& table) {
  Json list = Json::array();
  for (const Row& row : table) list.push_back({row.name, row.summary});
  return list;
}

Json named_devices() {
  Json list = Json::array();
  for (const std::string& name : device_names()) list.push_back({name, device_summary(name)});
  return list;
}

Json names_alone(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back({name, ""});
  return list;
}

// [[name, summary, the keys it takes], ...]: another policy takes over those that it has.
Json batching_with_keys() {
  Json list = Json::array();
  for (const auto& policy : batching_policies()) {
    Reading reading = Reading::describe();
    const Json nothing = Json::object();
    Params params(reading, nothing);
    policy.make(params);
    Json keys = Json::array();
    for (const auto& [key, schema] : reading.schema["properties"].items()) keys.push_back(key);
    list.push_back({policy.name, policy.summary, std::move(keys)});
  }
  return list;
}

Json choices() {
  return {{"devices", named_devices()},
          {"models", names_alone(architecture_names())},
          {"interconnects", names_alone(interconnect_names())},
          {"batching", batching_with_keys()},
          {"routing", named(routing_policies())},
          {"data_sets", named(named_lengths())}};
}

// [[path in a summary, label, whether less is better], ...]
Json headlines() {
  Json list = Json::array();
  for (const MetricRow& row : serving_metrics())
    if (row.is_first() && row.is_ranked()) list.push_back({row.path, row.column, row.better == Better::less});
  return list;
}

}  // namespace

std::string explore_page(const Explored& explored, const std::string& nonce) {
  const Json data = {{"file", explored.file},         {"document", explored.document},
                     {"resolved", explored.resolved}, {"choices", choices()},
                     {"headlines", headlines()},      {"version", WEIR_VERSION}};
  const std::string title = explored.document.value("name", explored.file);
  return page_of({&explore_files, &report_files}, "explore.html",
                 {{"title", text_in_html(title)}, {"nonce", nonce}, {"data", json_in_script(data)}});
}

}  // namespace weir
