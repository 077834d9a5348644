// Figure 8's ratios: Hetero PIM over the CPU, Progr PIM, Fixed PIM and the GPU, of the paper's machine and of
// the hypothetical one.
#include "sim/studies/hetero_pim/study.h"

namespace weir::hetero_pim {
namespace {

constexpr const char *hypothetical_metric = "hypothetical, 16 lanes a pair: ", *suffix = "_w16";

NetRun hypothetical_of(const StudiedNet& net) {
  return hypothetical(run_of(hetero, net));
}

struct Judged {
  const char* net;
  Bounds literal, hypothetical;
};
const Judged over_cpu[] = {{"vgg19", {2.2, 3}, {12, 28}},
                           {"alexnet", {2.2, 3}, {12, 28}},
                           {"dcgan", {2, 3}, {9, 28}},
                           {"resnet50", {2.2, 3}, {12, 28}},
                           {"inception3", {2.2, 3}, {12, 28}}};

std::string busy_in(const Runs& runs, const NetRun& run) {
  const CaseResult& m = runs.at(run).paper;
  return fmt::format("busy in Hetero PIM's step: pairs {:.0f} %, ARM cores {:.0f} %, CPU {:.0f} %",
                     100 * m.pairs_busy, 100 * m.arm_busy, 100 * m.cpu_busy);
}

// Of a net that the stack has not the room for.
std::string room_of(const StudiedNet& net) {
  if (net.stack.empty()) return "";
  NetRun small = run_of(gpu, net);
  const double needed = peak_bytes(job_of(small, "paper").graph).value() / 1e9;
  const double room =
      job_of(run_of(hetero, nets.front()), "paper").machine.memory->spec().own().capacity.value() / 1e9;
  return fmt::format(
      "a step holds {:.2f} GB at once and the stack {:.2f}: an assumption, its vaults have twice the "
      "rows here",
      needed, room);
}

std::string over_cpu_note(bool lanes) {
  return fmt::format(
      "the paper: 28 at most of its nets, 3.0 where its least factors (1.19 and 2.5) multiply{}",
      lanes ? "; what follows a convolution (batch norm, ReLU) runs on CPU and cores one after the "
              "other, and pairs are idle meanwhile"
            : "; pairs are idle where what is no candidate streams on the CPU, and where small operators "
              "wait for one another and for cores");
}

void add_over_cpu(std::vector<StepRatio>& all) {
  for (const bool lanes : {false, true})
    for (const Judged& judged : over_cpu) {
      const StudiedNet& net = net_of(judged.net);
      const NetRun run = lanes ? hypothetical_of(net) : run_of(hetero, net);
      all.push_back({.id = fmt::format("fig8_hetero_over_cpu_{}{}", net.id, lanes ? suffix : ""),
                     .metric = fmt::format("{}speed-up of Hetero PIM over the CPU, {}",
                                           lanes ? hypothetical_metric : "", net.title),
                     .published = 28,
                     .figure = &CaseResult::step_s,
                     .of = {{net.title, run_of(cpu, net), run}},
                     .picked = least,
                     .bounds = lanes ? judged.hypothetical : judged.literal,
                     .note = over_cpu_note(lanes),
                     .variants = lanes ? not_bound_by_pairs : std::vector{sooner, spare_cores},
                     .evidence = [=](const Runs& runs) {
                       const std::string room = room_of(net);
                       return fmt::format("{}{}{}", busy_in(runs, run), room.empty() ? "" : "; ", room);
                     }});
    }
}

constexpr const char* published_over_gpu(std::string_view net) {
  return net == "dcgan" ? "below 1" : net == "resnet50" ? "above 1" : "0.9 to 1.1";
}

void add_over_gpu(std::vector<StepRatio>& all) {
  for (const bool lanes : {false, true})
    for (const StudiedNet& net : nets) {
      const NetRun run = lanes ? hypothetical_of(net) : run_of(hetero, net), on_gpu = run_of(gpu, net);
      const auto evidence = [=](const Runs& runs) {
        const TrainingJob job = job_of(run, "paper");
        const double floor =
            (matrix_flops(job.graph) / job.machine.memory->spec().peak(DataType::fp32)).value();
        const double time = runs.at(on_gpu).paper.step_s;
        return fmt::format(
            "no bounds: {}, the step's multiplications take the pairs {:.3g} s at their peak, and "
            "the GPU takes {:.3g} s for all",
            floor > time ? "out of reach by arithmetic" : "the pairs are not the bound", floor, time);
      };
      all.push_back({.id = fmt::format("fig8_hetero_over_gpu_{}{}", net.id, lanes ? suffix : ""),
                     .metric = fmt::format("{}speed-up of Hetero PIM over the GPU, {}",
                                           lanes ? hypothetical_metric : "", net.title),
                     .published = {},
                     .figure = &CaseResult::step_s,
                     .of = {{net.title, on_gpu, run}},
                     .picked = least,
                     .note = fmt::format("the paper: {}", published_over_gpu(net.id)),
                     .evidence = evidence});
    }
}

// Of the steps that have every kernel started and awaited by the host.
std::string synchronisation_of(const Runs& runs, NetRun (*base)(const StudiedNet&)) {
  std::vector<std::pair<std::string, InSets>> shares;
  for (const StudiedNet& net : nets)
    shares.emplace_back(net.title, figure(runs, base(net), &CaseResult::synchronisation_s) /
                                       figure(runs, base(net), &CaseResult::step_s));
  return fmt::format("synchronisation, 20 us an image and operator (ESTIMATE), is of Fixed PIM's step {}",
                     listed(shares));
}

NetRun literal_fixed(const StudiedNet& net) {
  return run_of(fixed_pim, net);
}
NetRun hypothetical_fixed(const StudiedNet& net) {
  return hypothetical(run_of(fixed_pim, net));
}

void add_over_fixed(std::vector<StepRatio>& all) {
  for (const bool lanes : {false, true})
    for (const bool most : {false, true}) {
      const auto fixed = lanes ? hypothetical_fixed : literal_fixed;
      StepRatio row{
          .id = fmt::format("fig8_hetero_over_fixed_{}{}", most ? "max" : "min", lanes ? suffix : ""),
          .metric = fmt::format("{}speed-up of Hetero PIM over Fixed PIM, {} of the nets",
                                lanes ? hypothetical_metric : "", most ? "largest" : "least"),
          .published = most ? 5.7 : 1.4,
          .figure = &CaseResult::step_s,
          .of = over_nets(fixed, lanes ? hypothetical_of : on(hetero)),
          .picked = most ? largest : least,
          .evidence = [=](const Runs& runs) { return synchronisation_of(runs, fixed); }};
      if (lanes) {
        row.bounds = {1.5, 4};
        row.note = "the rest of split operators is done by four ARM cores, in Fixed PIM by the CPU";
        row.variants = not_bound_by_pairs;
      } else {
        row.note =
            "no bounds: pairs that are always busy take as long in both, and what else Fixed PIM takes are "
            "synchronisations, an ESTIMATE";
      }
      all.push_back(row);
    }
}

}  // namespace

std::vector<StepRatio> speedups() {
  std::vector<StepRatio> all;
  add_over_cpu(all);
  const StudiedNet& vgg19 = net_of("vgg19");
  all.push_back({"fig8_progr_over_cpu_vgg19",
                 "speed-up of Progr PIM (32 cores) over the CPU, VGG-19",
                 {},
                 &CaseResult::step_s,
                 {{vgg19.title, run_of(cpu, vgg19), run_of(progr_pim, vgg19)}},
                 least,
                 {1.15, 1.35},
                 "how many cores \"as many as needed\" are is not published"});
  all.push_back({"fig8_progr_over_cpu_min",
                 "the same, least of the nets",
                 1.19,
                 &CaseResult::step_s,
                 over_nets(on(cpu), on(progr_pim)),
                 least,
                 {0.9, 1.35},
                 ""});
  for (const bool lanes : {false, true})
    all.push_back(
        {fmt::format("fig8_hetero_over_progr_vgg19{}", lanes ? suffix : ""),
         fmt::format("{}speed-up of Hetero PIM over Progr PIM, VGG-19", lanes ? hypothetical_metric : ""),
         {},
         &CaseResult::step_s,
         {{vgg19.title, run_of(progr_pim, vgg19), lanes ? hypothetical_of(vgg19) : run_of(hetero, vgg19)}},
         least,
         lanes ? Bounds{12, 24} : Bounds{1.8, 2.5},
         "the paper: 2.5 to 23 over its nets"});
  add_over_fixed(all);
  add_over_gpu(all);
  return all;
}

}  // namespace weir::hetero_pim
