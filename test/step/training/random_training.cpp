#include "test/step/training/random_training.h"

#include "test/models/nn/random_net.h"
#include "test/policies/runtime/random_snapshot.h"

namespace weir::test {

std::shared_ptr<const Device> device_with(const std::string& kind, const Json& overrides,
                                          const std::string& assumptions) {
  Reading reading("test");
  Params params(reading, overrides);
  auto made = make_device(kind, params, assumptions);
  params.close();
  reading.finish();
  return made;
}

FlopsPerSecond peak_of_pairs(const StackProcessors& processors) {
  return FlopsPerSecond(2 * processors.all_pairs() * processors.lanes * processors.pairs_per_second);
}

FlopsPerSecond peak_of_cores(const StackProcessors& processors) {
  return FlopsPerSecond(processors.arm_cores * processors.arm_multiply_adds);
}

std::shared_ptr<const Device> stack_with(const StackProcessors& processors, BytesPerSecond host_link) {
  static const auto catalog = device_with("hetero_pim", Json::object());
  DeviceSpec spec = catalog->spec();
  spec.units.clear();
  spec.host_bandwidth = host_link;
  const FlopsPerSecond peak = peak_of_pairs(processors) + peak_of_cores(processors);
  spec.peak = [peak](DataType) { return peak; };
  static const StackStreams streams(find_memory("hmc2_vault"), 32);
  return make_hetero_pim(std::move(spec), processors, streams);
}

TrainingMachine catalog_machine(int lanes, double clock_multiple) {
  TrainingMachine made;
  made.cpu = device_with("xeon_e5_2630v3", Json::object());
  made.memory = device_with("hetero_pim", {{"lanes_per_pair", lanes}})->at_clock(clock_multiple);
  return made;
}

// Nets are small, so machines are often slow beside a kernel's synchronisation, and links beside the CPU.
RandomMachine random_machine(std::mt19937& random) {
  const auto one_of = [&](const std::vector<double>& values) {
    return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  RandomMachine made;
  const double times = one_of({0.02, 0.5, 1, 4});
  made.processors = {.pairs = {static_cast<int>(one_of({1, 7, 50, 444, 3000}))},
                     .pairs_per_second = times * one_of({1e7, 312.5e6, 1e9}),
                     .lanes = one_of({1, 2, 16}),
                     .arm_cores = static_cast<int>(one_of({1, 4, 32})),
                     .arm_multiply_adds = times * one_of({2e9, 4e9}),
                     .arm_elements = times * one_of({0.5e9, 1e9}),
                     .arm_power = Watts(1)};
  const double host_link = one_of({1e9, 20e9, 59.7e9, 400e9});
  made.machine.memory = stack_with(made.processors, BytesPerSecond(host_link));
  made.machine.cpu = device_with("xeon_e5_2630v3", {{"product_gflops", one_of({3, 335})}},
                                 one_of({0, 1}) > 0 ? "paper" : "physical");
  if (one_of({0, 1}) > 0) made.machine.gpu = device_with("gtx1080ti", Json::object());
  made.machine.synchronisation = Seconds(one_of({0, 1e-7, 2e-6, 20e-6}));
  made.described =
      fmt::format("{} pairs of {} lanes at {} Hz, {} cores of {} flop/s, link {} B/s, awaits {} s",
                  made.processors.all_pairs(), made.processors.lanes, made.processors.pairs_per_second,
                  made.processors.arm_cores, made.processors.arm_multiply_adds, host_link,
                  made.machine.synchronisation.value());
  return made;
}

StackProcessors RandomMachine::at_clock(double times) const {
  StackProcessors faster = processors;
  for (double* rate : {&faster.pairs_per_second, &faster.arm_multiply_adds, &faster.arm_elements})
    *rate *= times;
  faster.arm_power = times * faster.arm_power;
  return faster;
}

NamedRuntime hetero_runtime(bool recursive_kernels, bool operation_pipeline, const std::string& when_busy) {
  return {fmt::format("hetero_pim {} {}{}", when_busy, recursive_kernels ? "RC" : "",
                      operation_pipeline ? "OP" : ""),
          make_runtime({{"kind", "hetero_pim"},
                        {"recursive_kernels", recursive_kernels},
                        {"operation_pipeline", operation_pipeline},
                        {"when_busy", when_busy}})};
}

std::vector<NamedRuntime> all_runtimes(bool with_gpu) {
  std::vector<NamedRuntime> all;
  for (const bool recursive_kernels : {false, true})
    for (const bool operation_pipeline : {false, true})
      for (const char* when_busy : {"wait", "sooner", "cpu"})
        all.push_back(hetero_runtime(recursive_kernels, operation_pipeline, when_busy));
  for (const auto& entry : runtime_policies())
    if (entry.name != "hetero_pim" && (with_gpu || entry.name != "gpu_only"))
      all.push_back({entry.name, make_runtime({{"kind", entry.name}})});
  return all;
}

TrainingGraph random_training(std::mt19937& random) {
  const RandomNet net = random_net(random);
  return build_training_graph(net.net, net.batch);
}

const StepGraph::Alternative& way_of(const TrainingPlan& plan, const OperatorRecord& record) {
  return plan.graph.operators[static_cast<std::size_t>(record.op)]
      .alternatives[static_cast<std::size_t>(record.alternative)];
}

Seconds alone(const TrainingPlan& plan, const OperatorRecord& record) {
  return way_of(plan, record).portions.front().time;
}

}  // namespace weir::test
