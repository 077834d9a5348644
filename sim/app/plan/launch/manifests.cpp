// A service as containers: on one node a compose file, on several Kubernetes manifests, in which a replica
// that spans nodes is a group of LeaderWorkerSet (sigs.k8s.io/lws), as vLLM's and SGLang's documentation have
// it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/algorithm/string/replace.hpp>

#include "sim/app/plan/launch/launch.h"
#include "sim/app/quoting/quoting.h"

namespace weir {
namespace {

std::string head_of(const StartedService& service, const char* what) {
  std::string text = fmt::format("# {}: as weir plan has it, {} {}. Flags: {}.\n", comment_text(service.name),
                                 service.engine->name, service.engine->version, service.engine->source);
  for (const StartedPool& pool : service.pools) {
    text += fmt::format("# {}\n", comment_text(pool.title));
    for (const std::string& comment : pool.replicas.front().command.comments)
      text += fmt::format("#   {}\n", comment_text(comment));
  }
  return text + what;
}

// For a YAML block: each line of a text below a key.
std::string indented(std::string text, std::size_t columns) {
  boost::replace_all(text, "\n", "\n" + std::string(columns, ' '));
  return std::string(columns, ' ') + text;
}

// Compose takes a $ for a variable of its own, Kubernetes "$(" for one and "$$" for a $.
std::string for_compose(const std::string& text) {
  return boost::replace_all_copy(text, "$", "$$");
}
std::string for_kubernetes(const std::string& text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    escaped += text[i];
    if (text[i] == '$' && i + 1 < text.size() && (text[i + 1] == '$' || text[i + 1] == '(')) escaped += '$';
  }
  return escaped;
}

std::string compose_environment(const StartedService& service, const StartedReplica& replica) {
  std::string text;
  for (const auto& [key, value] : environment_of(service, replica, ""))
    text += fmt::format("      {}: {}\n", key, yaml_scalar(for_compose(value)));
  return text;
}

std::string pod_environment(const StartedService& service, const StartedReplica& replica) {
  const std::string address = "pod's";
  std::string text;
  for (const auto& [key, value] : environment_of(service, replica, address))
    text +=
        value == address
            ? fmt::format("    - {{name: {}, valueFrom: {{fieldRef: {{fieldPath: status.podIP}}}}}}\n", key)
            : fmt::format("    - {{name: {}, value: {}}}\n", key, yaml_scalar(for_kubernetes(value)));
  return text;
}

std::string service_in_compose(const StartedService& service, const StartedReplica& replica) {
  const std::string command = shell_command(service, replica, {}, " \\\n  ");
  return fmt::format(
      "  {0}:\n"
      "    image: {1}\n"
      "    entrypoint: [\"sh\", \"-c\"]\n"
      "    command:\n"
      "      - {2}\n"
      "    environment:\n"
      "      MODEL: {3}\n"
      "      HF_TOKEN: ${{HF_TOKEN:-}}\n"
      "{4}"
      "    network_mode: host\n"
      "    ipc: host\n"
      "    volumes: [\"${{HF_HOME:-~/.cache/huggingface}}:/root/.cache/huggingface\"]\n"
      "    deploy:\n"
      "      resources:\n"
      "        reservations:\n"
      "          devices:\n"
      "            - driver: nvidia\n"
      "              device_ids: [\"{5}\"]\n"
      "              capabilities: [gpu]\n",
      replica.name, service.engine->image, yaml_block(for_compose(command), 8),
      yaml_scalar(for_compose(service.model)), compose_environment(service, replica),
      fmt::join(replica.nodes[0].devices, "\", \""));
}

std::string balancer_in_compose(const StartedService& service) {
  std::string servers;
  for (const StartedReplica* replica : service.replicas())
    servers += fmt::format(" server localhost:{};", replica->port);
  return fmt::format(
      "  front:\n"
      "    image: nginx:1.29\n"
      "    network_mode: host\n"
      "    configs: [{{source: balancer, target: /etc/nginx/conf.d/default.conf}}]\n"
      "configs:\n"
      "  balancer:\n"
      "    content: \"upstream replicas {{ least_conn;{} }} server {{ listen 8000; proxy_buffering off; "
      "location / {{ "
      "proxy_pass http://replicas; }} }}\"\n",
      servers);
}

std::string front_in_compose(const StartedService& service) {
  const std::vector<std::string> hosts(service.replicas().size(), "localhost");
  return fmt::format(
      "  front:\n"
      "    image: {}\n"
      "    entrypoint: [\"sh\", \"-c\"]\n"
      "    command:\n"
      "      - {}\n"
      "    network_mode: host\n",
      service.engine->image, yaml_block(for_compose(front_command(service, hosts)), 8));
}

std::string container_of(const StartedService& service, const StartedReplica& replica,
                         const std::string& command, std::size_t devices, std::size_t columns) {
  std::string text = fmt::format(
      "- name: engine\n"
      "  image: {}\n"
      "  command: [\"sh\", \"-c\"]\n"
      "  args:\n"
      "    - {}\n"
      "  env:\n"
      "    - {{name: MODEL, value: {}}}\n"
      "    - {{name: HF_TOKEN, valueFrom: {{secretKeyRef: {{name: hf-token, key: token, optional: "
      "true}}}}}}\n"
      "{}"
      "  ports: [{{containerPort: {}}}]\n"
      "  resources: {{limits: {{nvidia.com/gpu: {}}}}}\n"
      "  volumeMounts: [{{name: shm, mountPath: /dev/shm}}]",
      service.engine->image, yaml_block(for_kubernetes(command), 6),
      yaml_scalar(for_kubernetes(service.model)), pod_environment(service, replica), replica.port, devices);
  return indented(text, columns);
}

std::string service_manifest(const std::string& name, int port) {
  return fmt::format(
      "---\n"
      "apiVersion: v1\n"
      "kind: Service\n"
      "metadata: {{name: {0}}}\n"
      "spec:\n"
      "  selector: {{app: {0}}}\n"
      "  ports: [{{port: {1}}}]\n",
      name, port);
}

constexpr const char* shared_memory = "volumes: [{name: shm, emptyDir: {medium: Memory}}]";

std::string deployment_manifest(const StartedService& service, const StartedReplica& replica,
                                const std::string& name, std::size_t count) {
  return fmt::format(
      "---\n"
      "apiVersion: apps/v1\n"
      "kind: Deployment\n"
      "metadata: {{name: {0}}}\n"
      "spec:\n"
      "  replicas: {1}\n"
      "  selector: {{matchLabels: {{app: {0}}}}}\n"
      "  template:\n"
      "    metadata: {{labels: {{app: {0}}}}}\n"
      "    spec:\n"
      "      {3}\n"
      "      containers:\n"
      "{2}\n",
      name, count,
      container_of(service, replica, shell_command(service, replica, {}, " \\\n  "),
                   replica.nodes[0].devices.size(), 8),
      shared_memory);
}

// Pods of a group are alike, whatever share of its nodes each would have: enough GPUs for all ranks.
std::size_t devices_a_pod(const StartedReplica& replica) {
  std::size_t devices = 0;
  for (const NodeShare& node : replica.nodes) devices += node.devices.size();
  return (devices + replica.nodes.size() - 1) / replica.nodes.size();
}

std::string group_manifest(const StartedService& service, const StartedReplica& replica,
                           const std::string& name, std::size_t count) {
  const std::string head = "$LWS_LEADER_ADDRESS";
  const LaunchEngine::SeveralNodes& several = service.engine->several_nodes;
  const std::string index = "$LWS_WORKER_INDEX", joint = " \\\n  ";
  const std::string first_rank = fmt::format("$(({} * {}))", index, replica.local_ranks);
  std::string first = shell_command(service, replica, {index, head, "0", true}, joint);
  std::string others = shell_command(service, replica, {index, head, first_rank, false}, joint);
  if (replica.local_ranks == 0) {
    if (!several.before.empty()) first = several.before + "\n" + first;
    if (!several.others.empty()) others = several.others;
  }
  for (std::string* text : {&first, &others}) {
    boost::replace_all(*text, "{nodes}", std::to_string(replica.nodes.size()));
    boost::replace_all(*text, "{head}", head);
  }
  const std::size_t devices = devices_a_pod(replica);
  return fmt::format(
      "---\n"
      "apiVersion: leaderworkerset.x-k8s.io/v1\n"
      "kind: LeaderWorkerSet\n"
      "metadata: {{name: {0}}}\n"
      "spec:\n"
      "  replicas: {1}\n"
      "  leaderWorkerTemplate:\n"
      "    size: {2}\n"
      "    leaderTemplate:\n"
      "      metadata: {{labels: {{app: {0}}}}}\n"
      "      spec:\n"
      "        {5}\n"
      "        containers:\n"
      "{3}\n"
      "    workerTemplate:\n"
      "      spec:\n"
      "        {5}\n"
      "        containers:\n"
      "{4}\n",
      name, count, replica.nodes.size(), container_of(service, replica, first, devices, 10),
      container_of(service, replica, others, devices, 10), shared_memory);
}

std::string front_manifest(const StartedService& service, const std::string& command) {
  return service_manifest("front", 8000) + fmt::format(
                                               "---\n"
                                               "apiVersion: apps/v1\n"
                                               "kind: Deployment\n"
                                               "metadata: {{name: front}}\n"
                                               "spec:\n"
                                               "  replicas: 1\n"
                                               "  selector: {{matchLabels: {{app: front}}}}\n"
                                               "  template:\n"
                                               "    metadata: {{labels: {{app: front}}}}\n"
                                               "    spec:\n"
                                               "      containers:\n"
                                               "        - name: front\n"
                                               "          image: {}\n"
                                               "          command: [\"sh\", \"-c\"]\n"
                                               "          args:\n"
                                               "            - {}\n"
                                               "          ports: [{{containerPort: 8000}}]\n",
                                               service.engine->image,
                                               yaml_block(for_kubernetes(command), 14));
}

}  // namespace

std::string compose_file(const StartedService& service) {
  std::string text =
      head_of(service, "# docker compose up; clients talk to port 8000, or to the only replica's.\n");
  text += "services:\n";
  for (const StartedReplica* replica : service.replicas()) text += service_in_compose(service, *replica);
  if (service.apart()) return text + front_in_compose(service);
  return service.replicas().size() > 1 ? text + balancer_in_compose(service) : text;
}

// Pods of a pool listen at one port: each has an address of its own.
std::string kubernetes_manifests(const StartedService& service) {
  std::string text = head_of(service, "# kubectl apply -f kubernetes.yaml\n");
  StartedService pools = service;
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < service.pools.size(); ++i) {
    const StartedReplica replica = service.pools[i].replicas.front();
    const std::string name = replica.role == "both" ? "replica" : replica.role;
    const std::size_t count = service.pools[i].replicas.size();
    text += service_manifest(name, replica.port);
    text += replica.nodes.size() > 1 ? group_manifest(service, replica, name, count)
                                     : deployment_manifest(service, replica, name, count);
    pools.pools[i].replicas.resize(1);
    hosts.push_back(name);
  }
  if (service.apart()) text += front_manifest(service, front_command(pools, hosts));
  return text;
}

}  // namespace weir
