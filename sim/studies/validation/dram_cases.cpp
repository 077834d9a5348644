#include "sim/studies/validation/dram_cases.h"

#include <map>
#include <random>
#include <stdexcept>

#include "models/memory/address_mapping.h"
#include "sim/studies/validation/measured.h"

namespace weir {
namespace {

using Requests = std::vector<MemoryRequest>;

// Reads of the i-th place of `where`, n of them, one every `interval` cycles.
template <class Where>
Requests reads(const MemorySpec& memory, int n, Where where, Cycles interval = 0) {
  const AddressMapping mapping(memory);
  Requests all;
  for (int i = 0; i < n; ++i) all.push_back({i * interval, mapping.address(where(i)), false});
  return all;
}

DramLocation of_bank(int rank, int bank_group, int bank) {
  return {rank, bank_group, bank, 0, 0};
}

Requests single(const MemorySpec& m) {
  return reads(m, 1, [](int) { return DramLocation(); });
}
Requests row_hits(const MemorySpec& m) {
  return reads(m, 2, [](int i) { return DramLocation{.row = 0, .column = i}; });
}
Requests rows_of_a_bank(const MemorySpec& m, int n) {
  return reads(m, n, [](int i) { return DramLocation{.row = i, .column = 0}; });
}
Requests conflict2(const MemorySpec& m) {
  return rows_of_a_bank(m, 2);
}
Requests conflict256(const MemorySpec& m) {
  return rows_of_a_bank(m, 256);
}
Requests one_group(const MemorySpec& m) {
  return reads(m, 4, [](int i) { return of_bank(0, 0, i); });
}
// One access a row, bank groups fastest, then banks, then rows.
Requests rotation(const MemorySpec& m, int n) {
  const int groups = m.organisation.bank_groups, banks = m.organisation.banks_per_rank();
  return reads(m, n, [=](int i) {
    DramLocation at = of_bank(0, i % groups, i % banks / groups);
    at.row = i / banks;
    return at;
  });
}
Requests rotation4(const MemorySpec& m) {
  return rotation(m, 4);
}
Requests rotation8(const MemorySpec& m) {
  return rotation(m, 8);
}
Requests rotation1024(const MemorySpec& m) {
  return rotation(m, 1024);
}
Requests rank_switches(const MemorySpec& m) {
  return reads(m, 8, [](int i) { return DramLocation{.rank = i % 2, .row = 0, .column = i / 2}; });
}

Requests stream(const MemorySpec& m, std::uint64_t bytes, Cycles interval = 0) {
  const auto step = static_cast<std::uint64_t>(m.organisation.access_bytes);
  Requests all;
  for (std::uint64_t i = 0; i < bytes / step; ++i)
    all.push_back({static_cast<Cycles>(i) * interval, i * step, false});
  return all;
}
Requests stream64k(const MemorySpec& m) {
  return stream(m, 64 << 10);
}
Requests stream4m(const MemorySpec& m) {
  return stream(m, 4 << 20);
}
Requests paced(const MemorySpec& m) {
  return stream(m, 256 << 10, 2 * m.timings.burst);
}

Requests random_reads(const MemorySpec& m, int n, Cycles interval) {
  const auto step = static_cast<std::uint64_t>(m.organisation.access_bytes);
  std::mt19937_64 random(1);
  Requests all;
  for (int i = 0; i < n; ++i)
    all.push_back({i * interval,
                   random() % static_cast<std::uint64_t>(m.organisation.capacity()) / step * step, false});
  return all;
}
Requests random4096(const MemorySpec& m) {
  return random_reads(m, 4096, 0);
}
Requests random_light(const MemorySpec& m) {
  return random_reads(m, 1024, 200);
}

// Two streams are read and one is written, a hundred rows apart.
Requests triad(const MemorySpec& m) {
  const std::uint64_t apart = AddressMapping(m).address({.row = 100, .column = 0});
  const auto step = static_cast<std::uint64_t>(m.organisation.access_bytes);
  Requests all;
  for (std::uint64_t i = 0; i < 3072; ++i) all.push_back({0, i % 3 * apart + i / 3 * step, i % 3 == 2});
  return all;
}

// 100 neuron rows of 10,240 bytes (OPT-13B, 16 bits) at random multiples of 1 KB.
Requests neuron_rows(const MemorySpec& m) {
  const auto step = static_cast<std::uint64_t>(m.organisation.access_bytes), bytes = std::uint64_t{10240};
  const auto places = (static_cast<std::uint64_t>(m.organisation.capacity()) - bytes) / 1024;
  std::mt19937_64 random(1);
  Requests all;
  for (int row = 0; row < 100; ++row) {
    const std::uint64_t from = random() % places * 1024;
    for (std::uint64_t at = 0; at < bytes; at += step) all.push_back({0, from + at, false});
  }
  return all;
}

std::vector<DramCase> cases_in(const Table& table) {
  std::vector<DramCase> cases;
  for (std::size_t i = 0; i < table.rows(); ++i)
    cases.push_back({table.text(i, "case"), table.text(i, "config"), table.integer(i, "span_cycles")});
  return cases;
}

}  // namespace

std::vector<DramCase> shipped_dram_cases() {
  std::vector<DramCase> cases;
  const Json table = shipped_table("dram_spans");
  for (const auto& [config, spans] : table.at("spans").items())
    for (const auto& [name, span] : spans.items()) cases.push_back({name, config, span.get<Cycles>()});
  return cases;
}

std::vector<DramCase> reference_dram_cases(const std::filesystem::path& reference) {
  std::vector<DramCase> cases;
  for (const char* file : {"dramsim3_cases.csv", "dramsim3_cases_rank.csv"})
    for (DramCase& one : cases_in(Table::read(reference / "dram" / file))) cases.push_back(std::move(one));
  return cases;
}

DramSetup dram_setup(const std::string& config) {
  static const std::map<std::string, std::string> kinds = {
      {"hbm2_neupims", "hbm2_neupims"}, {"ddr4_l3", "ddr4_3200_l3"}, {"ddr4_hermes", "ddr4_3200_hermes"}};
  const auto has = [&](const char* word) { return config.find(word) != std::string::npos; };
  for (const auto& [start, kind] : kinds) {
    if (!config.starts_with(start)) continue;
    DramSetup setup{find_memory(kind), !has("_noref")};
    if (has("_1rank")) setup.memory.organisation.ranks = 1;
    if (has("_colmaj")) setup.memory.mapping = find_memory("ddr4_3200_l3_colmaj").mapping;
    setup.memory.controller.two_commands = has("_dualcmd");
    if (has("_released")) {  // the NeuPIMs artifact's: 16 banks, 2 KB rows
      setup.memory.organisation.bank_groups = 4;
      setup.memory.organisation.row_bytes = 2048;
    }
    return setup;
  }
  throw std::out_of_range("no DRAM config " + config);
}

const DramPattern& dram_pattern(const std::string& case_name) {
  static const std::vector<DramPattern> patterns = {
      {"01_single", 0, single},
      {"02_rowhit2", 0, row_hits},
      {"03_conflict2", 0, conflict2},
      {"04_bank_diffbg", 0, rotation4},
      {"05_bank_samebg", 0, one_group},
      {"06_faw8", 0, rotation8},
      {"07_rankswitch", 0, rank_switches},
      {"seq64KB", 3, stream64k},
      {"seq4MB", 3, stream4m},
      {"random4096", 8, random4096},
      {"random_light", 8, random_light},
      {"samebank_conflict256", 3, conflict256},
      {"rowmiss_rotate1024", 3, rotation1024},
      {"triad3072", 8, triad},
      {"seq_paced", 3, paced},
      {"row16K", 8, neuron_rows},
  };
  for (const DramPattern& pattern : patterns)
    if (case_name.find(pattern.name) != std::string::npos) return pattern;
  throw std::out_of_range("no DRAM pattern for case " + case_name);
}

}  // namespace weir
