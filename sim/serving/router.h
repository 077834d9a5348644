#pragma once
// The router asks the routing policy who serves a request, among the servers whose KV cache can ever hold it.
// Prompts go to `front` servers; those of prefill replicas hand over to `back` ones.
#include "sim/serving/server.h"

namespace weir {

class Router {
 public:
  explicit Router(const RoutingPolicy& policy) : policy_(policy) {}
  void add(Server& server);

  // Null: no server can ever serve it to its end.
  Server* for_prompt(const Request& request, Seconds now);
  Server& for_handover(const Request& request, Seconds now);

 private:
  struct Group {
    std::vector<Server*> servers;
    std::int64_t routed = 0;
  };
  Server* choose(const Request& request, Group& group, Seconds now);

  const RoutingPolicy& policy_;
  Group front_, back_;
  std::vector<ReplicaLoad> loads_;  // of able_; both live on to be filled again without allocating
  std::vector<Server*> able_;
};

}  // namespace weir
