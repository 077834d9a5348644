#pragma once
// The router asks the routing policy who serves a request, among the servers whose KV cache can ever hold it.
// Prompts go to `front` servers; those of prefill replicas hand over to `back` ones.
#include <deque>
#include <optional>

#include "policies/routing/routing.h"
#include "sim/serving/server/server.h"
#include "workloads/sessions.h"

namespace weir {

class Router {
 public:
  // `sessions`: null where no request has one.
  Router(const RoutingPolicy& policy, const Sessions* sessions) : policy_(policy), sessions_(sessions) {}
  void add(Server& server);  // as they are numbered: alike ones one after another
  // Requests of that replica have come or ended.
  void changed(int replica);

  // Null: no server can ever serve it to its end.
  Server* for_prompt(std::int32_t name, const Request& request);
  Server& for_handover(std::int32_t name, const Request& request);

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
  struct Visit {  // of a session
    const Group* group = nullptr;
    std::size_t server = 0;
    Seconds at{0};
  };
  struct Side {
    std::vector<Group*> groups;
    std::int64_t routed = 0;
    std::vector<Visit> last;  // by session
  };
  Server* choose(std::int32_t name, const Request& request, Side& side);
  std::optional<RoutingView::Visit> among_able(const Visit& visit) const;

  const RoutingPolicy& policy_;
  const Sessions* sessions_;
  std::deque<Group> groups_;
  std::vector<std::pair<Group*, std::size_t>> place_of_;  // of each replica
  Side front_, back_;
  std::vector<const ReplicaGroup*> able_;  // lives on to be filled again without allocating
};

}  // namespace weir
