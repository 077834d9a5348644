// Figure 4 and the share of the hottest neurons, of the activity that every run is given. The generator is
// made for these numbers: its tests hold them, and here they are reported.
#include <deque>

#include "sim/app/output/output_file.h"
#include "sim/studies/hermes/decoding.h"
#include "sim/studies/hermes/study.h"

namespace weir::hermes {
namespace {

constexpr const char* generator_note = "no bounds: the generator of activity is made for it";
constexpr int tokens = 160;
constexpr int distances[] = {1, 2, 3, 5, 10, 15, 20, 25, 30};

struct Share {
  double of = 0, among = 0;
  double value() const { return of / among; }
  void count(bool both, bool one) { of += both, among += one; }
};

struct Seen {
  Share parent, both_parents, hot;
  std::map<int, Share> similar;  // by distance in tokens
};

using Token = std::vector<std::vector<std::uint8_t>>;  // [layer]

void count_parents(const ActivitySource& source, const Token& token, Seen& seen) {
  for (std::size_t l = 1; l < token.size(); ++l) {
    const auto parents = source.parents(static_cast<std::int64_t>(l), NeuronBlock::mlp);
    for (std::size_t i = 0; i < token[l].size(); ++i) {
      const bool first = token[l - 1][static_cast<std::size_t>(parents[i][0])],
                 both = first && token[l - 1][static_cast<std::size_t>(parents[i][1])];
      seen.parent.count(first && token[l][i], first);
      seen.both_parents.count(both && token[l][i], both);
    }
  }
}

// Neurons are numbered by frequency, the hottest first.
void count_hot(const Token& token, Seen& seen) {
  for (const auto& layer : token)
    for (std::size_t i = 0; i < layer.size(); ++i) seen.hot.count(layer[i] && i < layer.size() / 5, layer[i]);
}

Seen seen_in(double density) {
  HermesRun run = run_of(hermes_system, "llama2_13b");
  run.activity = {{"density", density}, {"drift", 0}};
  const std::shared_ptr<const ActivitySource> source = neurons_of(run, "paper")->activity;
  const auto sequence = source->sequence(1);
  Seen seen;
  std::deque<Token> past;  // the latest first
  for (int t = 0; t < tokens; ++t) {
    sequence->next();
    Token token;
    for (std::int64_t l = 0; l < followed_layers; ++l) {
      const auto active = sequence->active(l, NeuronBlock::mlp);
      token.emplace_back(active.begin(), active.end());
    }
    count_parents(*source, token, seen);
    count_hot(token, seen);
    for (const int distance : distances)
      if (static_cast<std::size_t>(distance) <= past.size()) {
        const Token& before = past[static_cast<std::size_t>(distance) - 1];
        for (std::size_t l = 0; l < token.size(); ++l)
          for (std::size_t i = 0; i < token[l].size(); ++i)
            seen.similar[distance].count(before[l][i] && token[l][i], before[l][i]);
      }
    past.push_front(std::move(token));
    if (past.size() > 30) past.pop_back();
  }
  return seen;
}

}  // namespace

void add_activity(const Runs&, const Folder& folder, Rows& rows) {
  const Seen seen = seen_in(0.20), sparse = seen_in(0.10);
  const auto add = [&](const char* id, const char* metric, double published, const Share& share) {
    add_row(rows, id, metric, published, {share.value(), share.value()}).note = generator_note;
  };
  add("fig4_parent", "active, of neurons whose most correlated one of the layer before is", 0.90,
      seen.parent);
  add_note(rows.back(), fmt::format("with both parents active {:.3f}", seen.both_parents.value()));
  add("fig4_overlap_1", "active at the next token, of those that are: density 0.20", 0.90,
      seen.similar.at(1));
  add("fig4_overlap_10", "the same 10 tokens later", 0.70, seen.similar.at(10));
  add("fig4_overlap_25", "the same 25 tokens later", 0.70, seen.similar.at(25));
  add("hot20_share", "share of activations that the hottest 20 % of the neurons have: density 0.20", 0.80,
      seen.hot);
  OutputFile file(folder / "similarity.csv");
  file.text("distance,density_020,density_010\n");
  for (const int distance : distances)
    file.print("{},{:.5g},{:.5g}\n", distance, seen.similar.at(distance).value(),
               sparse.similar.at(distance).value());
  file.close();
}

}  // namespace weir::hermes
