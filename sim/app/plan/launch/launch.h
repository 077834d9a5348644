#pragma once
// How the engine of a plan's replicas is started with the settings that they have: its command, from one
// table of flags (engines.json), and a compose file, or Kubernetes manifests where several nodes are needed.
#include <map>
#include <string>
#include <vector>

#include "sim/app/plan/launch/settings.h"
#include "sim/plan/plan.h"

namespace weir {

struct Launch {
  std::string commands;  // for people, one a pool
  std::string script;    // command.sh
  std::string manifest;  // compose.yaml, or kubernetes.yaml
  std::size_t nodes = 1;
};

Launch launch_of(const Plan& plan);

struct NodeShare {
  int node = 0;  // of those that are used, from 0
  std::vector<int> devices;
};

struct StartedReplica {
  std::string name, role;  // replica-0, prefill-1
  int port = 0, side_port = 0;
  EngineCommand command;
  std::vector<NodeShare> nodes;
  std::size_t local_ranks = 0;  // attention-data ranks a node, of which each starts its own; 0: not so
};

struct StartedPool {
  std::string title;  // 2 replicas on 4 h100_sxm each
  std::vector<StartedReplica> replicas;
};

struct StartedService {
  std::optional<LaunchEngine> engine = {};  // none: it cannot be started
  std::string name, engine_kind, model;
  std::vector<StartedPool> pools;
  std::size_t nodes = 1;

  bool apart() const { return pools.size() > 1; }
  std::vector<const StartedReplica*> replicas() const;
};

StartedService service_of(const Plan& plan);

std::string shell_script(const StartedService& service);  // script.cpp

// manifests.cpp
std::string compose_file(const StartedService& service);
std::string kubernetes_manifests(const StartedService& service);
// The machine that a command starts on, as its shell calls it.
struct OnNode {
  std::string number = "0", head = "localhost", first_rank = "0";
  bool first = true;
};
// A command for a shell, with its configuration file.
std::string shell_command(const StartedService& service, const StartedReplica& replica, const OnNode& on,
                          const std::string& joint);
// What its environment has to say; host: this machine's address, "" where all are on one.
std::map<std::string, std::string> environment_of(const StartedService& service,
                                                  const StartedReplica& replica, const std::string& host);
// Where clients, and what is in front, find each replica.
std::vector<std::string> hosts_of(const StartedService& service);
// The server that clients talk to where prompts and generation are apart; each replica at its host.
std::string front_command(const StartedService& service, const std::vector<std::string>& hosts);

}  // namespace weir
