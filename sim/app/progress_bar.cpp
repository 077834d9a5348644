#include "sim/app/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace weir {

ProgressBar::ProgressBar(bool wanted)
    : enabled_(wanted && ::isatty(STDERR_FILENO)), started_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);  // the terminal may be gone; fmt::print() would throw
}

namespace {

std::string left(double share, double wall) {
  if (share <= 0) return "";
  const auto s = static_cast<long>(wall / share - wall + 0.5);
  if (s < 120) return fmt::format(", {} s left", s);
  if (s < 7200) return fmt::format(", {} min left", (s + 30) / 60);
  return fmt::format(", {} h {} min left", s / 3600, s % 3600 / 60);
}

}  // namespace

void ProgressBar::show(double share, const std::string& what) {
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  if (!enabled_ || wall < 1) return;
  constexpr int width = 30;
  share = std::clamp(share, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * width);
  fmt::print(stderr, "\r\033[K[{}{}] {:3.0f} %  {}{}", std::string(filled, '='),
             std::string(width - filled, ' '), 100 * share, what, left(share, wall));
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace weir
