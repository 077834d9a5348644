#include "sim/app/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "sim/app/wrap.h"

namespace weir {

ProgressBar::ProgressBar(bool wanted)
    : enabled_(wanted && is_terminal(STDERR_FILENO)), started_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);  // the terminal may be gone; fmt::print() would throw
}

namespace {

std::string left(double share, double wall) {
  if (share <= 0) return "";
  const double left_s = wall / share - wall + 0.5;
  if (left_s > 1e9) return "";
  const auto s = static_cast<long>(left_s);
  if (s < 120) return fmt::format(", {} s left", s);
  if (s < 7200) return fmt::format(", {} min left", (s + 30) / 60);
  return fmt::format(", {} h {} min left", s / 3600, s % 3600 / 60);
}

// In the last column some terminals begin a new line.
std::size_t line_width() {
  return terminal_width(STDERR_FILENO) - 1;
}

// As long as the text leaves room for, if that is worth drawing.
std::string bar(double share, const std::string& text, std::size_t width) {
  constexpr std::size_t longest = 30, shortest = 5, frame = 3;
  const std::size_t used = std::min(width, columns_of(text) + frame);
  const std::size_t length = std::min(longest, width - used);
  if (length < shortest) return text;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(length));
  return fmt::format("[{}{}] {}", std::string(filled, '='), std::string(length - filled, ' '), text);
}

}  // namespace

void show_line(const std::string& text) {
  fmt::print(stderr, "\r\033[K{}", wrapped(text, line_width()).front());
  std::fflush(stderr);
}

void ProgressBar::show(double share, const std::string& what) {
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  if (!enabled_ || wall < 1) return;
  share = std::clamp(share, 0.0, 1.0);
  show_line(bar(share, fmt::format("{:3.0f} %  {}{}", 100 * share, what, left(share, wall)), line_width()));
  drawn_ = true;
}

}  // namespace weir
