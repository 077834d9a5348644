// Laws of the step timeline over random graphs that mix all it can express.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "test/step/timeline/brute_force_step.h"
#include "test/step/timeline/random_step.h"

using namespace weir;
using namespace weir::test;

namespace {

// Queue first, then the end: unlike earliest_free it reads every field of the snapshot.
int shortest_queue(std::span<const UnitState> units, int op, std::span<const PlacementOption> options) {
  std::size_t best = 0;
  const auto cost = [&](const PlacementOption& option) {
    const UnitState& unit = units[static_cast<std::size_t>(option.unit)];
    double end = unit.amount > 0 ? option.most - unit.free : 0;
    for (std::size_t i = 0; i < option.members.size(); ++i)
      end += (unit.left[static_cast<std::size_t>(option.members[i])] + option.times[i]).value();
    for (const BytesPerSecond rate : option.rates) end += 0.01 * rate.value();
    return 10.0 * unit.waiting + end + 1e-3 * op;
  };
  for (std::size_t i = 1; i < options.size(); ++i)
    if (cost(options[i]) < cost(options[best]) * (1 - 1e-9)) best = i;
  return static_cast<int>(best);
}

// Refills every time and rate, so that layers declared unlike are.
void refill(std::mt19937_64& random, const StepGraph& graph, Timeline& timeline) {
  for (int op = 0; op < static_cast<int>(graph.operators.size()); ++op) {
    const auto& described = graph.operators[static_cast<std::size_t>(op)];
    const auto& part = graph.parts[static_cast<std::size_t>(described.part)];
    for (std::int64_t layer = 0; part.unlike && layer < part.layers; ++layer)
      for (int way = 0; way < static_cast<int>(described.alternatives.size()); ++way) {
        for (Seconds& time : timeline.times(op, way, layer)) time = time * uniform(random, 0.5, 1.5);
        for (BytesPerSecond& rate : timeline.rates(op, way, layer)) rate = rate * uniform(random, 0.5, 1.5);
      }
  }
}

bool in_order(const OperatorRecord& a, const OperatorRecord& b, const StepGraph& graph) {
  const auto key = [&](const OperatorRecord& r) {
    return std::tuple(graph.operators[static_cast<std::size_t>(r.op)].part, r.layer, r.op);
  };
  return key(a) < key(b);
}

double slowest_portion(Timeline& timeline, const OperatorRecord& record) {
  double slowest = 0;
  for (const Seconds time : timeline.times(record.op, record.alternative, record.layer))
    slowest = std::max(slowest, time.value());
  return slowest;
}

// The longest way through the graph with nothing in anyone's way, given the alternatives that were chosen.
double critical_path(const StepGraph& graph, Timeline& timeline, std::vector<OperatorRecord> records) {
  std::map<std::pair<int, std::int64_t>, double> end;
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.finish < b.finish; });
  double longest = 0;
  for (int round = 0; round < 2;
       ++round)  // once more: operators of no time may be listed before what let them in
    for (const OperatorRecord& record : records) {
      double begin = 0;
      for (const auto& edge : graph.edges) {
        if (edge.to != record.op) continue;
        const int from_part = graph.operators[static_cast<std::size_t>(edge.from)].part;
        const bool inside = from_part == graph.operators[static_cast<std::size_t>(edge.to)].part;
        if (!inside && record.layer > 0) continue;
        const std::int64_t layer = edge.next_layer ? record.layer - 1
                                   : inside        ? record.layer
                                            : graph.parts[static_cast<std::size_t>(from_part)].layers - 1;
        if (layer >= 0) begin = std::max(begin, end[{edge.from, layer}]);
      }
      end[{record.op, record.layer}] = begin + slowest_portion(timeline, record);
      longest = std::max(longest, end[{record.op, record.layer}]);
    }
  return longest;
}

// Work given to each member, as if nothing ever waited or slowed.
double busiest_load(const StepGraph& graph, Timeline& timeline, const std::vector<OperatorRecord>& records) {
  std::map<std::pair<int, int>, double> load;
  double busiest = 0;
  for (const OperatorRecord& record : records) {
    const auto& way = graph.operators[static_cast<std::size_t>(record.op)]
                          .alternatives[static_cast<std::size_t>(record.alternative)];
    const double amount = graph.units[static_cast<std::size_t>(way.unit)].amount;
    const auto times = timeline.times(record.op, record.alternative, record.layer);
    for (std::size_t i = 0; i < times.size(); ++i) {
      double& sum = load[{way.unit, way.portions[i].member}];
      sum += times[i].value() * (amount > 0 ? way.most / amount : 1);
      busiest = std::max(busiest, sum);
    }
  }
  return busiest;
}

// How often the random graphs made happen what the timeline is for.
struct Seen {
  int beside = 0;         // operators at once, on different units
  int slowed = 0;         // because more was drawn than there is
  int early_members = 0;  // a unit whose members work for two operators
  int shared_pools = 0;
  int chosen = 0;  // not the first alternative
  int followed = 0;
  int unlike = 0;
  int next_layer = 0;  // began before the one before had ended

  void count(const StepGraph& graph, Timeline& timeline, const std::vector<OperatorRecord>& trace) {
    const auto way = [&](const OperatorRecord& r) -> const StepGraph::Alternative& {
      return graph.operators[static_cast<std::size_t>(r.op)]
          .alternatives[static_cast<std::size_t>(r.alternative)];
    };
    const auto part = [&](const OperatorRecord& r) {
      return graph.operators[static_cast<std::size_t>(r.op)].part;
    };
    Seen here;
    for (const OperatorRecord& a : trace) {
      const bool pool = graph.units[static_cast<std::size_t>(way(a).unit)].amount > 0;
      here.slowed += !pool && (a.finish - a.start).value() > 1.001 * slowest_portion(timeline, a);
      here.chosen += a.alternative > 0;
      here.followed += a.alternative > 0 && graph.operators[static_cast<std::size_t>(a.op)].follows >= 0;
      here.unlike += graph.parts[static_cast<std::size_t>(part(a))].unlike;
      for (const OperatorRecord& b : trace) {
        if (b.start < a.start || b.start >= a.finish || b.finish <= b.start ||
            (a.op == b.op && a.layer == b.layer))
          continue;
        here.next_layer += part(a) == part(b) && b.layer > a.layer;
        (way(a).unit != way(b).unit ? here.beside : pool ? here.shared_pools : here.early_members) += 1;
      }
    }
    for (int Seen::*what : {&Seen::beside, &Seen::slowed, &Seen::early_members, &Seen::shared_pools,
                            &Seen::chosen, &Seen::followed, &Seen::unlike, &Seen::next_layer})
      this->*what += here.*what > 0;
  }
};

}  // namespace

TEST_CASE("timeline: any graph is played as by brute force", "[timeline]") {
  std::mt19937_64 random(12);
  const PlacementPolicy policies[] = {earliest_free, shortest_queue};
  std::size_t operators = 0;
  Seen seen;
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    const StepGraph graph =
        random_step(random, {.ties = round % 5 == 0, .followers = round % 3 == 0, .yields = round % 4 == 0});
    const PlacementPolicy& policy = policies[round % 2];
    Timeline timeline(graph, policy);
    refill(random, graph, timeline);
    const auto time = [&](int op, int way, int i, std::int64_t layer) {
      return timeline.times(op, way, layer)[static_cast<std::size_t>(i)].value();
    };
    const auto rate = [&](int op, int way, int i, std::int64_t layer) {
      return timeline.rates(op, way, layer)[static_cast<std::size_t>(i)].value();
    };
    const BruteForceResult expected = brute_force(graph, policy, time, rate);
    std::vector<OperatorRecord> trace;
    const StepResult got = timeline.evaluate({.trace = &trace});
    std::sort(trace.begin(), trace.end(),
              [&](const auto& a, const auto& b) { return in_order(a, b, graph); });

    const double near = 1e-9 * expected.total;
    CHECK(got.total.value() == Approx(expected.total).margin(near).epsilon(0));
    REQUIRE(trace.size() == expected.records.size());
    operators += trace.size();
    for (std::size_t i = 0; i < trace.size(); ++i) {
      CAPTURE(i, trace[i].op, trace[i].layer);
      REQUIRE(trace[i].op == expected.records[i].op);
      REQUIRE(trace[i].alternative == expected.records[i].alternative);
      REQUIRE(trace[i].ready.value() == Approx(expected.records[i].ready.value()).margin(near).epsilon(0));
      REQUIRE(trace[i].start.value() == Approx(expected.records[i].start.value()).margin(near).epsilon(0));
      REQUIRE(trace[i].finish.value() == Approx(expected.records[i].finish.value()).margin(near).epsilon(0));
    }
    for (std::size_t u = 0; u < graph.units.size(); ++u)
      for (std::size_t m = 0; m < got.busy[u].size(); ++m)
        CHECK(got.busy[u][m].value() == Approx(expected.busy[u][m]).margin(20 * near).epsilon(0));
    for (std::size_t r = 0; r < graph.resources.size(); ++r)
      CHECK(got.bytes[r].value() == Approx(expected.bytes[r]).epsilon(1e-9));

    seen.count(graph, timeline, trace);
    CHECK(got.total.value() >= critical_path(graph, timeline, trace) - near);
    CHECK(got.total.value() >= busiest_load(graph, timeline, trace) - near);
    for (std::size_t r = 0; r < graph.resources.size(); ++r)
      CHECK(got.total.value() >= (got.bytes[r] / graph.resources[r].capacity).value() - near);

    // Without a trace: folding where it can.
    const StepResult folded = timeline.evaluate();
    CHECK(folded.total.value() == Approx(expected.total).epsilon(1e-9));
    for (std::size_t r = 0; r < graph.resources.size(); ++r)
      CHECK(folded.bytes[r].value() == Approx(expected.bytes[r]).epsilon(1e-9));
  }
  CHECK(operators > 10000);
  CAPTURE(seen.beside, seen.slowed, seen.early_members, seen.shared_pools, seen.chosen, seen.followed,
          seen.unlike, seen.next_layer);
  for (const int graphs : {seen.beside, seen.slowed, seen.early_members, seen.shared_pools, seen.chosen,
                           seen.unlike, seen.next_layer})
    CHECK(graphs > 100);
  CHECK(seen.followed > 30);
}

TEST_CASE("timeline: folded layers take as long as all layers unrolled", "[timeline]") {
  std::mt19937_64 random(80);
  int folded_blocks = 0;
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const StepGraph graph = random_step(random, {.alternatives = round % 2 == 0,
                                                 .unlike = false,
                                                 .carried = true,
                                                 .bound = round % 4 != 0,
                                                 .layers = 80,
                                                 .ties = round % 5 == 0,
                                                 .followers = round % 6 == 0});
    Timeline timeline(graph);
    const int marked = uniform_int(random, 0, static_cast<int>(graph.operators.size()) - 1);
    std::vector<MarkedEnd> unrolled_marks, marks;
    const StepResult unrolled =
        timeline.evaluate({.fold = false, .marked = {&marked, 1}, .marks = &unrolled_marks});
    CHECK(unrolled.skipped_layers == 0);
    const std::vector<std::int64_t> unrolled_runs = unrolled.runs;
    const StepResult folded = timeline.evaluate({.marked = {&marked, 1}, .marks = &marks});
    REQUIRE(marks.size() == unrolled_marks.size());
    for (std::size_t i = 0; i < marks.size(); ++i)
      CHECK(marks[i].at.value() == Approx(unrolled_marks[i].at.value()).epsilon(1e-10));
    folded_blocks += folded.skipped_layers > 0;
    CHECK(folded.total.value() == Approx(unrolled.total.value()).epsilon(1e-10));
    CHECK(folded.runs == unrolled_runs);
    for (std::size_t u = 0; u < graph.units.size(); ++u)
      for (std::size_t m = 0; m < folded.busy[u].size(); ++m)
        CHECK(folded.busy[u][m].value() == Approx(unrolled.busy[u][m].value()).epsilon(1e-10).margin(1e-10));
    for (std::size_t r = 0; r < graph.resources.size(); ++r)
      CHECK(folded.bytes[r].value() == Approx(unrolled.bytes[r].value()).epsilon(1e-10));
  }
  CHECK(folded_blocks > 1600);  // in the rest chains drift apart, or one settles too slowly
}

TEST_CASE("timeline: a serial graph runs one operator at a time, without a pause", "[timeline]") {
  std::mt19937_64 random(21);
  int serial = 0;
  for (int round = 0; round < 4000; ++round) {
    CAPTURE(round);
    const StepGraph graph = random_step(
        random, {.pools = round % 2 == 0, .alternatives = false, .draws = false, .most_chains = 2});
    if (!graph.serial()) continue;
    ++serial;
    Timeline timeline(graph);
    refill(random, graph, timeline);
    std::vector<OperatorRecord> trace;
    const StepResult result = timeline.evaluate({.trace = &trace});
    double sum = 0, until = 0;
    for (const OperatorRecord& record : trace) {
      CHECK(record.start.value() == Approx(until).margin(1e-12));
      until = record.finish.value();
      sum += slowest_portion(timeline, record);
    }
    CHECK(result.total.value() == Approx(sum));
  }
  CHECK(serial > 200);
}

TEST_CASE("timeline: the same graph gives the same step to the last bit, whatever was evaluated before",
          "[timeline]") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    const StepGraph graph = random_step(random, {.layers = 12});
    Timeline once(graph), often(graph);
    const StepResult first = once.evaluate();
    std::vector<OperatorRecord> trace;
    often.evaluate({.trace = &trace});
    for (Seconds& time : often.times(0)) time = 3 * time + Seconds(1);
    often.evaluate();
    for (std::size_t i = 0; i < often.times(0).size(); ++i) often.times(0)[i] = once.times(0)[i];
    const StepResult again = often.evaluate();
    CHECK(again.total == first.total);
    CHECK(again.busy == first.busy);
    CHECK(again.bytes == first.bytes);
  }
}
