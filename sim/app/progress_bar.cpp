#include "sim/app/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace weir {

ProgressBar::ProgressBar(bool wanted)
    : enabled_(wanted && ::isatty(STDERR_FILENO)), started_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::show(const Progress& p) {
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  if (!enabled_ || wall < 1) return;
  constexpr int width = 30;
  const double share =
      p.total_requests > 0 ? std::clamp(p.finished_requests / p.total_requests, 0.0, 1.0) : 0;
  const auto filled = static_cast<std::size_t>(share * width);
  fmt::print(stderr, "\r\033[K[{}{}] {:3.0f} %  {:.0f} of {:.0f} requests, {:.0f} s simulated, {:.0f} s left",
             std::string(filled, '='), std::string(width - filled, ' '), 100 * share, p.finished_requests,
             p.total_requests, p.simulated.value(), share > 0 ? wall / share - wall : 0);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace weir
