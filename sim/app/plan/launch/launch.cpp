#include "sim/app/plan/launch/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <map>
#include <set>

#include "sim/app/quoting/quoting.h"
#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles model_catalog;

namespace {

constexpr int front_port = 8000, first_port = 8100, first_side_port = 5600;

// The name of the weights in the catalog's source, "config.json of huggingface.co/meta-llama/Llama-3.1-70B;
// ...".
std::string weights_of(const Json& model) {
  if (!model.is_string()) return "MODEL";
  const std::string name = model.get<std::string>(), site = "huggingface.co/";
  const auto text = text_of(model_catalog, name);
  if (!text) return name.starts_with('-') ? "./" + name : name;  // a path that no program takes for a flag
  const std::string source = embedded_json(*text, name).value("source", "");
  const std::size_t at = source.find(site);
  if (at == std::string::npos) return name;
  const std::size_t begin = at + site.size();
  return source.substr(begin, source.find_first_of("; ,)", begin) - begin);
}

std::vector<NodeShare> shares_of(const ReplicaPlace& place) {
  std::map<int, std::vector<int>> by_node;
  for (const auto& stage : place)
    for (const DevicePlace& device : stage) by_node[device.node].push_back(device.slot);
  std::vector<NodeShare> shares;
  for (auto& [node, devices] : by_node) shares.push_back({node, std::move(devices)});
  return shares;
}

// A flag and its values on a line of their own, where `joint` breaks lines.
std::string joined(const CommandWords& words, const std::string& joint) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : word.starts_with("--") ? joint : " ") + shell_word(word);
  return text;
}

// Where the next flag begins behind `from`, outside of quotes.
std::size_t next_flag(const std::string& command, std::size_t from) {
  char quote = 0;
  for (std::size_t i = from; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && quote != '\'')
      ++i;
    else if (quote != 0)
      quote = c == quote ? '\0' : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else if (i > from && command.compare(i, 3, " --") == 0)
      return i;
  }
  return command.size();
}

// One line broken where it is too long.
std::string in_short_lines(const std::string& command) {
  constexpr std::size_t most = 100;
  std::string text, line;
  for (std::size_t from = 0; from < command.size();) {
    const std::size_t end = next_flag(command, from);
    const std::string piece = command.substr(from, end - from);
    if (!line.empty() && line.size() + piece.size() > most) text += line + " \\\n", line = "   ";
    line += piece;
    from = end;
  }
  return text + line;
}

std::string for_people(const StartedService& service, const StartedPool& pool) {
  const StartedReplica& first = pool.replicas.front();
  std::string text = fmt::format("# {}\n", comment_text(pool.title));
  for (const std::string& comment : first.command.comments)
    text += fmt::format("# {}\n", comment_text(comment));
  std::string command = shell_command(service, first, {"$NODE", "$HEAD", "0"}, " ");
  boost::replace_all(command, "\"$MODEL\"", shell_word(service.model));
  if (first.local_ranks > 0)
    text += "# on its first node; command.sh says what the others start, as which ranks\n";
  return text + in_short_lines(command) + "\n";
}

std::string no_engine(const StartedService& service) {
  return fmt::format("# engine.kind {} is none that can be started\n", comment_text(service.engine_kind));
}

// Each attention-data rank is on one node, and every node has as many.
std::size_t ranks_a_node(const Sharding& cut, const std::vector<NodeShare>& nodes) {
  if (nodes.size() == 1 || cut.attention_data == 1 || cut.pipeline > 1) return 0;
  const auto tensor = static_cast<std::size_t>(cut.tensor);
  const auto uneven = [&](const NodeShare& share) {
    return share.devices.size() % tensor != 0 || share.devices.size() != nodes[0].devices.size();
  };
  return std::ranges::any_of(nodes, uneven) ? 0 : nodes[0].devices.size() / tensor;
}

StartedReplica started(const Plan& plan, std::size_t group, std::size_t number, int port, int side_port) {
  const Json& resolved = plan.scenario.resolved;
  const Json& replica = resolved.at("serving").at("replicas").at(group);
  const std::string role = replica.at("role");
  StartedReplica made;
  made.name = fmt::format("{}-{}", role == "both" ? "replica" : role, number);
  made.role = role;
  made.port = first_port + port;
  made.side_port = first_side_port + side_port;
  made.nodes = shares_of(plan.replicas[group].places[number]);
  const EngineOverhead& in_force = plan.replicas[group].spec.engine;
  const std::optional<LaunchEngine> engine = launch_engine(in_force.kind, in_force.version);
  if (engine && engine->ranks_on_nodes)
    made.local_ranks = ranks_a_node(plan.replicas[group].spec.parallelism, made.nodes);
  if (engine)
    made.command = command_of(
        *engine, settings_of(replica, resolved.at("precision"), plan.scenario.model.most_experts() > 0));
  return made;
}

}  // namespace

std::vector<const StartedReplica*> StartedService::replicas() const {
  std::vector<const StartedReplica*> all;
  for (const StartedPool& pool : pools)
    for (const StartedReplica& replica : pool.replicas) all.push_back(&replica);
  return all;
}

std::vector<std::string> hosts_of(const StartedService& service) {
  std::vector<std::string> hosts;
  for (const StartedReplica* replica : service.replicas())
    hosts.push_back(service.nodes > 1 ? fmt::format("NODE{}", replica->nodes[0].node) : "localhost");
  return hosts;
}

StartedService service_of(const Plan& plan) {
  StartedService service;
  service.name = plan.scenario.name;
  service.model = weights_of(plan.scenario.resolved.at("model"));
  std::set<int> nodes;
  int port = 0, side_port = 0;  // each attention-data rank has a side port of its own, from the replica's on
  for (std::size_t group = 0; group < plan.replicas.size(); ++group) {
    const ReplicaPlan& replica = plan.replicas[group];
    if (group == 0) {
      service.engine_kind = replica.spec.engine.kind;
      service.engine = launch_engine(service.engine_kind, replica.spec.engine.version);
    }
    const int devices = replica.spec.parallelism.ranks() * replica.spec.parallelism.pipeline;
    StartedPool& pool = service.pools.emplace_back();
    for (std::size_t i = 0; i < replica.places.size(); ++i) {
      pool.replicas.push_back(started(plan, group, i, port++, side_port));
      side_port += replica.spec.parallelism.attention_data;
      for (const NodeShare& share : pool.replicas.back().nodes) nodes.insert(share.node);
    }
    const std::string role = pool.replicas[0].role == "both" ? "" : pool.replicas[0].role + " ";
    pool.title = fmt::format("{} {}replica{} on {} {}{}", replica.places.size(), role,
                             replica.places.size() == 1 ? "" : "s", devices, replica.rank.on->spec().kind,
                             replica.places.size() == 1 ? "" : " each");
  }
  service.nodes = nodes.size();
  for (StartedPool& pool : service.pools)
    for (StartedReplica& replica : pool.replicas)
      for (NodeShare& share : replica.nodes)
        share.node = static_cast<int>(std::distance(nodes.begin(), nodes.find(share.node)));
  return service;
}

std::map<std::string, std::string> environment_of(const StartedService& service,
                                                  const StartedReplica& replica, const std::string& host) {
  std::map<std::string, std::string> variables;
  if (!service.apart()) return variables;
  for (const auto& [key, value] : service.engine->apart.environment)
    if (value != "{host}" || !host.empty())
      variables[key] = value == "{host}"        ? host
                       : value == "{side_port}" ? std::to_string(replica.side_port)
                                                : value;
  return variables;
}

std::string shell_command(const StartedService& service, const StartedReplica& replica, const OnNode& on,
                          const std::string& joint) {
  CommandWords words = replica.command.words;
  const auto add = [&](const CommandWords& more) { words.insert(words.end(), more.begin(), more.end()); };
  if (replica.local_ranks > 0) {
    add(service.engine->ranks_on_nodes->words);
    if (!on.first) add(service.engine->ranks_on_nodes->others);
  } else if (replica.nodes.size() > 1) {
    add(service.engine->several_nodes.words);
  }
  if (!replica.command.config.empty()) {
    words.push_back(service.engine->config_flag);
    words.push_back(fmt::format("/tmp/{}.yaml", replica.name));
  }
  std::string text = joined(words, joint);
  for (const auto& [mark, value] : {std::pair<std::string, std::string>("'{model}'", "\"$MODEL\""),
                                    {"'{port}'", std::to_string(replica.port)},
                                    {"'{side_port}'", std::to_string(replica.side_port)},
                                    {"'{nodes}'", std::to_string(replica.nodes.size())},
                                    {"'{node}'", on.number},
                                    {"'{local_ranks}'", std::to_string(replica.local_ranks)},
                                    {"'{first_rank}'", on.first_rank},
                                    {"'{head}'", on.head},
                                    {"'{head}:5000'", on.head + ":5000"}})
    boost::replace_all(text, mark, value);
  if (!replica.command.config.empty())  // JSON is YAML
    text = fmt::format("sh -c 'echo \"$0\" > /tmp/{}.yaml; exec \"$@\"' {}{}{}", replica.name,
                       shell_word(replica.command.config.dump()), joint, text);
  return text;
}

std::string front_command(const StartedService& service, const std::vector<std::string>& hosts) {
  std::map<std::string, std::vector<std::string>> lists;
  const std::vector<const StartedReplica*> replicas = service.replicas();
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const std::string role = replicas[i]->role, at = fmt::format("{}:{}", hosts[i], replicas[i]->port);
    lists["{" + role + "_hosts}"].push_back(hosts[i]);
    lists["{" + role + "_ports}"].push_back(std::to_string(replicas[i]->port));
    lists["{" + role + "_urls}"].push_back(at);
    lists["{" + role + "_pairs}"].push_back(fmt::format(
        "--{} http://{}{}", role, at, role == "prefill" ? fmt::format(" {}", replicas[i]->side_port) : ""));
  }
  std::string text = service.engine->apart.front;
  boost::replace_all(text, "{port}", std::to_string(front_port));
  for (const auto& [mark, words] : lists)
    boost::replace_all(text, mark, fmt::format("{}", fmt::join(words, " ")));
  return text;
}

Launch launch_of(const Plan& plan) {
  const StartedService service = service_of(plan);
  Launch launch;
  launch.nodes = service.nodes;
  if (!service.engine) {
    launch.commands = launch.manifest = no_engine(service);
    launch.script = "#!/bin/sh\n" + launch.commands + "exit 1\n";
    return launch;
  }
  launch.script = shell_script(service);
  for (const StartedPool& pool : service.pools) launch.commands += for_people(service, pool);
  if (service.apart())
    launch.commands +=
        "# in front of them\n" + in_short_lines(front_command(service, hosts_of(service))) + "\n";
  launch.manifest = service.nodes > 1 ? kubernetes_manifests(service) : compose_file(service);
  return launch;
}

}  // namespace weir
