#include "sim/studies/hetero_pim/runs.h"

#include <algorithm>

namespace weir::hetero_pim {

// ResNet-50 at its batch of 128 holds more than the stack's 8.6 GB at once: its stack has twice the rows in
// every bank, and so twice the room at the same bandwidth. No other net's has.
const std::vector<StudiedNet> nets = {
    {"vgg19", "VGG-19", Json::object()},
    {"alexnet", "AlexNet", Json::object()},
    {"dcgan", "DCGAN", Json::object()},
    {"resnet50", "ResNet-50", {{"memory", {{"base", "hmc2_vault"}, {"rows", 131072}}}}},
    {"inception3", "Inception-v3", Json::object()},
};

const StudiedNet& net_of(const std::string& id) {
  return *std::ranges::find(nets, id, [](const StudiedNet& net) { return std::string(net.id); });
}

// Progr PIM has "as many ARM-based programmable cores as needed": 32 is ours, no number is published, and
// they displace nobody.
const TrainingSystem cpu{"cpu", "CPU", nullptr, Json::object(), "cpu_only"},
    gpu{"gpu", "GPU", "gtx1080ti", Json::object(), "gpu_only"},
    progr_pim{"progr", "Progr PIM", "hetero_pim", {{"arm_cores", 32}, {"base_arm_cores", 32}}, "progr_pim"},
    fixed_pim{"fixed", "Fixed PIM", "hetero_pim", Json::object(), "fixed_pim"},
    hetero{"hetero", "Hetero PIM", "hetero_pim", Json::object(), "hetero_pim"};
const std::vector<const TrainingSystem*> systems = {&cpu, &gpu, &progr_pim, &fixed_pim, &hetero};

namespace {

// Two runs are taken of it (steady_step.h), the shorter one with 12 steps.
constexpr int steps = 24;
// Two that are placed: a step of Word2vec takes a hundred thousandth of one of VGG-19.
constexpr int mixed_steps = 3;

Json devices_of(const NetRun& run) {
  Json devices = Json::array({{{"kind", "xeon_e5_2630v3"}}});
  const TrainingSystem& system = *run.system;
  if (!system.device) return devices;
  Json device = {{"kind", system.device}};
  device.update(system.keys);
  if (&system != &gpu) device.update(net_of(run.net).stack);
  device.update(run.stack);
  devices.push_back(device);
  return devices;
}

}  // namespace

std::string name_of(const NetRun& run) {
  return fmt::format("{} {} {}, {}{}, clocks x {:g}", run.system->title, run.stack.dump(), run.runtime.dump(),
                     run.net, run.beside.empty() ? "" : " with " + run.beside, run.clock_multiple);
}

Json scenario_of(const NetRun& run, const std::string& assumptions) {
  Json runtime = {{"kind", run.system->runtime}};
  runtime.update(run.runtime);
  Json job = {{"model", run.net},
              {"steps", run.beside.empty() ? steps : mixed_steps},
              {"clock_multiple", run.clock_multiple},
              {"runtime", std::move(runtime)}};
  if (!run.beside.empty())
    job["beside"] = {{"model", run.beside}, {"steps", 1}, {"runtime", {{"kind", "spare_cores"}}}};
  return {{"kind", "training"},
          {"assumptions", assumptions},
          {"cluster", {{"nodes", Json::array({{{"devices", devices_of(run)}}})}}},
          {"training", Json::array({std::move(job)})}};
}

NetRun hypothetical(NetRun run) {
  run.stack["lanes_per_pair"] = hypothetical_lanes;
  return run;
}

NetRun going_sooner(NetRun run) {
  if (run.system == &hetero) run.runtime["when_busy"] = "sooner";
  return run;
}

NetRun with_free_pairs(NetRun run) {
  if (run.system == &hetero) run.stack["lanes_per_pair"] = 1024;
  return run;
}

NetRun with_spare_cores(NetRun run) {
  if (run.system == &hetero) run.stack.update({{"arm_cores", 64}, {"base_arm_cores", 64}});
  return run;
}

NetRun with_techniques(const StudiedNet& net, bool recursive_kernels, bool operation_pipeline) {
  NetRun run = run_of(hetero, net);
  if (!recursive_kernels) run.runtime["recursive_kernels"] = false;
  if (!operation_pipeline) run.runtime["operation_pipeline"] = false;
  return run;
}

NetRun at_clock(const StudiedNet& net, double multiple) {
  NetRun run = run_of(hetero, net);
  run.clock_multiple = multiple;
  return run;
}

NetRun with_cores(const StudiedNet& net, int cores) {
  NetRun run = run_of(hetero, net);
  run.stack["arm_cores"] = cores;
  run.paper_only = true;  // by real areas a core displaces 357 pairs, and sixteen have no room
  return run;
}

}  // namespace weir::hetero_pim
