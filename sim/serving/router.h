#pragma once
// The router asks the routing policy who serves a request, among the servers whose KV cache can ever hold it.
// Prompts go to `front` servers; those of prefill replicas hand over to `back` ones.
#include <deque>

#include "policies/routing/routing.h"
#include "sim/serving/server/server.h"

namespace weir {

class Router {
 public:
  explicit Router(const RoutingPolicy& policy) : policy_(policy) {}
  void add(Server& server);  // as they are numbered: alike ones one after another
  // Requests of that replica have come or ended.
  void changed(int replica);

  // Null: no server can ever serve it to its end.
  Server* for_prompt(const Request& request);
  Server& for_handover(const Request& request);

 private:
  class Group final : public ReplicaGroup {
   public:
    explicit Group(const ReplicaPlan& plan) : plan_(plan) {}
    void add(Server& server);
    void changed(std::size_t server);
    bool serves(const Request& request) const;
    bool is_of(const ReplicaPlan& plan) const { return &plan_ == &plan; }
    Server& operator[](std::size_t server) const { return *servers_[server]; }
    std::int64_t outstanding_tokens(std::size_t server) const override;

   private:
    const ReplicaPlan& plan_;
    std::vector<Server*> servers_;
  };
  struct Side {
    std::vector<Group*> groups;
    std::int64_t routed = 0;
  };
  Server* choose(const Request& request, Side& side);

  const RoutingPolicy& policy_;
  std::deque<Group> groups_;
  std::vector<std::pair<Group*, std::size_t>> place_of_;  // of each replica
  Side front_, back_;
  std::vector<const ReplicaGroup*> able_;  // lives on to be filled again without allocating
};

}  // namespace weir
