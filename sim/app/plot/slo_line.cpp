#include "sim/app/plot/slo_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir {

void let_see(std::vector<double>& values, const std::optional<double>& bound) {
  constexpr double far = 4;
  if (!bound) return;
  const auto near = [&](double v) { return std::isfinite(v) && v <= far * *bound && *bound <= far * v; };
  if (std::any_of(values.begin(), values.end(), near)) values.push_back(*bound);
}

std::string slo_line(const std::optional<double>& bound, Bounded which, const Frame& frame,
                     const ChartAxis& axis) {
  if (!bound) return "";
  const double place = axis.log && *bound <= 0 ? -1 : axis.place(*bound);
  const double at = std::clamp(place, 0.0, 1.0);
  const bool beyond = place != at, upright = which == Bounded::x;
  const double x = upright ? frame.left + at * (frame.right - frame.left) : frame.right,
               y = upright ? frame.top : frame.bottom - at * (frame.bottom - frame.top);
  std::string label = "SLO " + short_number(*bound);
  if (beyond)
    label += upright ? (place > 1 ? " is beyond" : " is before") : place > 1 ? " is above" : " is below";
  std::string out;
  if (!beyond)
    out = fmt::format(
        "set arrow from screen {:.5f},{:.5f} to screen {:.5f},{:.5f} nohead lw 1.5 dt (6,4) lc rgb "
        "'#404040'\n",
        (upright ? x : frame.left) / canvas_width, 1 - (upright ? frame.bottom : y) / frame.height,
        x / canvas_width, 1 - y / frame.height);
  if (upright) {
    const char* anchor = at < 0.15 ? "left" : at > 0.85 ? "right" : "center";
    return out + text_at(x, y - 10, frame.height, label, anchor, small_px);
  }
  // Beside the frame, where it hides nothing, and no lower or higher than the frame.
  const double half = text_width(label, small_px) / 2;
  const double centre = std::clamp(y, frame.top + half, std::max(frame.top + half, frame.bottom - half));
  return out + text_at(frame.right + 12, centre, frame.height, label, "center rotate by 90", small_px);
}

}  // namespace weir
