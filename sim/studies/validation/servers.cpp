// Servers in closed loops beside their simulation, a row a cell: one model, GPU, engine, number format and
// layout. With --reference every measured row, otherwise the shipped ones.
#include <fmt/format.h>

#include <algorithm>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/case_runner.h"
#include "sim/studies/validation/cell_errors.h"
#include "sim/studies/validation/closed_loops.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

// A figure of a server that is compared.
struct ServerFigure {
  const char *id, *of;
  double (*measured)(const MeasuredServer&);
  double (*simulated)(const MeasuredServer&, const CaseResult&);
  bool (*judged)(const MeasuredServer&);
  bool waits;  // it has the wait for a first token in it
};

// Output tokens a second of a closed loop whose requests take these means, by Little's law.
double throughput(const MeasuredServer& s, double ttft_ms, double tpot_ms) {
  const double output = (1 + s.load.shortest) / 2 * static_cast<double>(s.output_tokens);
  return 1e3 * static_cast<double>(s.concurrency) * output / (ttft_ms + (output - 1) * tpot_ms);
}

constexpr ServerFigure server_figures[] = {
    {"tpot", "mean TPOT", [](const MeasuredServer& s) { return s.tpot_ms; },
     [](const MeasuredServer&, const CaseResult& r) { return r.tpot_mean_ms; },
     [](const MeasuredServer&) { return true; }, false},
    {"ttft", "mean TTFT", [](const MeasuredServer& s) { return s.ttft_ms; },
     [](const MeasuredServer&, const CaseResult& r) { return r.ttft_mean_ms; },
     [](const MeasuredServer& s) { return s.judges_ttft; }, true},
    {"throughput", "output tokens/s (by Little's law)",
     [](const MeasuredServer& s) { return throughput(s, s.ttft_ms, s.tpot_ms); },
     [](const MeasuredServer& s, const CaseResult& r) {
       return throughput(s, r.ttft_mean_ms, r.tpot_mean_ms);
     },
     [](const MeasuredServer& s) { return s.judges_throughput; }, true},
};

// The simulated scenarios, a line a server: to play one of them again, and to fit what engines cost
// (docs/calibration/engine_hosts.py).
void write_scenarios(const std::filesystem::path& path, const std::vector<MeasuredServer>& servers,
                     const std::vector<Case>& cases) {
  OutputFile file(path);
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const MeasuredServer& s = servers[i];
    file.text(Json{{"group", s.group()},
                   {"engine", s.engine},
                   {"model", s.model},
                   {"ttft_ms", s.ttft_ms},
                   {"tpot_ms", s.tpot_ms},
                   {"held_up", s.held_up},
                   {"scenario", cases[i].scenario}}
                  .dump() +
              "\n");
  }
  file.close();
}

void write_points(const std::filesystem::path& path, const std::vector<MeasuredServer>& servers,
                  const std::vector<CaseResult>& results) {
  OutputFile points(path);
  points.text("device,engine,model,weights,tensor,input_tokens,output_tokens,concurrency");
  for (const char* what : {"ttft_ms", "tpot_ms", "output_throughput"})
    points.print(",measured_{0},simulated_{0}", what);
  points.text(",failure\n");
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const MeasuredServer& s = servers[i];
    const CaseResult& r = results[i];
    const auto simulated = [&](double value, int digits) {
      return r.error.empty() ? fmt::format("{:.{}f}", value, digits) : "";
    };
    points.print("{},{},{},{},{},{},{},{},{:.3f},{},{:.4f},{},{:.2f},{},{}\n", s.device, s.engine, s.model,
                 s.weights, s.tensor, s.input_tokens, s.output_tokens, s.concurrency, s.ttft_ms,
                 simulated(r.ttft_mean_ms, 3), s.tpot_ms, simulated(r.tpot_mean_ms, 4),
                 throughput(s, s.ttft_ms, s.tpot_ms),
                 simulated(throughput(s, r.ttft_mean_ms, r.tpot_mean_ms), 2), csv_text(r.error));
  }
  points.close();
}

ReproducedRow row_of(const std::string& set, const ServerFigure& what, const std::string& group,
                     const MeanError& error, bool sample) {
  ReproducedRow row;
  row.id = fmt::format("{}_{}_{}", set, what.id, group);
  row.metric =
      fmt::format("mean |error| of {}, %, of {} (bias {:+.1f} %)", what.of, error.count, error.bias());
  row.simulated = error.mean();
  row.note = error.note(sample);
  return row;
}

// The project promises this of all measured dense servers, and of those of large models and of Blackwell:
// whole ones, and those with prompts apart, whose TTFT hangs on how full they are (docs/accuracy.md).
std::optional<double> bound(const std::string& set, const std::string& what, const std::string& group) {
  static const std::map<std::string, double> bounds = {
      {"servers_tpot_all", 5},          {"servers_ttft_all", 20},    {"frontier_tpot_aggregated", 13},
      {"frontier_ttft_aggregated", 30}, {"frontier_tpot_cells", 15}, {"frontier_tpot_apart", 20},
      {"frontier_throughput_apart", 25}};
  const auto found = bounds.find(fmt::format("{}_{}_{}", set, what, group));
  return found != bounds.end() ? std::optional(found->second) : std::nullopt;
}

struct Simulated {
  std::vector<SimulatedServer> servers;
  CellErrors errors;
};

// A cell with servers that could not be played: of the survivors alone its error would be another figure.
void tell_failures(const std::string& set, const std::vector<SimulatedServer>& servers,
                   const std::vector<std::vector<std::string>>& groups, std::vector<ReproducedRow>& rows) {
  std::map<std::string, std::pair<int, std::string>> failed;
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (!servers[i].failure.empty())
      for (const std::string& group : groups[i]) {
        auto& [count, why] = failed[group];
        if (++count == 1) why = servers[i].failure;
      }
  for (const auto& [group, failures] : failed) {
    ReproducedRow row;
    row.id = fmt::format("{}_failed_{}", set, group);
    row.metric = "servers that could not be played";
    row.note = fmt::format("{} failed: {}", failures.first, failures.second);
    for (ReproducedRow& other : rows)
      for (const ServerFigure& what : server_figures)
        if (other.id == fmt::format("{}_{}_{}", set, what.id, group)) other.simulated = {};
    rows.push_back(row);
  }
}

// A server, and what its errors are means of.
struct GroupedServer {
  MeasuredServer measured;
  std::vector<std::string> groups;

  std::vector<std::string> groups_of(const ServerFigure& what) const {
    return measured.held_up && what.waits ? std::vector<std::string>{"held_up"} : groups;
  }
};

std::vector<GroupedServer> grouped(const std::string& set, const std::vector<MeasuredServer>& servers,
                                   bool calibrated) {
  std::vector<GroupedServer> all;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    all.push_back({servers[i], {"all", servers[i].group()}});
    if (set == "frontier") all.back().groups.emplace_back(servers[i].pools.empty() ? "aggregated" : "apart");
    if (calibrated && i % 2 == 1) all.back().groups.emplace_back("odd_rows");  // the even ones calibrate
  }
  return all;
}

// Some row that is asked for has the server in it.
bool is_asked(const ReproduceOptions& options, const std::string& set, const GroupedServer& server) {
  const auto wanted = [&](const std::string& what, const std::vector<std::string>& groups) {
    return std::ranges::any_of(
        groups, [&](const std::string& group) { return options.wants(set + "_" + what + "_" + group); });
  };
  return wanted("failed", server.groups) || options.wants(set + "_tpot_cells") ||
         std::ranges::any_of(server_figures, [&](const ServerFigure& what) {
           return what.judged(server.measured) && wanted(what.id, server.groups_of(what));
         });
}

Simulated simulate(const ReproduceOptions& options, const std::string& set,
                   const std::vector<MeasuredServer>& measured, std::vector<ReproducedRow>& rows) {
  std::vector<GroupedServer> of = grouped(set, measured, options.reference.has_value());
  std::erase_if(of, [&](const GroupedServer& server) { return !is_asked(options, set, server); });
  std::vector<MeasuredServer> servers;
  std::vector<std::vector<std::string>> groups;
  std::vector<Case> cases;
  for (const GroupedServer& server : of) {
    const MeasuredServer& s = servers.emplace_back(server.measured);
    groups.push_back(server.groups);
    cases.push_back({fmt::format("{} {}+{} x{}", s.group(), s.input_tokens, s.output_tokens, s.concurrency),
                     server_scenario(s)});
  }
  write_scenarios(options.files / (set + ".jsonl"), servers, cases);
  const std::vector<CaseResult> results = run_cases(cases, options);
  write_points(options.files / (set + ".csv"), servers, results);
  CellErrors errors;
  std::vector<SimulatedServer> all;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    all.push_back({servers[i], cases[i].scenario, results[i].error});
    if (!results[i].error.empty()) continue;
    for (const ServerFigure& what : server_figures)
      if (what.judged(servers[i]))
        for (const std::string& group : of[i].groups_of(what))
          errors[what.id][group].add(what.simulated(servers[i], results[i]), what.measured(servers[i]));
  }
  for (const ServerFigure& what : server_figures)
    for (const auto& [group, error] : errors[what.id]) {
      rows.push_back(row_of(set, what, group, error, !options.reference));
      if (options.reference) rows.back().accept_max = bound(set, what.id, group);
    }
  tell_failures(set, all, groups, rows);
  return {std::move(all), std::move(errors)};
}

void add_missing_seats(const std::vector<MeasuredServer>& servers, std::vector<ReproducedRow>& rows) {
  for (const auto& [group, missing] : missing_seats(servers)) {
    ReproducedRow row;
    row.id = "servers_seats_missing_" + group;
    row.metric =
        fmt::format("seats less than clients, as measured TTFT tells ({} pairs of rows)", missing.pairs);
    row.simulated = missing.missing;
    rows.push_back(row);
  }
}

}  // namespace

void add_servers(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  std::vector<MeasuredServer> dense =
      options.reference ? reference_servers(*options.reference) : shipped_servers();
  mark_held_up(dense);
  if (options.reference) add_missing_seats(dense, rows);
  Simulated all = simulate(options, "servers", dense, rows);
  if (options.reference) {
    std::map<std::string, int> left_out;
    Simulated more = simulate(options, "frontier", frontier_servers(*options.reference, left_out), rows);
    rows.push_back(mean_of_cells(more.servers, more.errors));
    rows.back().accept_max = bound("frontier", "tpot", "cells");
    for (const auto& [why, count] : left_out) {
      ReproducedRow row;
      row.id = "frontier_left_out_" + why;
      row.metric = "rows that are not simulated";
      row.simulated = count;
      rows.push_back(row);
    }
    all.servers.insert(all.servers.end(), more.servers.begin(), more.servers.end());
    for (auto& [what, groups] : more.errors) all.errors[what].merge(groups);
  }
  if (options.only.empty())  // else some cells lack servers
    write_file(options.files / "cells.json", cells_of(all.servers, all.errors).dump(2) + "\n");
}

}  // namespace weir
