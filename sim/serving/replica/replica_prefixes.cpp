// Requests find what a replica computed for others: when it enters the blocks' index, or the radix tree.
#include "sim/serving/replica/replica.h"

namespace weir {

// Full blocks that others will ask for are found from now on. A radix tree has those as well that nobody asks
// for: its leaves go whole.
void Replica::publish(const SequenceView& view) {
  std::int64_t blocks = view.computed_tokens / cache_.block_tokens();
  if (!keeps_tree()) blocks = std::min(blocks, prefixes_.path().asked(view.request));
  if (blocks > cache_.published(view.request))
    cache_.publish(view.request, prefixes_.path()(view.request, blocks), pool(view));
}

// A prompt's are published chunk by chunk; what decodes write, when somebody asks, or writes a copy.
void Replica::publish_prompt(const SequenceView& view) {
  prefixes_.write_up_before(view.request);
  publish(view);
}

void Replica::write_up(std::int32_t text) {
  if (keeps_tree() || recorder_.record(text).finished >= Seconds(0) || loads_.contains(text)) return;
  if (const std::size_t at = position(text); at < running_.size() && running_[at].request == text)
    publish(running_[at]);
}

// Whether a text is written here that others begin with, and which is not there yet.
bool Replica::writes(Origin origin) {
  if (keeps_tree() || recorder_.record(origin.request).finished >= Seconds(0)) return false;
  const std::size_t at = position(origin.request);
  return at < running_.size() && running_[at].request == origin.request &&
         running_[at].computed_tokens < origin.tokens;
}

// A radix tree has chunks of prompts once the whole batch has its blocks, and answers when they end.
void Replica::publish_chunks(const Iteration& iteration) {
  if (iteration.shape.prefill_tokens == 0) return;
  std::size_t next = 0;
  for (const auto& member : iteration.members)
    if (const SequenceView& view = running_[position(member.request, next)];
        view.computed_tokens <= view.prefill_target)
      publish(view);
}

}  // namespace weir
