#include "sim/plan/engine_catalog.h"
#include "sim/plan/scenario_parts.h"

namespace weir {

void read_front_end(Params& engine, ReplicaSpec& replica) {
  const EnginePreset& preset = engine_in_force(replica.engine).row->preset;
  const double preset_ms = replica.calibration.front_end_ms.value_or(preset.front_end_ms);
  FrontEndSpec& front = replica.front_end;
  front.per_request = engine.quantity<Seconds>(
      {"front_end_ms",
       "HTTP, tokeniser and the way to the scheduler: each request's own, a part of its TTFT."},
      {0, 60'000}, preset_ms);
  // The longest is a second a token.
  front.per_prompt_token =
      Seconds(1e-6 * engine.number({"front_end_us_per_token", "The same for each token of its prompt."},
                                   {0, 1e6}, 0));
  front.requests_per_s = engine.number_or_null(
      {"front_end_requests_per_s",
       "Requests that the front end takes in at most, one after another; null: any number."},
      {1e-3, 1e9});
  front.tokens_per_s = engine.number_or_null(
      {"front_end_tokens_per_s",
       "Output tokens that leave the front end (detokeniser, stream) at most, one after another in the "
       "order in which steps gave them; null: any number."},
      {1e-3, 1e9});
  replica.scheduled_ahead =
      static_cast<int>(engine.integer({"scheduled_ahead_steps",
                                       "So many steps are decided already when one begins, as asynchronous "
                                       "scheduling does: whoever comes, or "
                                       "frees a place, is seen that much later."},
                                      {0, 16}, preset.scheduled_ahead_steps));
  replica.recv_interval =
      engine.integer({"scheduler_recv_interval",
                      "Steps of decodes alone from one look at who has come to the next (SGLang's flag of "
                      "this name); one with a prompt, or an idle engine, looks at once."},
                     {1, 10'000}, 1);
  replica.prompt_interval = engine.integer({"prefill_schedule_interval",
                                            "New prompts begin in every so many-th step alone, the same ones "
                                            "on all attention-data ranks, so that these "
                                            "wait for each other's prompts less often (vLLM's setting of "
                                            "this name); an idle replica begins at once."},
                                           {1, 10'000}, 1);
  replica.two_batches = engine.flag(
      {"two_batch_overlap",
       "Each batch is cut in two of half as many tokens, whose kernels take turns in the engine's "
       "fixed order: the exchange of one goes under the kernels of the other (SGLang's "
       "--enable-two-batch-overlap, vLLM's --enable-dbo)."},
      false);
}

}  // namespace weir
