#pragma once
// A router's knowledge of replicas, as far as its policy needs it: from what it sent them itself, and from
// what they tell. One for each side of the router; replicas have their numbers.
#include <deque>
#include <memory>

#include "policies/routing/routing.h"
#include "sim/serving/kv/text_path.h"
#include "sim/serving/routing/active_prompts.h"
#include "sim/serving/routing/late_reports.h"
#include "sim/serving/routing/sent_prompts.h"

namespace weir {

class RouterKnowledge {
 public:
  struct Holder {
    std::int32_t replica;
    std::int64_t tokens, shared_blocks;
  };
  // `reuses`: prompts may find what replicas hold, and share blocks; else each is computed elsewhere.
  RouterKnowledge(const RoutingNeeds& needs, const Contents& contents, std::size_t requests, bool reuses);

  void add_replica(std::int32_t replica, std::int64_t block_tokens);
  // The listener of a replica, or of one of its attention-data ranks; null if nobody needs to hear it.
  ReplicaListener* listener(std::int32_t replica, std::int64_t kv_blocks);

  // A prompt goes to a replica that is thought to have so many tokens of it; has its first token; has ended.
  void sent(std::int32_t request, std::int64_t input_tokens, std::int32_t replica, std::int64_t found);
  void first_token(std::int32_t request);
  void ended(std::int32_t request, std::int64_t input_tokens);

  // Replicas of which load() or report() has changed since the last call, each once.
  std::span<const std::int32_t> changed(Seconds now);
  ReplicaLoad load(std::int32_t replica) const;  // but for requests
  ReplicaReport report(std::int32_t replica) const { return reports_->report(replica); }
  // Replicas that have a beginning of the prompt, each once; until the next call.
  std::span<const Holder> holders(std::int32_t request, std::int64_t input_tokens);

 private:
  class Listener;
  struct Sent {  // a request
    std::int32_t replica = -1;
    std::int64_t prompt_tokens = 0;
  };
  struct Replica {
    std::size_t path = 0;
    std::int64_t prompt_tokens = 0, blocks = 0;
    bool changed = false;
    std::int32_t holder = -1;  // while holders are looked for
  };
  // Replicas with blocks of one size share this.
  struct Path {
    std::int64_t block_tokens;
    TextPath of;
  };
  Replica& at(std::int32_t replica) { return replicas_[static_cast<std::size_t>(replica)]; }
  Sent& of(std::int32_t request) { return sent_[static_cast<std::size_t>(request)]; }
  Path& path(const Replica& replica) { return paths_[replica.path]; }
  void hear(Seconds now);
  void note(std::int32_t replica);
  Holder* holder(std::int32_t replica, std::size_t path);
  void find_kept(std::span<const TextBlocks> prompt, std::size_t path);
  void find_sent(std::span<const TextBlocks> prompt);

  RoutingNeeds needs_;
  const Contents& contents_;
  bool reuses_;
  std::vector<Replica> replicas_;
  std::deque<Path> paths_;
  TextPath by_tokens_;
  std::vector<Sent> sent_;
  ActivePrompts active_;
  std::optional<SentPrompts> remembered_;
  std::optional<LateReports> reports_;
  std::vector<std::unique_ptr<ReplicaListener>> listeners_;
  std::vector<std::int32_t> changed_, told_changed_;
  std::vector<Holder> holders_;
};

}  // namespace weir
