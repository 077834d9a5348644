// Figure 16: two models at once, a CNN under the runtime and LSTM or Word2vec on the CPU and cores that it
// leaves idle, in matched times, over one after the other.
#include "sim/app/output/output_file.h"
#include "sim/studies/hetero_pim/study.h"

namespace weir::hetero_pim {
namespace {

constexpr const char* first_nets[] = {"vgg19", "alexnet", "inception3"};
constexpr struct { const char *id, *title; } second_nets[] = {{"lstm", "LSTM"}, {"word2vec", "Word2vec"}};

struct NetPair {
  std::string first, second;  // titles
  NetRun run;

  std::string title() const { return first + " with " + second; }
};

std::vector<NetPair> pairs() {
  std::vector<NetPair> all;
  for (const char* first : first_nets)
    for (const auto& second : second_nets) {
      NetRun run = run_of(hetero, net_of(first));
      run.beside = second.id;
      all.push_back({net_of(first).title, second.title, run});
    }
  return all;
}

NetRun sooner_in_paper(NetRun run) {
  run = going_sooner(run);
  run.paper_only = true;
  return run;
}

InSets gain_of(const Runs& runs, const NetRun& run) {
  return figure(runs, run, &CaseResult::apart_s) / figure(runs, run, &CaseResult::together_s);
}

std::string listed_gains(const Runs& runs, NetRun (*changed)(NetRun)) {
  std::vector<std::pair<std::string, InSets>> named;
  for (const NetPair& pair : pairs()) named.emplace_back(pair.title(), gain_of(runs, changed(pair.run)));
  return listed(named);
}

void write_mixed(const Runs& runs, const Folder& folder) {
  OutputFile file(folder / "mixed.csv");
  file.text(
      "net,system,beside_steps,physical_beside_steps,apart_s,physical_apart_s,together_s,"
      "physical_together_s,gain,physical_gain\n");
  for (const NetPair& pair : pairs()) {
    const auto& [paper, physical] = runs.at(pair.run);
    file.print("{},{},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g}\n", pair.first, pair.second,
               paper.beside_steps, physical.beside_steps, paper.apart_s, physical.apart_s, paper.together_s,
               physical.together_s, paper.apart_s / paper.together_s, physical.apart_s / physical.together_s);
  }
  file.close();
}

}  // namespace

void want_mixed(Runs& runs) {
  for (const NetPair& pair : pairs()) runs.want(pair.run), runs.want(sooner_in_paper(pair.run));
}

void add_mixed(const Runs& runs, const Folder& folder, Rows& rows) {
  std::vector<InSets> gains;
  for (const NetPair& pair : pairs()) gains.push_back(gain_of(runs, pair.run));
  const Bounds bounds{1.6, 2.0};
  if (runs.wants_row("fig16_gain_min")) {
    ReproducedRow& row =
        add_row(rows, "fig16_gain_min", "two models at once over one after the other, least of six pairs",
                1.69, least(gains), bounds);
    add_note(row, listed_gains(runs, [](NetRun run) { return run; }));
    add_note(row, "the paper does not name its pairs; in matched times 2 is the most there can be");
    add_note(row, fmt::format("{}: {}", sooner.words, listed_gains(runs, sooner_in_paper)));
  }
  if (runs.wants_row("fig16_gain_max"))
    add_row(rows, "fig16_gain_max", "the same, largest", 1.83, largest(gains), bounds).note =
        "as fig16_gain_min";
  write_mixed(runs, folder);
}

}  // namespace weir::hetero_pim
