#pragma once
// The winner of a sweep and why it won, in words with the numbers: the head of weir sweep's table and page.
#include <string>
#include <vector>

#include "sim/app/ranking/ranking.h"
#include "sim/app/ranking/slo_bounds.h"

namespace weir {

struct Answer {
  std::string winner;  // of a group, with the numbers that made it so
  std::string next;    // "" if there is no other
};
struct SweepAnswer {
  std::string asked;  // what the order is by
  std::vector<Answer> answers;
};

SweepAnswer answer_of(const ResultSet& results, const Ranking& ranking, const std::vector<Repeated>& ranked);
std::vector<std::string> metrics_of_answers();  // all that one may ask of summaries

}  // namespace weir
