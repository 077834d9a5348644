// Rows of the validation study for the bank model: the spans of DRAMsim3's cases, and with the reference also
// every request of those whose requests it has.
#include <fmt/format.h>

#include "sim/app/memory/trace_csv.h"
#include "sim/studies/validation/dram_cases.h"
#include "sim/studies/validation/measured.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

struct Compared {
  std::int64_t requests = 0, different = 0;
};

// Requests whose accept, complete or data_end is another than in the case's file.
Compared compare(const std::filesystem::path& file, const ChannelRun& run) {
  const Table table = Table::read(file);
  Compared result{static_cast<std::int64_t>(table.rows()), 0};
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const ServedRequest& served = run.requests.at(i);
    result.different += table.integer(i, "accept") != served.accept ||
                        table.integer(i, "complete") != served.complete ||
                        table.integer(i, "data_end") != served.data_end;
  }
  return result;
}

// The case whose requests this one has, without refresh or with two commands a cycle.
std::string base_name(const DramCase& one) {
  for (const std::string end : {"_noref", "_dualcmd"})
    if (one.name.ends_with(end)) return one.name.substr(0, one.name.size() - end.size());
  return one.name;
}

ReproducedRow span_row(const DramCase& one, const DramPattern& pattern, Cycles span, std::string note) {
  ReproducedRow row;
  row.id = "dram_" + one.name;
  row.metric = "span, clocks";
  row.paper = static_cast<double>(one.span);
  row.simulated = static_cast<double>(span);
  row.accept_min = *row.paper * (1 - pattern.percent / 100);
  row.accept_max = *row.paper * (1 + pattern.percent / 100);
  row.note =
      fmt::format("DRAMsim3's {}: {:+.2f} %{}", one.config, 100 * (*row.simulated / *row.paper - 1), note);
  return row;
}

ReproducedRow requests_row(const char* id, const Compared& sum) {
  ReproducedRow row;
  row.id = id;
  row.metric = "requests served at another time than by DRAMsim3";
  row.paper = 0;
  row.simulated = static_cast<double>(sum.different);
  row.note = fmt::format("of {}: accept, complete and end of data to the clock", sum.requests);
  return row;
}

}  // namespace

void add_dram(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  const bool reference = options.reference && std::filesystem::is_directory(*options.reference / "dram");
  Compared micro, all;
  for (const DramCase& one : reference ? reference_dram_cases(*options.reference) : shipped_dram_cases()) {
    const DramSetup setup = dram_setup(one.config);
    const DramPattern& pattern = dram_pattern(one.name);
    const std::filesystem::path cases =
        reference ? *options.reference / "dram" / "cases" : std::filesystem::path();
    const bool recorded = reference && std::filesystem::exists(cases / (base_name(one) + ".csv"));
    const std::vector<MemoryRequest> requests =
        recorded ? read_memory_trace(cases / (base_name(one) + ".csv"), setup.memory)
                 : pattern.requests(setup.memory);
    const ChannelRun run = play(setup.memory, requests, {.refresh = setup.refresh});
    const bool random = pattern.name.starts_with("random") || pattern.name == "row16K";
    rows.push_back(
        span_row(one, pattern, run.span(), random && !recorded ? "; with other random numbers" : ""));
    if (!recorded || base_name(one) != one.name) continue;
    const Compared compared = compare(cases / (one.name + ".csv"), run);
    for (Compared* sum : pattern.percent == 0 ? std::vector{&micro, &all} : std::vector{&all}) {
      sum->requests += compared.requests;
      sum->different += compared.different;
    }
  }
  if (!reference) return;
  rows.push_back(requests_row("dram_requests_micro", micro));
  rows.back().accept_max = 0;
  rows.push_back(requests_row("dram_requests_all", all));
}

}  // namespace weir
