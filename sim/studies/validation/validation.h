#pragma once
// The parts of the validation study, one a file. Each adds its rows; those that need --reference add none
// without it. The servers and the kernels leave their points in servers.csv and kernels.csv, which the
// figures are drawn of.
#include "sim/app/reproduce/reproduce.h"

namespace weir {

void add_servers(const ReproduceOptions& options,
                 std::vector<ReproducedRow>& rows);  // servers in closed loops, a row a cell
void add_kernels(const ReproduceOptions& options,
                 std::vector<ReproducedRow>& rows);  // analytic kernels against measured ones
void add_traces(const ReproduceOptions& options,
                std::vector<ReproducedRow>& rows);  // real vLLM runs, by request
void add_distserve(const ReproduceOptions& options,
                   std::vector<ReproducedRow>& rows);  // early vLLM and DistServe, by request
void add_power(const ReproduceOptions& options, std::vector<ReproducedRow>& rows);  // watts of servers
void add_sessions(const ReproduceOptions& options,
                  std::vector<ReproducedRow>& rows);  // recorded agents, replayed
void add_peers(const ReproduceOptions& options, std::vector<ReproducedRow>& rows);  // Vidur's runs
void add_wide_ep(const ReproduceOptions& options,
                 std::vector<ReproducedRow>& rows);  // experts over many nodes, as published
void add_dram(const ReproduceOptions& options, std::vector<ReproducedRow>& rows);  // DRAMsim3's cases
void add_pim(const ReproduceOptions& options, std::vector<ReproducedRow>& rows);   // NewtonSim's cases
void add_pim_beside(const std::filesystem::path& dram,
                    std::vector<ReproducedRow>& rows);  // reads beside it; empty: shipped cases

// The study: all of these.
std::vector<std::string> validation_ids();
std::vector<ReproducedRow> reproduce_validation(const ReproduceOptions& options);
void draw_validation(ResultDirectory& directory, const std::vector<ReproducedRow>& rows);

}  // namespace weir
