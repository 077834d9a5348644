// A service as a script for a shell, which is given the number of the node that it is on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/algorithm/string/replace.hpp>

#include "sim/app/plan/launch/launch.h"
#include "sim/app/quoting/quoting.h"

namespace weir {
namespace {

// A variable with the node's address, as the script's user gives it.
std::string address_of(int node) {
  return fmt::format("\"$NODE{}\"", node);
}

std::string lines_on_node(const StartedService& service, int node) {
  std::string text;
  for (const StartedReplica* replica : service.replicas())
    for (std::size_t share = 0; share < replica->nodes.size(); ++share) {
      if (replica->nodes[share].node != node) continue;
      const auto& several = service.engine->several_nodes;
      const bool spread = replica->nodes.size() > 1 && replica->local_ranks == 0;
      std::string environment =
          fmt::format("CUDA_VISIBLE_DEVICES={}", fmt::join(replica->nodes[share].devices, ","));
      for (const auto& [key, value] :
           environment_of(service, *replica, service.nodes > 1 ? address_of(node) : ""))
        environment += fmt::format(" {}={}", key, value);
      const std::string head = address_of(replica->nodes[0].node);
      const OnNode on{std::to_string(share), head, std::to_string(share * replica->local_ranks), share == 0};
      std::string command = shell_command(service, *replica, on, " \\\n    ");
      if (spread && share > 0 && !several.others.empty())
        command = several.others;
      else if (spread && !several.before.empty())
        command = several.before + "\n  " + environment + " " + command;
      boost::replace_all(command, "{nodes}", std::to_string(replica->nodes.size()));
      boost::replace_all(command, "{head}", head);
      text += fmt::format("  # {}\n  {} {} &\n", replica->name, environment, command);
    }
  return text;
}

}  // namespace

std::string shell_script(const StartedService& service) {
  const LaunchEngine& engine = *service.engine;
  std::string text = fmt::format("#!/bin/sh\n# {}: as weir plan has it. Flags are those of {} {} ({}).\n",
                                 comment_text(service.name), engine.name, engine.version, engine.source);
  std::string on_nodes, needed, given;
  const int nodes = static_cast<int>(service.nodes);
  for (int n = 0; n < nodes; ++n) on_nodes += fmt::format("{})\n{}  ;;\n", n, lines_on_node(service, n));
  for (int n = 0; n < nodes; ++n)
    if (on_nodes.find(address_of(n)) != std::string::npos) {
      needed += fmt::format(": \"${{NODE{}:?}}\"\n", n);
      given += fmt::format("NODE{}=address ", n);
    }
  if (nodes > 1) text += fmt::format("# On every node: {}./command.sh NUMBER, from 0.\n{}", given, needed);
  for (const StartedPool& pool : service.pools) {
    text += "# " + comment_text(pool.title) + "\n";
    for (const std::string& comment : pool.replicas.front().command.comments)
      text += "# " + comment_text(comment) + "\n";
  }
  text += fmt::format("MODEL=${{MODEL:-{}}}\ncase ${{1:-0}} in\n{}", shell_word(service.model), on_nodes);
  text += "*) echo \"no such node: $1\" >&2; exit 2 ;;\nesac\n";
  std::vector<std::string> hosts = hosts_of(service);
  if (nodes > 1)
    for (std::string& host : hosts) host.insert(0, "$");
  if (service.apart())
    text += "# In front of them:\n#   " + front_command(service, hosts) + "\n";
  else if (hosts.size() > 1)
    text += "# In front of them: any balancer by open connections (nginx: least_conn)\n";
  return text + "wait\n";
}

}  // namespace weir
