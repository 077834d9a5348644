// Recorded activity: what is written comes back, the profile is the file's own, and what is wrong is told by
// line.
#include "workloads/activity/recording.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <random>
#include <sstream>

#include "test/workloads/activity/sample_activity.h"
#include "test/workloads/read_trace.h"
#include "test/workloads/samples.h"
#include "workloads/activity/coactivation.h"
#include "workloads/activity/neuron_rows.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr NeuronCounts small{2, 8, 16};

std::unique_ptr<const ActivitySource> recorded(const std::string& text, const NeuronCounts& counts) {
  const TemporaryFile file(text);
  return activity_of({{"kind", "file"}, {"file", file.name()}})->bind(counts);
}

std::string small_text(std::int64_t tokens = 4) {
  return recorded_text(small, tokens, *generated(0.2, small)->sequence(1));
}

// The text without its n-th line, or with another in its place.
std::string with_line(const std::string& text, int n, const std::string& other) {
  std::istringstream in(text);
  std::string result, line;
  for (int i = 1; std::getline(in, line); ++i) result += i == n ? other : line + "\n";
  return result;
}

std::string at(const TokenActivity& sequence, std::int64_t layer, NeuronBlock block) {
  return as_runs(sequence.active(layer, block));
}

// Numbers that are active by chance, some as another of the layer before, some always or never.
ActivityRecording random_recording(std::mt19937_64& rng, const NeuronCounts& c, std::int64_t tokens) {
  std::vector<std::uint64_t> chances(static_cast<std::size_t>(c.mlp));
  for (auto& chance : chances) chance = rng() % 12;
  std::string text = fmt::format("layers,attention,mlp\n{},{},{}\ntoken,layer,block,neurons\n", c.layers,
                                 c.attention, c.mlp);
  std::vector<std::uint8_t> before(chances.size()), now(chances.size());
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t l = 0; l < c.layers; ++l) {
      for (std::size_t i = 0; i < now.size(); ++i)
        now[i] = rng() % 3 == 0 && l > 0 ? before[(7 * i + 3) % now.size()] : rng() % 11 < chances[i];
      text += fmt::format("{},{},attention,\n{},{},mlp,{}\n", t, l, t, l, as_runs(now));
      std::swap(before, now);
    }
  return read_activity(text, "t");
}

NeuronParents by_brute_force(const BlockHistory& before, const BlockHistory& layer, std::int64_t neuron) {
  std::vector<std::tuple<double, std::int64_t, std::int64_t>> all;
  for (std::int64_t i = 0; i < before.neurons(); ++i)
    all.emplace_back(-layer.correlation(neuron, before, i), std::abs(i - neuron), i);
  std::ranges::sort(all);
  return {static_cast<std::int32_t>(std::get<2>(all[0])), static_cast<std::int32_t>(std::get<2>(all[1]))};
}

}  // namespace

TEST_CASE("recording: a sequence that is written out comes back, and starts over after its last token") {
  constexpr std::int64_t tokens = 5;
  const auto source = generated(0.2, small);
  const auto copy = recorded(recorded_text(small, tokens, *source->sequence(1)), small);
  std::vector<std::string> drawn, played;
  const auto original = source->sequence(1), again = copy->sequence(6);
  for (std::int64_t t = 0; t < 3 * tokens; ++t) {
    if (t < tokens) original->next();
    again->next();
    std::string a, b;
    for (std::int64_t layer = 0; layer < small.layers; ++layer)
      for (const NeuronBlock block : neuron_blocks) {
        a += at(*original, layer, block) + "/";
        b += at(*again, layer, block) + "/";
      }
    if (t < tokens) drawn.push_back(a);
    played.push_back(b);
  }
  const auto start = std::ranges::find(drawn, played.front()) - drawn.begin();
  REQUIRE(start < tokens);
  for (std::size_t t = 0; t < played.size(); ++t)
    CHECK(played[t] == drawn[(t + static_cast<std::size_t>(start)) % static_cast<std::size_t>(tokens)]);
}

TEST_CASE("recording: each seed starts at a token of its own, and any token may be it") {
  const auto source = recorded(
      "layers,attention,mlp\n1,1,3\ntoken,layer,block,neurons\n0,0,attention,\n0,0,mlp,0\n1,0,attention,\n"
      "1,0,mlp,1\n2,0,attention,\n2,0,mlp,2\n",
      {1, 1, 3});
  std::map<std::string, int> firsts;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto sequence = source->sequence(seed), same = source->sequence(seed);
    sequence->next(), same->next();
    CHECK(at(*sequence, 0, NeuronBlock::mlp) == at(*same, 0, NeuronBlock::mlp));
    ++firsts[at(*sequence, 0, NeuronBlock::mlp)];
  }
  CHECK(firsts.size() == 3);
  for (const auto& [first, count] : firsts) CHECK(count > 60);
}

TEST_CASE("recording: frequencies are the means over its tokens") {
  const auto source = recorded(
      "layers,attention,mlp\n1,2,6\ntoken,layer,block,neurons\n1,0,mlp,1-3 5\n0,0,attention,0\n0,0,mlp,\n"
      "1,0,attention,0-1\n",
      {1, 2, 6});
  const auto f = [&](NeuronBlock block) {
    const auto all = source->frequency(0, block);
    return std::vector<float>(all.begin(), all.end());
  };
  CHECK(f(NeuronBlock::attention) == std::vector<float>{1, 0.5});
  CHECK(f(NeuronBlock::mlp) == std::vector<float>{0, 0.5, 0.5, 0.5, 0, 0.5});
  CHECK(source->parents(0, NeuronBlock::mlp).empty());
}

TEST_CASE("coactivation: parents are those that trying all finds, for any recording") {
  std::mt19937_64 rng(13);
  for (int i = 0; i < 30; ++i) {
    const NeuronCounts c{2, 1, 2 + static_cast<std::int64_t>(rng() % most_candidates)};
    const auto recording = random_recording(rng, c, 1 + static_cast<std::int64_t>(rng() % 150));
    const BlockHistory before(recording, 0, NeuronBlock::mlp), layer(recording, 1, NeuronBlock::mlp);
    const auto parents = correlated_parents(before, layer);
    for (std::int64_t n = 0; n < c.mlp; ++n) {
      INFO("neuron " << n << " of " << c.mlp << ", " << recording.tokens() << " tokens");
      CHECK(parents[static_cast<std::size_t>(n)] == by_brute_force(before, layer, n));
    }
  }
}

TEST_CASE("coactivation: a neuron that does as another one did is its child, among thousands") {
  std::mt19937_64 rng(14);
  constexpr std::size_t neurons = 3000, tokens = 200;
  std::vector<std::size_t> parent(neurons);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  std::shuffle(parent.begin(), parent.end(), rng);
  std::string text = fmt::format("layers,attention,mlp\n2,1,{}\ntoken,layer,block,neurons\n", neurons);
  for (std::size_t t = 0; t < tokens; ++t) {
    std::vector<std::uint8_t> before(neurons), layer(neurons);
    for (std::size_t i = 0; i < neurons; ++i) before[i] = rng() % neurons < i;
    for (std::size_t i = 0; i < neurons; ++i) layer[i] = before[parent[i]];
    text += fmt::format("{0},0,attention,\n{0},0,mlp,{1}\n{0},1,attention,\n{0},1,mlp,{2}\n", t,
                        as_runs(before), as_runs(layer));
  }
  const auto source = recorded(text, {2, 1, neurons});
  const auto parents = source->parents(1, NeuronBlock::mlp);
  const auto frequency = source->frequency(1, NeuronBlock::mlp);
  for (std::size_t i = 0; i < neurons; ++i)
    if (frequency[i] > 0.05 && frequency[i] < 0.95)
      CHECK(static_cast<std::size_t>(parents[i][0]) == parent[i]);
    else
      CHECK(parents[i][0] != parents[i][1]);
}

TEST_CASE("coactivation: the parents of what the generator drew are found again") {
  const NeuronCounts counts{2, 2, 512};
  const auto drawn = generated(0.2, counts);
  const auto source = recorded(recorded_text(counts, 400, *drawn->sequence(1)), counts);
  const auto found = source->parents(1, NeuronBlock::mlp), made = drawn->parents(1, NeuronBlock::mlp);
  const auto frequency = drawn->frequency(1, NeuronBlock::mlp);
  int changing = 0, right = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (frequency[i] > 0.05 && frequency[i] < 0.95) ++changing, right += found[i][0] == made[i][0];
  CHECK(changing > 80);
  CHECK(right > 0.9 * changing);
}

TEST_CASE("recording: CRLF, blank lines, any order of rows and further blanks are no matter") {
  const auto recording = read_activity(
      "layers,attention,mlp\r\n1,4,4\r\n\ntoken,layer,block,neurons\n1,0,mlp,0 2-3\n\n0,0,mlp,  1  3 \r\n"
      "0,0,attention,0-3\n1,0,attention,",
      "t");
  CHECK(recording.tokens() == 2);
  CHECK(recording.runs(0, 0, NeuronBlock::mlp).size() == 2);
  CHECK(recording.runs(0, 0, NeuronBlock::mlp)[1].first == 3);
  CHECK(recording.runs(1, 0, NeuronBlock::mlp)[1].last == 3);
  CHECK(recording.runs(1, 0, NeuronBlock::attention).empty());
}

TEST_CASE("recording: every kind of mistake is told with its line") {
  const std::string good = small_text(2), rows = "token,layer,block,neurons\n";
  const auto of = [&](int line, const std::string& other) {
    return error_of(read_activity, with_line(good, line, other + "\n"));
  };
  CHECK(error_of(read_activity, good) == "");
  CHECK(error_of(read_activity, "") == "t: expected the line layers,attention,mlp, got \"\"");
  CHECK(of(1, "layers,mlp") == "t: line 1: expected the line layers,attention,mlp, got \"layers,mlp\"");
  CHECK(of(2, "0,8,x") ==
        "t: line 2: layers: expected a whole number from 1 to 10000, got \"0\"\n"
        "t: line 2: mlp: expected a whole number from 1 to 1000000, got \"x\"");
  CHECK(of(2, "10000,8,1000000").starts_with("t: line 2: expected at most 33554432 neurons in all, got"));
  CHECK(of(3, "token,layer").starts_with("t: line 3: expected the line token,layer,block,neurons, got"));
  CHECK(error_of(read_activity, "layers,attention,mlp\n1,1,1\n" + rows) == "t: holds no token");
  CHECK(of(4, "0,0,attention") ==
        "t: line 4: expected 4 fields, got 3: \"0,0,attention\"\n"
        "t: has no line of token 0, layer 0, attention");
  CHECK(of(5, "2,0,mlp,").starts_with("t: line 5: token: expected a whole number from 0 to 1, got \"2\""));
  CHECK(of(5, "0,2,mlp,").starts_with("t: line 5: layer: expected a whole number from 0 to 1, got \"2\""));
  CHECK(of(5, "0,0,MLP,").starts_with("t: line 5: block: expected attention or mlp, got \"MLP\""));
  CHECK(of(5, "0,0,attention,") ==
        "t: line 5: token 0, layer 0, attention has line 4 already\n"
        "t: has no line of token 0, layer 0, mlp");
  for (const char* bad : {"16", "-1", "3-", "-3", "5-4", "3 3", "4 2", "1-3 3", "1,2", "x", "1.5", "0x3",
                          "+1", "7-16", "99999999999999999999", "\xff"}) {
    INFO(bad);
    CHECK(of(5, fmt::format("0,0,mlp,{}", bad)).starts_with("t: line 5: "));
  }
  const std::string many = error_of(read_activity, "layers,attention,mlp\n100,1,1\n" + rows + "0,0,mlp,9\n");
  CHECK(many.starts_with(
      "t: line 4: neurons: expected ascending numbers below 1, or ranges of them such as 3-7, got "
      "\"9\"\nt: has no line of token 0, layer 0, attention\n"));
  CHECK(many.ends_with("t: and 190 more such lines"));
}

TEST_CASE("recording: bytes of any kind give a recording or an error that names the file") {
  const std::string good = small_text();
  std::mt19937_64 rng(12);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (std::uint64_t n = rng() % 4; n > 0; --n) {
      const std::size_t place = rng() % text.size();
      if (rng() % 2)
        text[place] = static_cast<char>(rng());
      else
        text.erase(place, 1 + rng() % 8);
    }
    try {
      const ActivityRecording recording = read_activity(text, "t");
      for (std::int64_t t = 0; t < recording.tokens(); ++t)
        for (std::int64_t l = 0; l < recording.counts().layers; ++l)
          for (const NeuronBlock block : neuron_blocks) {
            std::int64_t before = -1;
            for (const NeuronRun run : recording.runs(t, l, block)) {
              REQUIRE((run.first > before && run.last >= run.first));
              before = run.last;
            }
            REQUIRE(before < recording.counts().of(block));
          }
    } catch (const ConfigError& e) {
      ++refused;
      REQUIRE(e.file() == "t");
      REQUIRE((!e.problems().empty() && e.problems().size() <= 11));
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("recording: the example is what the generator writes") {
  std::ostringstream committed;
  committed << std::ifstream(WEIR_SOURCE_DIR "/test/workloads/activity/example.csv").rdbuf();
  CHECK(committed.str() == small_text());
}
