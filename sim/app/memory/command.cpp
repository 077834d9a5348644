// weir memory: the bank model of one channel by itself, for people who only need that.
#include <CLI/CLI.hpp>
#include <optional>

#include "models/memory/dram/energy.h"
#include "models/memory/memory_row.h"
#include "sim/app/command_line.h"
#include "sim/app/interruption.h"
#include "sim/app/memory/dramsim3.h"
#include "sim/app/memory/trace_csv.h"
#include "sim/app/output/place/result_file.h"

namespace weir {
namespace {

struct MemoryArguments {
  std::string kind, trace;
  std::optional<std::string> out;
  bool no_refresh = false;
};

template <class Line>
void each_row(const std::vector<MemoryRequest>& requests, const ChannelRun& run, fmt::memory_buffer& buffer,
              Line done) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    append_row(buffer, requests[i], run.requests[i]);
    done();
  }
}

ResultFile rows_of(const MemoryArguments& a) {
  return {*a.out,
          "rows of weir memory",
          [](const std::filesystem::path& file) {
            return beginning_of(file, served_header.size()) == served_header;
          },
          {a.trace, a.kind}};
}

void write_rows(const std::vector<MemoryRequest>& requests, const ChannelRun& run, const MemoryArguments& a) {
  if (a.out) {
    const Interruption interruption;
    const ResultFile rows = rows_of(a);
    const auto lock = rows.lock();
    return rows.write([&](OutputFile& file) {
      file.text(served_header);
      each_row(requests, run, file.buffer(), [&] { file.line_done(); });
    });
  }
  fmt::memory_buffer buffer;
  buffer.append(served_header);
  const auto flush = [&] {
    std::fwrite(buffer.data(), 1, buffer.size(), stdout);
    buffer.clear();
  };
  each_row(requests, run, buffer, [&] {
    buffer.push_back('\n');
    if (buffer.size() > 1 << 16) flush();
  });
  flush();
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void print_summary(const MemorySpec& memory, const ChannelRun& run) {
  const Seconds span(static_cast<double>(run.span()) * memory.clock.value());
  const Bytes moved(static_cast<double>(run.accesses() * memory.organisation.access_bytes));
  const BytesPerSecond rate = moved / span;
  const ChannelEnergy e = energy(memory, run);
  fmt::print(stderr, "{} ({})\n", memory.name, memory.title);
  fmt::print(stderr, "  Requests   {}, {} of them served by a waiting one\n", run.requests.size(),
             run.merged);
  fmt::print(stderr, "  Span       {} cycles from the first accept to the last data, {:.4g} us\n", run.span(),
             span.value() * 1e6);
  fmt::print(stderr, "  Bandwidth  {:.4g} GB/s, {:.1f} % of {:.4g} GB/s\n", rate.value() / 1e9,
             100 * (rate / memory.peak()), memory.peak().value() / 1e9);
  fmt::print(stderr, "  Rows       {:.1f} % hits, {} activations, {} refreshes\n",
             share(run.row_hits, run.accesses()), run.count(DramCommand::activate),
             run.count(DramCommand::refresh));
  fmt::print(stderr,
             "  Energy     {:.4g} uJ: rows {:.4g}, reads {:.4g}, writes {:.4g}, refresh {:.4g}, "
             "standby {:.4g}; {:.4g} pJ/bit\n",
             e.total().value() * 1e6, e.activate.value() * 1e6, e.read.value() * 1e6, e.write.value() * 1e6,
             e.refresh.value() * 1e6, e.standby.value() * 1e6,
             e.total().value() * 1e12 / (8 * moved.value()));
}

int memory(const MemoryArguments& a) {
  const MemorySpec spec = is_dramsim3(a.kind) ? read_dramsim3(a.kind) : read_memory(a.kind);
  if (a.out) rows_of(a).check();
  const std::vector<MemoryRequest> requests = read_memory_trace(a.trace, spec);
  const ChannelRun run = play(spec, requests, {.refresh = !a.no_refresh});
  write_rows(requests, run, a);
  std::fflush(stdout);
  print_summary(spec, run);
  return exit_done;
}

}  // namespace

std::vector<std::string> memory_values(const std::string& argument, const std::vector<std::string>&) {
  return argument == "KIND" ? memory_names() : std::vector<std::string>();
}

std::function<int()> declare_memory(CLI::App& app) {
  const auto a = std::make_shared<MemoryArguments>();
  app.add_option("KIND", a->kind,
                 "a memory of `weir list memories`, or the path of such a JSON file or of a DRAMsim3 .ini")
      ->required();
  app.add_option(
         "TRACE", a->trace,
         "CSV of one channel's requests: columns arrival (cycle), op (R or W), addr_hex; or a trace of "
         "DRAMsim3 (address, READ or WRITE, cycle) or Ramulator (LD or ST and address, no cycles)")
      ->required()
      ->type_name("FILE");
  app.add_option("--out", a->out, "write the rows with accept, complete and data_end there, not to stdout")
      ->type_name("FILE");
  app.add_flag("--no-refresh", a->no_refresh, "leave refresh out");
  return [a] { return memory(*a); };
}

}  // namespace weir
