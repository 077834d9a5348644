#pragma once
// KV caches on their way from replicas that computed the prompt to those that go on with it. "whole": all of
// it once the prompt is done. "layerwise": the next replica is chosen as the prompt begins, and as soon as it
// has room each layer's part goes while the next layers are computed (as NIXL's and LMCache's connectors push
// it); what was computed before goes at once, the last layer's part when the step has ended.
#include <functional>
#include <map>
#include <vector>

#include "models/llm/kv_parts.h"
#include "sim/serving/platform/courier.h"
#include "sim/serving/router.h"

namespace weir {

class Handovers {
 public:
  using Servers = std::vector<std::unique_ptr<Server>>;
  Handovers(const Scenario& scenario, const Servers& servers, Router& router, CourierPool& couriers,
            Recorder& recorder)
      : scenario_(scenario), servers_(servers), router_(router), couriers_(couriers), recorder_(recorder) {}

  // A prompt that another replica goes on with is admitted by `from`; is preempted there, and may have lost
  // what was computed of it; is computed.
  void prompt_begins(std::int32_t request, int from);
  void prompt_preempted(std::int32_t request, bool lost);
  void prompt_ends(std::int32_t request, int from);
  // The replica that goes on with it has room; `arrived` is called when all of its KV cache is there.
  void start(const KvMove& move, std::function<void()> arrived);

  // A step of one stage of a replica, which takes so long by itself.
  void step_begins(std::size_t stage, const Iteration& iteration, Seconds duration);
  void step_ends(std::size_t stage, const Iteration& iteration);

 private:
  struct Progress {  // of a prompt in one stage, in tokens
    std::int64_t computed = 0;
    double sent = 0;  // of those that are not there; a share of its layers counts as that share of a token
    std::int64_t in_step = 0;
    Seconds step_start{0}, step_duration{0};
  };
  struct Prompt {
    int from = -1, to = -1;
    std::vector<Progress> stages;
    bool ended = false;
    bool left = false;              // the next replica has no place for it, as it is preempted
    std::int64_t sending = 0;       // parts that have not arrived
    std::function<void()> arrived;  // null: there is no room yet
    std::int64_t tokens = 0;
    std::int64_t there = 0;  // tokens that the next replica has already
    Seconds since{0};        // there is room
  };
  void choose_next(std::int32_t request, int from);
  bool layerwise(int from) const { return server(from).replica().plan().spec.hands_over_layerwise(); }
  static std::int64_t to_send_of_step(const Prompt& prompt, const Progress& at);
  void send_computed(std::int32_t request, std::size_t stage, std::int64_t layers_done);
  void send_under_step(std::int32_t request, std::size_t stage, std::int64_t layers_done);
  void send(std::int32_t request, std::size_t stage, double tokens, Seconds start, Seconds at_least);
  void end_if_all_arrived(std::int32_t request);
  void draw(const Prompt& prompt);
  const std::vector<KvPart>& parts(const Prompt& prompt);
  std::int64_t layers(const Prompt& prompt, std::size_t stage) const;
  Server& server(int number) const { return *servers_[static_cast<std::size_t>(number)]; }

  const Scenario& scenario_;
  const Servers& servers_;
  Router& router_;
  CourierPool& couriers_;
  Recorder& recorder_;
  std::map<std::int32_t, Prompt> prompts_;  // of which the KV cache is not yet where it goes
  std::map<std::pair<int, int>, std::int32_t> tracks_;
  std::map<std::pair<const ReplicaPlan*, const ReplicaPlan*>, std::vector<KvPart>> parts_;
};

}  // namespace weir
