#include "sim/studies/validation/closed_loops.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace weir {
namespace {

double end_ms(const MeasuredServer& s) {
  return s.ttft_ms + s.tpot_ms * static_cast<double>(s.output_tokens - 1);
}

// What two rows tell, and how much a seat would count between them.
struct Told {
  double missing, ms_a_seat;
};

// The least sum of |TTFT's difference - missing x ms_a_seat|: the median, each as heavy as a seat counts.
double least_unexplained(std::vector<Told> pairs) {
  std::ranges::sort(pairs, {}, &Told::missing);
  double half = 0;
  for (const Told& pair : pairs) half += pair.ms_a_seat / 2;
  for (const Told& pair : pairs) {
    half -= pair.ms_a_seat;
    if (half <= 0) return pair.missing;
  }
  return 0;  // of no pairs
}

}  // namespace

std::int64_t MissingSeats::whole() const {
  return std::max<std::int64_t>(0, std::llround(missing));
}

std::map<std::string, MissingSeats> missing_seats(const std::vector<MeasuredServer>& servers) {
  // Rows of a group with the same prompt and clients, by output.
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::map<std::int64_t, const MeasuredServer*>>
      alike;
  for (const MeasuredServer& s : servers)
    alike[{s.group(), s.input_tokens, s.concurrency}][s.output_tokens] = &s;
  std::map<std::string, std::vector<Told>> told;
  for (const auto& [key, rows] : alike)
    for (auto row = rows.begin(); row != rows.end() && std::next(row) != rows.end(); ++row) {
      const MeasuredServer &shorter = *row->second, &longer = *std::next(row)->second;
      const double ms_a_seat = (end_ms(longer) - end_ms(shorter)) / static_cast<double>(shorter.concurrency);
      if (ms_a_seat > 0)
        told[std::get<0>(key)].push_back({(longer.ttft_ms - shorter.ttft_ms) / ms_a_seat, ms_a_seat});
    }
  std::map<std::string, MissingSeats> seats;
  for (const auto& [group, pairs] : told)
    seats[group] = {least_unexplained(pairs), static_cast<int>(pairs.size())};
  return seats;
}

void seat_clients(std::vector<MeasuredServer>& servers) {
  const auto missing = missing_seats(servers);
  for (MeasuredServer& s : servers) {
    if (s.load.max_batch_requests > 0) continue;
    const auto found = missing.find(s.group());
    const std::int64_t less = found == missing.end() ? 0 : found->second.whole();
    s.load.max_batch_requests = std::max<std::int64_t>(1, s.concurrency - less);  // it did serve
  }
}

void mark_held_up(std::vector<MeasuredServer>& servers) {
  const auto load = [](const MeasuredServer& s) {
    return std::tie(s.device, s.engine, s.model, s.weights, s.input_tokens, s.output_tokens, s.concurrency);
  };
  for (MeasuredServer& s : servers)
    s.held_up = std::ranges::any_of(servers, [&](const MeasuredServer& other) {
      return load(other) == load(s) && other.tensor < s.tensor && other.ttft_ms < s.ttft_ms;
    });
}

}  // namespace weir
