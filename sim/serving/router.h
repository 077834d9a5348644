#pragma once
// The router asks the routing policy who serves a request, among the servers whose KV cache can ever hold it.
// Prompts go to `front` servers; those of prefill replicas hand over to `back` ones.
#include <deque>
#include <optional>

#include "policies/routing/routing.h"
#include "sim/core/rng.h"
#include "sim/serving/routing/router_knowledge.h"
#include "sim/serving/routing/routing_choice.h"
#include "sim/serving/server/server.h"

namespace weir {

class Router {
 public:
  Router(const RoutingPolicy& policy, const Workload& workload, std::uint64_t seed);
  void add(Server& server);  // as they are numbered: alike ones one after another
  // The listener of one of its attention-data ranks, before it is added; null: nobody needs to hear it.
  ReplicaListener* listener(const Replica& replica);
  void tell(ChoiceListener* listener) { listener_ = listener; }  // null: none
  // Requests of that replica have come or ended.
  void changed(int replica);
  // A request has left it, with all of its answer or for another one.
  void ended(std::int32_t name, int replica);

  // Null: no server can ever serve it to its end.
  Server* for_prompt(std::int32_t name, const Request& request);
  Server& for_handover(std::int32_t name, const Request& request);

 private:
  class Group final : public ReplicaGroup {
   public:
    explicit Group(const ReplicaPlan& plan) : ReplicaGroup(plan.spec.kv_cache.block_tokens), plan_(plan) {}
    void add(Server& server);
    void changed(std::size_t server);
    void know(std::size_t server, const RouterKnowledge& knowledge, const RoutingPolicy& policy);
    bool serves(const Request& request) const;
    bool is_of(const ReplicaPlan& plan) const { return &plan_ == &plan; }
    Server& operator[](std::size_t server) const { return *servers_[server]; }
    std::int64_t outstanding_tokens(std::size_t server) const override;

    std::ptrdiff_t first = -1;  // of its replicas in the view; -1: it cannot take the request

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
    std::vector<Group*> groups = {};
    std::int64_t routed = 0;
    std::vector<Visit> last = {};  // by session
    RouterKnowledge knowledge;
  };
  struct Place {
    Group* group;
    std::size_t server;
    Side* side;
  };
  Server* choose(std::int32_t name, const Request& request, Side& side);
  void tell_choice(std::int32_t name, const Request& request, const Side& side, const RoutingView& view,
                   std::size_t chosen) const;
  void look(std::int32_t name, const Request& request, Side& side);
  std::int64_t found(std::size_t replica) const;
  Side& side_of(const ReplicaPlan& plan) { return plan.spec.role == Role::decode ? back_ : front_; }
  const Place& place(int replica) const { return places_[static_cast<std::size_t>(replica)]; }

  const RoutingPolicy& policy_;
  const RoutingNeeds needs_;
  const Workload& workload_;
  Rng die_;
  std::deque<Group> groups_;
  std::vector<Place> places_;  // of each replica
  Side front_, back_;
  ChoiceListener* listener_ = nullptr;
  // They live on to be filled again without allocating.
  std::vector<const ReplicaGroup*> able_;
  std::vector<RoutingView::Holder> holders_;
};

}  // namespace weir
