#include "sim/step/cost/engine_cost.h"

#include <cmath>

namespace weir {
namespace {

// vLLM 0.8 (vllm/config.py, cudagraph_capture_sizes) captures 1, 2, 4 and each multiple of 8; later versions
// leave out every second one from 256 on.
std::int64_t captured_rows(std::int64_t rows) {
  if (rows > 4) return (rows + 7) / 8 * 8;
  return rows == 3 ? 4 : rows;
}

double rounds(EngineOverhead::Messages messages, int devices) {
  switch (messages) {
    case EngineOverhead::Messages::once:
      return 1;
    case EngineOverhead::Messages::tree:
      return std::ceil(std::log2(devices));
    case EngineOverhead::Messages::each:
      return devices - 1;
  }
  return 1;
}

}  // namespace

bool CudaGraphs::hold(const BatchShape& batch) const {
  if (sizes == Sizes::none || (batch.prefill_tokens > 0 && !prompts)) return false;
  return sizes == Sizes::every || captured_rows(batch.tokens()) <= most_rows;
}

std::int64_t CudaGraphs::padding(const BatchShape& batch) const {
  return sizes == Sizes::padded && hold(batch) ? captured_rows(batch.tokens()) - batch.tokens() : 0;
}

EngineOverhead EngineOverhead::on(int devices) const {
  EngineOverhead engine = *this;
  if (devices > 1) {
    engine.per_step += rounds(messages, devices) * workers_per_step;
    engine.per_sequence += workers_per_sequence;
  }
  return engine;
}

Seconds EngineOverhead::of_requests(const BatchShape& batch) const {
  return static_cast<double>(batch.sequences) * per_sequence +
         static_cast<double>(batch.prefill.size()) * per_prompt;
}

Seconds EngineOverhead::host_time(const BatchShape& batch) const {
  return overlapped ? per_step : per_step + of_requests(batch);
}

Seconds EngineOverhead::floor(const BatchShape& batch, double kernels) const {
  const Seconds launches = graphs.hold(batch) ? Seconds(0) : eager_step + kernels * launch;
  return overlapped ? launches + of_requests(batch) : launches;
}

}  // namespace weir
