#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "sim/app/results/csv.h"
#include "sim/studies/hetero_pim/study.h"
#include "sim/studies/matched_pair.h"
#include "sim/studies/steady_step.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::hetero_pim;

namespace {

using Ids = std::vector<std::string>;

Ids of_nets(const std::string& id, const std::string& end = "") {
  Ids all;
  for (const char* net : {"vgg19", "alexnet", "dcgan", "resnet50", "inception3"})
    all.push_back(id + net + end);
  return all;
}

Ids joined(std::initializer_list<Ids> lists) {
  Ids all;
  for (const Ids& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// The table of the paper's numbers, in the order in which it is printed.
const Ids without_runs =
    joined({{"peak_tflops", "pairs_placed", "pairs_edges_first", "window_use_11x11", "window_use_7x7",
             "window_use_5x5", "window_use_3x3", "step_floor_vgg19_s"},
            of_nets("tab1_conv2d_count_"),
            of_nets("tab1_filter_count_"),
            of_nets("tab1_input_count_"),
            {"tab1_other_counts_vgg19", "tab1_other_counts_alexnet", "tab1_other_counts_dcgan", "gflop_vgg19",
             "gflop_alexnet", "gflop_resnet50", "gflop_inception3", "gflop_dcgan", "gflop_lstm",
             "gflop_word2vec", "tab1_share_vgg19_max_error", "tab1_share_alexnet_max_error",
             "tab1_access_share_vgg19_max_error", "select_table1_vgg19_types", "select_vgg19_convs"}});
const Ids of_figure8 =
    joined({{"fig8_order_nets"},
            of_nets("fig8_hetero_over_cpu_"),
            of_nets("fig8_hetero_over_cpu_", "_w16"),
            {"fig8_progr_over_cpu_vgg19", "fig8_progr_over_cpu_min", "fig8_hetero_over_progr_vgg19",
             "fig8_hetero_over_progr_vgg19_w16", "fig8_hetero_over_fixed_min", "fig8_hetero_over_fixed_max",
             "fig8_hetero_over_fixed_min_w16", "fig8_hetero_over_fixed_max_w16"},
            of_nets("fig8_hetero_over_gpu_"),
            of_nets("fig8_hetero_over_gpu_", "_w16"),
            of_nets("fig8_movement_share_"),
            of_nets("fig8_sync_share_")});
const Ids of_other_figures = {"fig9_cpu_over_hetero_min",
                              "fig9_cpu_over_hetero_max",
                              "fig9_gpu_over_hetero_min",
                              "fig9_gpu_over_hetero_max",
                              "fig10_over_neurocube_dcgan",
                              "fig11_2x_min",
                              "fig11_2x_max",
                              "fig11_4x_min",
                              "fig11_4x_max",
                              "fig11_2x_over_gpu_vgg19",
                              "fig11_2x_over_gpu_alexnet",
                              "fig11_4x_over_gpu_vgg19",
                              "fig11_4x_over_gpu_alexnet",
                              "fig17_edp_best",
                              "fig17_gpu_power_over_4x_min",
                              "fig17_gpu_power_over_4x_max",
                              "fig12_16p_slower",
                              "fig12_16p_over_1p",
                              "fig13_hardware_over_fixed_max",
                              "fig13_hardware_over_progr_max",
                              "fig13_rc_op_gain_max",
                              "fig13_rc_op_gain_min_w16",
                              "fig13_rc_op_gain_max_w16",
                              "fig14_hardware_gain_max",
                              "fig14_rc_op_gain_max",
                              "fig15_util_min",
                              "fig15_util_grows",
                              "fig15_util_max_w16",
                              "fig15_rc_gain_vgg19",
                              "fig15_op_gain_alexnet"};
const Ids of_figure16 = {"fig16_gain_min", "fig16_gain_max"};  // half of the study's time: `make reproduce`

Json reproduced(const std::filesystem::path& out, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"reproduce", "hetero_pim", "--out", out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const test::Ended ended = test::run_weir(arguments);
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return read_json_file(out / "reproduce.json");
}

Ids ids_of(const Json& rows) {
  Ids ids;
  for (const Json& row : rows) ids.push_back(row["id"]);
  return ids;
}

}  // namespace

TEST_CASE(
    "hetero_pim: every row of its table is there once, as known, and says why where nothing judges it") {
  const ScratchDirectory scratch;
  const auto out = scratch.path() / "all";
  std::vector<std::string> only;
  // As parts of the study begin: of a shorter text it runs everything, and Figure 16 with it.
  for (const char* part : {"peak_tflops",
                           "pairs_",
                           "step_floor",
                           "window_use",
                           "tab1_conv2d_count",
                           "tab1_filter_count",
                           "tab1_input_count",
                           "tab1_other_counts",
                           "gflop",
                           "tab1_share",
                           "tab1_access_share",
                           "select",
                           "fig8_",
                           "fig9_",
                           "fig10_",
                           "fig11_",
                           "fig12_",
                           "fig13_",
                           "fig14_",
                           "fig15_",
                           "fig17_"})
    only.insert(only.end(), {"--only", part});
  const Json rows = reproduced(out, only);
  CHECK(ids_of(rows) == joined({without_runs, of_figure8, of_other_figures}));
  const Json known_outside =
      read_json_file(WEIR_SOURCE_DIR "/test/studies/reproduced_rows.json")["known_outside"];
  for (const Json& row : rows) {
    INFO(row.dump());
    const std::string id = row["id"], note = row["note"], metric = row["metric"];
    if (row["within"].is_null()) CHECK_THAT(note, Catch::Contains("no bounds: "));
    if (row["within"] == false) CHECK(note.size() > 40);
    CHECK((row["within"] == false) == known_outside.contains(id));
    CHECK(row["simulated"].is_number() == (id != "fig10_over_neurocube_dcgan"));
    CHECK(row["physical_accept_min"].is_null());
    CHECK(id.ends_with("_w16") == metric.starts_with("hypothetical"));
    if (id.find("_count_") != std::string::npos) CHECK(row["within"] == true);
  }
  const std::map<std::string, std::size_t> lines = {
      {"systems.csv", 30}, {"energy.csv", 25}, {"clocks.csv", 20}, {"cores.csv", 15}, {"software.csv", 30}};
  for (const auto& [file, count] : lines) {
    INFO(file);
    const Table table = Table::read(out / file);
    CHECK(table.rows() == count);
    CHECK_FALSE(table.text(0, "system").empty());
    CHECK(table.number(0, "step_s") > 0);
    if (file == "cores.csv")  // by real areas sixteen have no room
      CHECK(table.text(0, "physical_step_s").empty());
    else
      CHECK(table.number(0, "physical_step_s") > 0);
  }
  CHECK(Table::read(out / "profile.csv").rows() == 18);
  CHECK(Table::read(out / "operators.csv").text(0, "net") == "VGG-19");
}

TEST_CASE("hetero_pim: six pairs of models gain from each other, and less than twice", "[.reproduce]") {
  const ScratchDirectory scratch;
  CHECK(ids_of(reproduced(scratch.path() / "mixed", {"--only", "fig16_"})) == of_figure16);
  const Table mixed = Table::read(scratch.path() / "mixed/mixed.csv");
  REQUIRE(mixed.rows() == 6);
  for (std::size_t row = 0; row < mixed.rows(); ++row) {
    CHECK(mixed.number(row, "gain") < 2);
    CHECK(mixed.number(row, "physical_gain") > 1);
  }
}

TEST_CASE("hetero_pim: with --only one figure's rows and files are made alone") {
  const ScratchDirectory scratch;
  const auto out = scratch.path() / "one";
  CHECK(ids_of(reproduced(out, {"--only", "fig12"})) == Ids{"fig12_16p_slower", "fig12_16p_over_1p"});
  CHECK(std::filesystem::exists(out / "cores.csv"));
  CHECK_FALSE(std::filesystem::exists(out / "systems.csv"));
  CHECK(ids_of(reproduced(out, {"--only", "fig8_sync"})) == of_nets("fig8_sync_share_"));
  CHECK_FALSE(std::filesystem::exists(out / "cores.csv"));
}

TEST_CASE("hetero_pim: peak, pairs, windows, counts and the choice by Table I stand without a run") {
  const ScratchDirectory scratch;
  hetero_pim::Rows rows;
  add_hardware({}, scratch.path(), rows);
  add_nets({}, scratch.path(), rows);
  add_profile({}, scratch.path(), rows);
  Ids ids;
  for (const ReproducedRow& row : rows) {
    INFO(row.id << ": " << row.note);
    ids.push_back(row.id);
    CHECK((row.judged() ? row.within() : !row.note.empty()));
  }
  CHECK(ids == without_runs);
  const auto value = [&](const char* id) {
    return *std::ranges::find(rows, id, &ReproducedRow::id)->simulated;
  };
  CHECK(value("peak_tflops") == 0.2775);
  CHECK(value("window_use_11x11") == 241. / 444);
  CHECK(value("select_table1_vgg19_types") == 5);
}

TEST_CASE("hetero_pim: every net and system of the study is a scenario that holds, in both sets") {
  for (const StudiedNet& net : nets)
    for (const TrainingSystem* system : systems)
      for (const char* set : {"paper", "physical"}) {
        const NetRun run = run_of(*system, net);
        INFO(name_of(run));
        const TrainingJob job = job_of(run, set);
        CHECK(job.graph.net == net.id);
        CHECK((job.machine.gpu != nullptr) == (system == &gpu));
        CHECK((job.machine.memory != nullptr) == (system != &gpu && system != &cpu));
      }
  const auto pairs = [](const NetRun& run) {
    return job_of(run, "paper").machine.memory->spec().units[0].amount;
  };
  const StudiedNet& net = nets.front();
  CHECK(pairs(run_of(hetero, net)) == 444);
  CHECK(pairs(with_spare_cores(run_of(hetero, net))) == 444);
  CHECK(pairs(with_cores(net, 16)) < 444);
  CHECK(pairs(with_cores(net, 1)) > 444);
  CHECK(name_of(going_sooner(run_of(fixed_pim, net))) == name_of(run_of(fixed_pim, net)));
  std::set<std::string> names;
  for (const NetRun& run : {run_of(hetero, net), hypothetical(run_of(hetero, net)), at_clock(net, 2),
                            without_techniques(net), going_sooner(run_of(hetero, net))})
    CHECK(names.insert(name_of(run)).second);
}

TEST_CASE("hetero_pim: a steady step is what more of them take, without the profiled one") {
  const Plan on_cpu = read_plan(scenario_of(run_of(cpu, net_of("dcgan")), "paper"), "dcgan");
  const SteadyStep alone = steady_step(on_cpu);
  CHECK(alone.time.value() == Approx(train(on_cpu)[0].run.ends.front().value()));
  CHECK(alone.busy_of("cpu") == Approx(1));
  CHECK(alone.busy_of("pairs") == 0);
  const Plan hetero_plan = read_plan(scenario_of(run_of(hetero, net_of("dcgan")), "paper"), "dcgan");
  const SteadyStep step = steady_step(hetero_plan);
  const TrainingResult run = train(hetero_plan)[0];
  CHECK(step.time < alone.time);
  CHECK(step.energy < alone.energy);
  CHECK(step.busy_of("pairs") <= 1);
  const double placed = static_cast<double>(run.run.ends.size()) - 1;
  CHECK(step.time.value() ==
        Approx((run.run.ends.back() - run.run.ends.front()).value() / placed).epsilon(0.05));
  Plan few = hetero_plan;
  few.training[0].spec.steps = 5;
  CHECK_THROWS_WITH(steady_step(few), Catch::Contains("too few steps"));
}

TEST_CASE("hetero_pim: two nets at once take no less than each by itself, in matched times") {
  NetRun run = run_of(hetero, net_of("alexnet"));
  run.beside = "lstm";
  const TrainingJob job = job_of(run, "paper");
  const MatchedPair pair = matched_pair(job);
  CHECK(pair.beside.value() == Approx(pair.first.value()).epsilon(0.1));
  CHECK(pair.together >= std::max(pair.first, pair.beside) * (1 - 1e-9));
  CHECK(pair.together < pair.first + pair.beside);
  CHECK(pair.beside_steps == 2.5);
  const TrainingRun alone = TrainingStep(job.graph, job.machine, job.spec.runtime, 3).play();
  CHECK(pair.first.value() == Approx((alone.ends[2] - alone.ends[0]).value()));
  CHECK(name_of(run) != name_of(run_of(hetero, net_of("alexnet"))));
}
