// Laws of data-parallel copies: their gradients meet once a step, beside the backward pass where it goes on.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "models/nn/net_catalog.h"
#include "sim/step/training/gradient_buckets.h"
#include "test/step/training/random_training.h"

namespace weir::test {
namespace {

LinkSpec links_of(double bytes_per_second) {
  LinkSpec links;
  links.name = "custom";
  links.bandwidth = BytesPerSecond(bytes_per_second);
  return links;
}

TrainingMachine copied(TrainingMachine machine, int copies, double bytes_per_second) {
  machine.copies = copies;
  machine.links = make_collectives(links_of(bytes_per_second), "");
  return machine;
}

Bytes trained_variables(const TrainingGraph& graph) {
  std::set<int> updated;
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v)
    if (graph.operators[v].phase == TrainingPhase::update)
      for (const int tensor : graph.operators[v].writes)
        if (graph.tensors[static_cast<std::size_t>(tensor)].kind == TensorKind::variable)
          updated.insert(tensor);
  Bytes sum;
  for (const int tensor : updated) sum += graph.tensors[static_cast<std::size_t>(tensor)].bytes();
  return sum;
}

}  // namespace

TEST_CASE("data parallel: every gradient of the nets is in one bucket, and buckets are filled in turn",
          "[training]") {
  for (const char* net : {"vgg19", "alexnet", "dcgan", "resnet50", "inception3"}) {
    CAPTURE(net);
    const TrainingGraph graph = build_training_graph(catalog_net(net));
    const std::vector<GradientBucket> buckets = gradient_buckets(graph);
    Bytes sum;
    std::size_t last_maker = 0;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      sum += buckets[b].bytes;
      CHECK((b + 1 == buckets.size() || buckets[b].bytes >= gradient_bucket));
      CHECK(buckets[b].makers.front() >= last_maker);
      last_maker = buckets[b].makers.back();
      for (const std::size_t v : buckets[b].readers) CHECK(graph.operators[v].phase == TrainingPhase::update);
    }
    CHECK(sum == trained_variables(graph));
  }
  // 25.6 million parameters of ResNet-50 are 102 MB.
  CHECK(gradient_buckets(build_training_graph(catalog_net("resnet50"))).size() == 4);
}

TEST_CASE("data parallel: a step takes between its own time and that and all its all-reduces", "[training]") {
  int hidden = 0;
  const int cases = for_random_trainings(41, 40, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const auto last_step = [&](const TrainingMachine& machine) {
      const TrainingRun run = TrainingStep(it.graph, machine, it.runtime.policy, 6).play();
      return run.ends.back() - run.ends[0];
    };
    const double speed = 1e9;
    const TrainingMachine copies = copied(it.random.machine, 8, speed);
    Seconds reduces;
    for (const GradientBucket& bucket : gradient_buckets(it.graph))
      reduces += copies.links->time(Collective::all_reduce, bucket.bytes, 8);
    const Seconds alone = last_step(it.random.machine), together = last_step(copies);
    // Under the pipeline an update also waits for other gradients of its bucket, and pools take another
    // order.
    if (it.runtime.policy->operation_pipeline()) {
      CHECK(together <= 2. * (alone + 6. * reduces));
      return;
    }
    CHECK(together >= alone * (1 - 1e-9));
    CHECK(together <= (alone + 6. * reduces) * (1 + 1e-9));
    hidden += together < alone + 5. * reduces;
    const Seconds fast = last_step(copied(it.random.machine, 8, 1e18));
    CHECK(fast.value() == Approx(alone.value()).epsilon(1e-6));
  });
  CHECK(cases > 500);
  CHECK(hidden > 10);
}

TEST_CASE("data parallel: no all-reduce starts before its gradients, no update before its all-reduce",
          "[training]") {
  int reduces = 0;
  for_random_trainings(42, 30, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step(it.graph, copied(it.random.machine, 4, 1e8), it.runtime.policy, 4);
    const TrainingPlan& plan = step.plan();
    std::map<std::pair<int, std::int64_t>, OperatorRecord> found;
    for (const OperatorRecord& record : step.trace()) found[{record.op, record.layer}] = record;
    Seconds busy;
    for (const auto& [at, record] : found) {
      if (way_of(plan, record).unit != plan.network) continue;
      ++reduces;
      busy += record.finish - record.start;
      for (const StepGraph::Edge& edge : plan.graph.edges) {
        if (edge.next_layer) continue;
        if (edge.to == at.first) CHECK(found.at({edge.from, at.second}).finish <= record.start);
        if (edge.from == at.first) CHECK(found.at({edge.to, at.second}).start >= record.finish);
      }
    }
    CHECK(step.play(false).busy.at("network")[0].value() == Approx(busy.value()).epsilon(1e-9));
  });
  CHECK(reduces > 500);
}

TEST_CASE("data parallel: each copy sends what a ring does, and pays for it", "[training]") {
  const TrainingGraph graph = build_training_graph(catalog_net("resnet50"));
  const NamedRuntime runtime = all_runtimes(true)[13];
  REQUIRE(runtime.name == "gpu_only");
  TrainingMachine machine;
  machine.gpu = device_with("h100_sxm", Json::object());
  const TrainingStep alone(graph, machine, runtime.policy, 3),
      copies(graph, copied(machine, 64, 400e9), runtime.policy, 3);
  const Bytes sent = 2. * 63. / 64. * trained_variables(graph);
  CHECK(copies.plan().reduced[0].value() == Approx(sent.value()));
  CHECK((copies.play().energy - alone.play().energy).value() ==
        Approx((3. * (machine.gpu->spec().power.per_link_byte * sent)).value()).epsilon(1e-6));
}

}  // namespace weir::test
