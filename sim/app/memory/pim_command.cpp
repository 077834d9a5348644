// weir pim: what one request's GEMVs take on the PIM of one channel, for people who only need that.
#include <fmt/format.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "models/memory/memory_row.h"
#include "models/memory/pim/beside.h"
#include "sim/app/command_line.h"
#include "sim/app/progress_bar.h"
#include "sim/app/shell/arguments.h"
#include "sim/app/wrap.h"
#include "sim/core/errors.h"

namespace weir {
namespace {

struct PimArguments {
  std::string kind, op, row_buffers = "dual", timing = "physical";
  PimRequest request;
  bool no_refresh = false, reads = false;
};

MemorySpec find_pim(const std::string& kind) {
  MemorySpec memory = read_memory(kind);
  if (memory.pim) return memory;
  std::string known;
  for (const std::string& name : memory_names())
    if (find_memory(name).pim) known += (known.empty() ? "" : ", ") + name;
  throw ConfigError("pim", "", fmt::format("\"{}\" has no PIM (known: {})", kind, known));
}

// Where no bar is drawn: a line now and then, so that a long run is not taken for one that hangs.
class ProgressLines {
 public:
  void show(double share, const char* what) {
    const auto now = std::chrono::steady_clock::now();
    if (is_terminal(STDERR_FILENO) || now - last_ < between || share <= 0) return;
    last_ = now;
    const double wall_s = std::chrono::duration<double>(now - started_).count();
    fmt::print(stderr, "{:.2g} % {}, {:.2g} min left\n", 100 * share, what, wall_s * (1 / share - 1) / 60);
  }

 private:
  static constexpr std::chrono::seconds between{5};
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = started_;
};

// Reads and what became of them are held in memory: some four gigabytes of them.
void check_reads(const MemorySpec& memory, const PimRun& run) {
  constexpr Cycles most_reads = 40'000'000;
  if (run.cycles / memory.timings.burst > most_reads)
    throw ConfigError("weir pim", "--reads",
                      fmt::format("expected a PIM of at most {} cycles beside reads, got {}",
                                  most_reads * memory.timings.burst, run.cycles));
}

int pim(const PimArguments& a) {
  const MemorySpec memory = find_pim(a.kind);
  PimRequest request = a.request;
  request.op = a.op == "logit" ? PimOp::logit : a.op == "attend" ? PimOp::attend : PimOp::both;
  PimOptions options;
  options.timing = a.timing == "artifact" ? PimTiming::artifact : PimTiming::physical;
  options.buffers = a.row_buffers == "single" ? RowBuffers::single : RowBuffers::dual;
  options.refresh = !a.no_refresh;
  if (const std::string why = cannot_play(memory, request, options); !why.empty())
    throw ConfigError(a.kind, "", why);
  std::optional<ProgressBar> bar(true);
  ProgressLines lines;
  options.progress = [&](double share) {
    bar->show(share, "of the tiles played");
    lines.show(share, "of the tiles played");
  };
  const PimRun run = play_pim(memory, std::vector<PimRequest>{request}, options);
  const PimEnergy e = pim_energy(memory, run);
  std::optional<PimBesideReads> beside;
  if (a.reads) {
    check_reads(memory, run);
    options.progress = [&](double share) {
      bar->show(share, "of the tiles played beside reads");
      lines.show(share, "of the tiles played beside reads");
    };
    beside = play_pim_beside_reads(memory, gemv_chunks(memory, request), options);
  }
  bar.reset();  // it stands where the answer goes
  if (beside)
    fmt::print("{{\"cycles\": {}, \"cycles_with_reads\": {}, \"reads_kept\": {:.4f}}}\n", run.cycles,
               beside->cycles, beside->reads_kept());
  else
    fmt::print("{{\"cycles\": {}}}\n", run.cycles);
  fmt::print(stderr, "{} ({}), {} row buffers, {} timing\n", memory.name, memory.title, a.row_buffers,
             a.timing);
  fmt::print(stderr, "  Time       {:.4g} us\n",
             static_cast<double>(run.cycles) * memory.clock.value() * 1e6);
  fmt::print(stderr, "  Commands   {} tiles, {} GWRITEs, {} COMPs, {} refreshes\n",
             run.count(DramCommand::header), run.count(DramCommand::gwrite), run.comps,
             run.count(DramCommand::refresh));
  fmt::print(
      stderr,
      "  Energy     {:.4g} uJ: rows {:.4g}, COMPs {:.4g}, GWRITEs {:.4g}, results {:.4g}, refresh {:.4g}\n",
      e.total().value() * 1e6, e.group_activate.value() * 1e6, e.comp.value() * 1e6, e.gwrite.value() * 1e6,
      e.result.value() * 1e6, e.refresh.value() * 1e6);
  if (beside)
    fmt::print(stderr, "  With reads {} cycles ({:+.1f} %), {} reads: {:.1f} % of those without a PIM\n",
               beside->cycles, 100 * (beside->pim_slowdown() - 1), beside->reads, 100 * beside->reads_kept());
  return exit_done;
}

}  // namespace

std::vector<std::string> pim_values(const std::string& argument, const std::vector<std::string>&) {
  if (argument != "KIND") return {};
  std::vector<std::string> names = memory_names();
  std::erase_if(names, [](const std::string& name) { return !find_memory(name).pim; });
  return names;
}

std::function<int()> declare_pim(CLI::App& app) {
  const auto a = std::make_shared<PimArguments>();
  app.add_option("KIND", a->kind,
                 "a memory with PIM of `weir list memories`, hbm2_neupims, or the path of such a JSON file")
      ->required();
  app.add_option("--op", a->op, "logit (K q), attend (V s), or both: one after the other")
      ->required()
      ->check(CLI::IsMember({"logit", "attend", "both"}));
  // The bounds keep a typing error from running for minutes.
  app.add_option("--length", a->request.length, "tokens in the request's context")
      ->required()
      ->check(whole_number(1, 1 << 22));
  app.add_option("--heads", a->request.heads, "query heads on the channel's device")
      ->required()
      ->check(whole_number(1, 1024));
  app.add_option("--head-dim", a->request.head_dim, "elements of a head")
      ->required()
      ->check(whole_number(1, 4096));
  app.add_option("--row-buffers", a->row_buffers, "dual, or single: normal and PIM rows exclude each other")
      ->check(CLI::IsMember({"dual", "single"}))
      ->capture_default_str();
  app.add_option("--timing", a->timing, "physical, or artifact: as the NeuPIMs authors' simulator")
      ->check(CLI::IsMember({"artifact", "physical"}))
      ->capture_default_str();
  app.add_flag(
      "--reads", a->reads,
      "a full stream of reads beside it as well: the cycles then, and what the reads keep of theirs");
  app.add_flag("--no-refresh", a->no_refresh, "leave refresh out");
  return [a] { return pim(*a); };
}

}  // namespace weir
