#include "test/step/timeline/brute_force_step.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace weir::test {
namespace {

using std::size_t;

struct Task {
  int op = 0;
  std::int64_t layer = 0;
  std::vector<size_t> after;
  enum State { blocked, waiting, running, done } state = blocked;
  int way = 0;
  double ready = 0, start = 0, finish = 0;
  std::vector<double> left;  // of each portion, alone
  double amount = 0;
  int turn = 0;  // order of start
};

class World {
 public:
  World(const StepGraph& graph, const PlacementPolicy& policy, const Lookup& time, const Lookup& rate)
      : graph_(graph), policy_(policy), time_(time), rate_(rate) {
    write_out();
    for (const auto& unit : graph.units) result_.busy.emplace_back(static_cast<size_t>(unit.members), 0.0);
    result_.bytes.assign(graph.resources.size(), 0.0);
  }

  BruteForceResult play() {
    do {
      admit();
      for (size_t u = 0; u < graph_.units.size(); ++u)
        graph_.units[u].amount > 0 ? fill_pool(u) : fill_serial(u);
    } while (pass_time());
    result_.total = now_;
    for (const Task& t : tasks_)
      result_.records.push_back(
          {t.op, t.layer, t.way, Seconds(t.ready), Seconds(t.start), Seconds(t.finish)});
    return result_;
  }

 private:
  const StepGraph::Operator& op_of(const Task& t) const {
    return graph_.operators[static_cast<size_t>(t.op)];
  }
  const StepGraph::Alternative& way_of(const Task& t) const {
    return op_of(t).alternatives[static_cast<size_t>(t.way)];
  }
  bool yields(const Task& t) const { return graph_.parts[static_cast<size_t>(op_of(t).part)].yields; }
  bool on(const Task& t, size_t unit) const { return way_of(t).unit == static_cast<int>(unit); }

  void write_out() {
    for (size_t p = 0; p < graph_.parts.size(); ++p)
      for (std::int64_t layer = 0; layer < graph_.parts[p].layers; ++layer)
        for (size_t op = 0; op < graph_.operators.size(); ++op) {
          if (graph_.operators[op].part != static_cast<int>(p)) continue;
          tasks_.emplace_back();
          tasks_.back().op = static_cast<int>(op);
          tasks_.back().layer = layer;
        }
    for (Task& to : tasks_)
      for (size_t from = 0; from < tasks_.size(); ++from)
        for (const auto& edge : graph_.edges)
          if (edge.to == to.op && edge.from == tasks_[from].op && joins(edge, tasks_[from], to))
            to.after.push_back(from);
  }

  bool joins(const StepGraph::Edge& edge, const Task& from, const Task& to) const {
    if (edge.next_layer) return from.layer + 1 == to.layer;
    if (op_of(from).part == op_of(to).part) return from.layer == to.layer;
    return from.layer + 1 == graph_.parts[static_cast<size_t>(op_of(from).part)].layers && to.layer == 0;
  }

  void admit() {
    for (bool again = true; again;) {
      again = false;
      for (Task& t : tasks_) {
        if (t.state != Task::blocked || !std::all_of(t.after.begin(), t.after.end(),
                                                     [&](size_t i) { return tasks_[i].state == Task::done; }))
          continue;
        t.way = op_of(t).follows >= 0 ? followed(t).way : op_of(t).alternatives.size() > 1 ? choose(t) : 0;
        t.left = times(t, t.way);
        t.ready = t.start = t.finish = now_;
        t.state = *std::max_element(t.left.begin(), t.left.end()) > 0 ? Task::waiting : Task::done;
        again = true;
        break;  // the first in order, each time
      }
    }
  }

  std::vector<double> times(const Task& t, int way) const {
    std::vector<double> all;
    const auto& portions = op_of(t).alternatives[static_cast<size_t>(way)].portions;
    for (int i = 0; i < static_cast<int>(portions.size()); ++i) all.push_back(time_(t.op, way, i, t.layer));
    return all;
  }

  const Task& followed(const Task& follower) const {
    return *std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& other) {
      return other.op == op_of(follower).follows && other.layer == follower.layer;
    });
  }

  int choose(const Task& chooser) {
    std::vector<UnitState> states;
    for (size_t u = 0; u < graph_.units.size(); ++u) {
      UnitState state{std::vector<Seconds>(static_cast<size_t>(graph_.units[u].members)),
                      graph_.units[u].amount, graph_.units[u].amount, 0};
      for (const Task& t : tasks_) {
        if ((t.state != Task::waiting && t.state != Task::running) || !on(t, u)) continue;
        if (t.state == Task::waiting && yields(t) && !yields(chooser)) continue;
        state.waiting += t.state == Task::waiting;
        state.free -= t.state == Task::running ? t.amount : 0;
        for (size_t i = 0; i < t.left.size(); ++i)
          state.left[static_cast<size_t>(way_of(t).portions[i].member)] +=
              Seconds(t.left[i] * (state.amount > 0 ? way_of(t).most : 1));
      }
      states.push_back(state);
    }
    std::vector<std::vector<Seconds>> seconds;
    std::vector<std::vector<BytesPerSecond>> rates;
    std::vector<std::vector<int>> members, resources;
    std::vector<PlacementOption> options;
    const auto& ways = op_of(chooser).alternatives;
    for (int w = 0; w < static_cast<int>(ways.size()); ++w) {
      const auto& way = ways[static_cast<size_t>(w)];
      seconds.emplace_back();
      rates.emplace_back();
      members.emplace_back();
      resources.emplace_back();
      for (const double time : times(chooser, w)) seconds.back().push_back(Seconds(time));
      for (const auto& portion : way.portions) members.back().push_back(portion.member);
      for (int d = 0; d < static_cast<int>(way.draws.size()); ++d) {
        resources.back().push_back(way.draws[static_cast<size_t>(d)].resource);
        rates.back().push_back(BytesPerSecond(rate_(chooser.op, w, d, chooser.layer)));
      }
      options.push_back(
          {way.unit, members.back(), seconds.back(), resources.back(), rates.back(), way.least, way.most});
    }
    return policy_(states, chooser.op, options);
  }

  std::vector<Task*> queue(size_t unit) {
    std::vector<Task*> waiting;
    for (Task& t : tasks_)
      if (t.state == Task::waiting && on(t, unit)) waiting.push_back(&t);
    std::stable_sort(waiting.begin(), waiting.end(), [&](Task* a, Task* b) {
      return std::pair(yields(*a), a->ready) < std::pair(yields(*b), b->ready);
    });
    return waiting;
  }

  void start(Task& t, double amount) {
    t.state = Task::running;
    t.start = now_;
    t.amount = amount;
    t.turn = ++turns_;
  }

  void fill_serial(size_t unit) {
    std::set<int> taken;  // held, or wanted by someone earlier
    for (const Task& t : tasks_)
      if (t.state == Task::running && on(t, unit))
        for (size_t i = 0; i < t.left.size(); ++i)
          if (t.left[i] > 0) taken.insert(way_of(t).portions[i].member);
    for (Task* t : queue(unit)) {
      bool free = true;
      for (size_t i = 0; i < t->left.size(); ++i)
        free &= t->left[i] == 0 || !taken.contains(way_of(*t).portions[i].member);
      for (size_t i = 0; i < t->left.size(); ++i)
        if (t->left[i] > 0) taken.insert(way_of(*t).portions[i].member);
      if (free) start(*t, 1);
    }
  }

  void fill_pool(size_t unit) {
    std::vector<Task*> holders;
    double free = graph_.units[unit].amount;
    for (Task& t : tasks_)
      if (t.state == Task::running && on(t, unit)) {
        holders.push_back(&t);
        free -= t.amount;
      }
    for (Task* t : queue(unit)) {
      if (free < way_of(*t).least - 1e-9) break;
      start(*t, std::min(way_of(*t).most, free));
      holders.push_back(t);
      free -= t->amount;
    }
    std::sort(holders.begin(), holders.end(), [](Task* a, Task* b) { return a->turn < b->turn; });
    for (Task* t : holders) {
      const double more = std::min(free, way_of(*t).most - t->amount);
      t->amount += more;
      free -= more;
    }
  }

  double share(const Task& t) const {
    return graph_.units[static_cast<size_t>(way_of(t).unit)].amount > 0 ? t.amount / way_of(t).most : 1;
  }

  bool pass_time() {
    std::vector<Task*> busy;
    std::vector<std::vector<double>> demand;
    std::vector<double> capacity;
    for (const auto& resource : graph_.resources) capacity.push_back(resource.capacity.value());
    for (Task& t : tasks_) {
      if (t.state != Task::running) continue;
      busy.push_back(&t);
      demand.emplace_back(capacity.size(), 0.0);
      for (int d = 0; d < static_cast<int>(way_of(t).draws.size()); ++d)
        demand.back()[static_cast<size_t>(way_of(t).draws[static_cast<size_t>(d)].resource)] =
            rate_(t.op, t.way, d, t.layer) * share(t);
    }
    if (busy.empty()) return false;
    std::vector<double> speed = bisected_speeds(demand, capacity);
    disturb(busy, demand, capacity, speed);
    double step = INFINITY;
    for (size_t b = 0; b < busy.size(); ++b)
      for (const double left : busy[b]->left)
        if (left > 0) step = std::min(step, left / (speed[b] * share(*busy[b])));
    now_ += step;
    for (size_t b = 0; b < busy.size(); ++b) advance(*busy[b], step, speed[b], demand[b]);
    return true;
  }

  void disturb(const std::vector<Task*>& busy, const std::vector<std::vector<double>>& demand,
               const std::vector<double>& capacity, std::vector<double>& speed) const {
    const std::vector<double> alone = speed;
    const auto by = [&](size_t b) {
      return graph_.units[static_cast<size_t>(way_of(*busy[b]).unit)].disturbance;
    };
    for (size_t b = 0; b < busy.size(); ++b)
      for (int r = 0; r < static_cast<int>(capacity.size()); ++r) {
        if (by(b).resource != r) continue;
        const auto drawn = [&](size_t of) { return demand[of][static_cast<size_t>(r)] * alone[of]; };
        double others = 0;
        for (size_t o = 0; o < busy.size(); ++o) others += by(o).resource == r ? 0 : drawn(o);
        const double left = std::max(1e-300, capacity[static_cast<size_t>(r)] - drawn(b));
        speed[b] = alone[b] / (1 + by(b).most * std::min(1.0, others / left));
      }
  }

  void advance(Task& t, double step, double speed, const std::vector<double>& demand) {
    auto& held = result_.busy[static_cast<size_t>(way_of(t).unit)];
    bool over = true;
    for (size_t i = 0; i < t.left.size(); ++i) {
      if (t.left[i] == 0) continue;
      held[static_cast<size_t>(way_of(t).portions[i].member)] += step * t.amount;
      t.left[i] -= step * speed * share(t);
      if (t.left[i] < 1e-12) t.left[i] = 0;
      over &= t.left[i] == 0;
    }
    for (size_t r = 0; r < demand.size(); ++r) result_.bytes[r] += demand[r] * speed * step;
    if (!over) return;
    t.state = Task::done;
    t.finish = now_;
  }

  const StepGraph& graph_;
  const PlacementPolicy& policy_;
  const Lookup& time_;
  const Lookup& rate_;
  std::vector<Task> tasks_;
  double now_ = 0;
  int turns_ = 0;
  BruteForceResult result_;
};

}  // namespace

BruteForceResult brute_force(const StepGraph& graph, const PlacementPolicy& policy, const Lookup& time,
                             const Lookup& rate) {
  return World(graph, policy, time, rate).play();
}

}  // namespace weir::test
