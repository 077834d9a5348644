#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <sstream>

#include "models/memory/memory_checks.h"
#include "models/memory/memory_row.h"

namespace weir {

extern const EmbeddedFiles memory_catalog;

namespace {

constexpr Range<std::int64_t> cycles{0, 10'000};  // 1.5 us at the clock of DDR5, refresh has its own

const Choices<PagePolicy> page_policies = {{"open", PagePolicy::open}, {"closed", PagePolicy::closed}};

std::int64_t power_of_two(Params& params, Key key, std::int64_t max) {
  const std::int64_t value = params.integer(key, {1, max});
  if (!std::has_single_bit(static_cast<std::uint64_t>(value)))
    params.fail(key.name,
                fmt::format("expected a power of two (got {}): addresses are fields of bits", value));
  return value;
}

// "row rank bank_group bank column", each once, most significant first.
std::array<AddressField, 5> read_mapping(Params& params) {
  const std::vector<std::string> names = {"row", "rank", "bank_group", "bank", "column"};
  std::array<AddressField, 5> fields{};
  std::array<bool, 5> seen{};
  std::istringstream words(
      params.text({"address_mapping",
                   "Fields of an address, most significant first: row, rank, bank_group, bank, column."}));
  if (params.describing()) return fields;
  std::size_t count = 0;
  for (std::string word; words >> word; ++count) {
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), word) - names.begin());
    if (at == names.size() || count == fields.size() || seen[at]) {
      params.fail("address_mapping", no_such("field left", word, names));
      return fields;
    }
    seen[at] = true;
    fields[count] = static_cast<AddressField>(at);
  }
  if (count != fields.size())
    params.fail("address_mapping", "expected row, rank, bank_group, bank and column");
  return fields;
}

DramOrganisation read_organisation(Params& params) {
  DramOrganisation o;
  o.ranks = static_cast<int>(power_of_two(params, {"ranks", "Of the channel."}, 64));
  o.bank_groups = static_cast<int>(power_of_two(params, {"bank_groups", "Of a rank."}, 256));
  o.banks_per_group = static_cast<int>(power_of_two(params, {"banks_per_group", "Of a bank group."}, 64));
  o.rows = power_of_two(params, {"rows", "Of a bank; capacity is banks x rows x row_bytes."}, 1 << 24);
  o.row_bytes = power_of_two(params, {"row_bytes", "What an activation of a bank opens."}, 1 << 20);
  o.access_bytes =
      power_of_two(params, {"access_bytes", "What a column command moves, in burst_ck."}, 1 << 10);
  if (o.banks() > most_memory_banks)
    params.fail("banks_per_group", fmt::format("more than {} banks a channel", most_memory_banks));
  if (o.access_bytes > o.row_bytes)
    params.fail("access_bytes",
                fmt::format("expected at most row_bytes, {} (got {})", o.row_bytes, o.access_bytes));
  return o;
}

DramTimings read_timings(Params& params) {
  const auto ck = [&](const char* key, const char* help) { return params.integer({key, help}, cycles); };
  DramTimings t{};
  t.burst =
      params.integer({"burst_ck", "Of a column command on the data bus; it sets the peak."}, {1, cycles.max});
  t.cl = ck("cl_ck", "CL: from a read to its data.");
  t.cwl = ck("cwl_ck", "CWL: from a write to its data.");
  t.rcd_rd = ck("rcd_rd_ck", "tRCD: from an activation to a read.");
  t.rcd_wr = ck("rcd_wr_ck", "tRCD of a write.");
  t.rp = ck("rp_ck", "tRP: from a precharge to the next activation.");
  t.ras = ck("ras_ck", "tRAS: from an activation to its precharge.");
  t.rrd_s = ck("rrd_s_ck", "tRRD_S: between activations of two bank groups.");
  t.rrd_l = ck("rrd_l_ck", "tRRD_L: between activations in a bank group.");
  t.faw = ck("faw_ck", "tFAW: the window of four activations of a rank; of PIM's groups of banks, of one.");
  t.ccd_s = ck("ccd_s_ck", "tCCD_S: between column commands of two bank groups.");
  t.ccd_l = ck("ccd_l_ck", "tCCD_L: between column reads in a bank group.");
  t.ccd_wr_l = ck("ccd_wr_l_ck", "tCCD_L of writes.");
  t.wtr_s = ck("wtr_s_ck", "tWTR_S: from a write's data to a read of another bank group.");
  t.wtr_l = ck("wtr_l_ck", "tWTR_L: the same in a bank group.");
  t.wr = ck("wr_ck", "tWR: from a write's data to its precharge.");
  t.rtp = ck("rtp_ck", "tRTP: from a read to its precharge.");
  t.rtrs = ck("rtrs_ck", "tRTRS: the data bus from one rank to another.");
  t.ppd = ck("ppd_ck", "tPPD: between precharges of a rank.");
  t.refi = params.integer({"refi_ck", "tREFI: a rank is refreshed so often."}, {1, 100'000});
  t.rfc = ck("rfc_ck", "tRFC: what a refresh takes.");
  return t;
}

DramCurrents read_currents(Params& params) {
  const auto number = [&](const char* key, const char* help) { return params.number({key, help}, positive); };
  DramCurrents c{};
  c.vdd_v = number("vdd_v", "Supply.");
  c.idd0_ma = number("idd0_ma", "IDD0, activations and precharges, a device's.");
  c.idd2n_ma = number("idd2n_ma", "IDD2N, standby with all rows closed.");
  c.idd3n_ma = number("idd3n_ma", "IDD3N, standby with a row open.");
  c.idd4r_ma = number("idd4r_ma", "IDD4R, reads without a pause.");
  c.idd4w_ma = number("idd4w_ma", "IDD4W, writes without a pause.");
  c.idd5_ma = number("idd5_ma", "IDD5, refreshes without a pause.");
  c.devices = static_cast<int>(params.integer({"devices", "Chips that work together in a rank."}, {1, 64}));
  return c;
}

DramController read_controller(Params& params) {
  const auto entries = [&](const char* key, const char* help, std::int64_t min) {
    return static_cast<int>(params.integer({key, help}, {min, 4096}));
  };
  DramController c{};
  c.bank_queue = entries("bank_queue_entries", "Of the controller, for each bank.", 1);
  c.read_queue = entries("read_queue_entries", "Of the controller; reads wait to get in.", 1);
  c.write_queue = entries("write_queue_entries", "Of the controller; a full one is drained.", 1);
  c.row_hit_cap = entries("row_hit_cap", "Column commands before a waiting row may close this one.", 1);
  c.drain_above = entries("drain_above", "Idle banks drain writes when more of them wait.", 0);
  c.two_commands = params.flag({"two_commands_a_cycle", "A row and a column command in one cycle."});
  c.page = params.choice({"page", "After a column command: the row stays open, or the command closes it."},
                         page_policies, "open");
  c.unified_queue = params.flag(
      {"unified_queue", "Reads and writes wait in one queue, of read_queue_entries, and none is kept back."},
      false);
  return c;
}

PimSpec read_pim_keys(Params& params) {
  const auto whole = [&](const char* key, const char* help, std::int64_t max = cycles.max) {
    return params.integer({key, help}, {1, max});
  };
  const auto picojoules = [&](const char* key, const char* help) {
    return Joules(1e-12 * params.number({key, help}, positive));
  };
  PimSpec pim{};
  pim.ranks = static_cast<int>(
      power_of_two(params, {"pim_ranks", "Of the same banks: each has its own tFAW and refresh."}, 64));
  pim.bank_groups = static_cast<int>(power_of_two(params, {"pim_bank_groups", "Of a PIM rank."}, 256));
  pim.banks_per_group = static_cast<int>(
      power_of_two(params, {"pim_banks_per_group", "What PIM_ACTIVATION opens at a time."}, 64));
  pim.gwrite = whole("pim_gwrite_ck", "A row into the global buffer.");
  pim.comp = whole("pim_comp_ck", "PIM's clock: from one COMP of all banks to the next.");
  pim.comp_bytes = power_of_two(params, {"pim_comp_bytes", "What a bank multiplies in a COMP."}, 1 << 10);
  pim.element_bytes = power_of_two(params, {"pim_element_bytes", "Of an element."}, 8);
  pim.fill_comps =
      static_cast<int>(whole("pim_fill_comps", "A GEMV takes at least the time of so many.", 4096));
  pim.bank_queue = static_cast<int>(
      whole("pim_bank_queue_entries", "Of each bank, for normal accesses beside the PIM.", 4096));
  pim.group_activate =
      picojoules("pim_group_activate_pj", "Of an activation of a group, with its precharges.");
  pim.all_bank_comp = picojoules("pim_all_bank_comp_pj", "Of a COMP of all banks.");
  pim.gwrite_energy = picojoules("pim_gwrite_pj", "Of a GWRITE.");
  pim.result = picojoules("pim_result_pj", "Of a result.");
  return pim;
}

// The row's pim_* keys, which a plain memory has none of.
std::optional<PimSpec> read_pim(Params& params, const DramOrganisation& normal) {
  if (!params.has("pim_ranks") && !params.describing()) return {};
  const PimSpec pim = read_pim_keys(params);
  const int banks = pim.ranks * pim.bank_groups * pim.banks_per_group;
  if (banks != normal.banks())
    params.fail("pim_ranks",
                fmt::format("expected the {} banks of normal accesses, in PIM's ranks and groups "
                            "(got {}); `banks` changes both",
                            normal.banks(), banks));
  if (pim.comp_bytes > normal.row_bytes)
    params.fail("pim_comp_bytes", fmt::format("expected at most row_bytes, {}", normal.row_bytes));
  if (pim.element_bytes > pim.comp_bytes)
    params.fail("pim_element_bytes", fmt::format("expected at most pim_comp_bytes, {}", pim.comp_bytes));
  return pim;
}

}  // namespace

MemorySpec read_memory_row(Params params, const std::string& name) {
  MemorySpec memory;
  memory.name = params.text({"name", "In messages."}, name);
  memory.title = params.text({"title", "What it is."});
  memory.clock = Seconds(
      1e-9 * params.number({"clock_ns", "A cycle of the command clock, which all _ck count."}, {0.01, 1000}));
  memory.organisation = read_organisation(params);
  memory.timings = read_timings(params);
  memory.currents = read_currents(params);
  memory.controller = read_controller(params);
  memory.mapping = read_mapping(params);
  memory.pim = read_pim(params, memory.organisation);
  params.value({"sources", "Where each number is from, for people."}, {{"type", "object"}}, Json::object());
  check_memory(params, memory);
  params.close();
  return memory;
}

std::vector<std::string> memory_names() {
  return names_of(memory_catalog);
}

MemorySpec find_memory(const std::string& name) {
  const auto text = text_of(memory_catalog, name);
  if (!text)
    throw ConfigError("memory", "",
                      no_such("kind", name, memory_names()) + "; or the path of a file like the catalog's");
  const std::string file = "models/memory/catalog/" + name + ".json";
  Reading reading(file);
  const Json& json = embedded_json(*text, file);
  MemorySpec memory = read_memory_row(Params(reading, json), name);
  reading.finish();
  return memory;
}

}  // namespace weir
