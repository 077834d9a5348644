#include <algorithm>
#include <bit>
#include <sstream>

#include "models/memory/memory_spec.h"
#include "sim/core/embedded.h"
#include "sim/core/params.h"

namespace weir {

extern const EmbeddedFiles memory_catalog;

namespace {

constexpr Range<std::int64_t> cycles{0, 1'000'000};

std::int64_t power_of_two(Params& params, const char* key, std::int64_t max) {
  const std::int64_t value = params.integer({key, ""}, {1, max});
  if (!std::has_single_bit(static_cast<std::uint64_t>(value))) params.fail(key, "is no power of two");
  return value;
}

// "row rank bank_group bank column", each once, most significant first.
std::array<AddressField, 5> read_mapping(Params& params) {
  const std::vector<std::string> names = {"row", "rank", "bank_group", "bank", "column"};
  std::array<AddressField, 5> fields{};
  std::array<bool, 5> seen{};
  std::istringstream words(params.text({"address_mapping", ""}));
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
  o.ranks = static_cast<int>(power_of_two(params, "ranks", 64));
  o.bank_groups = static_cast<int>(power_of_two(params, "bank_groups", 64));
  o.banks_per_group = static_cast<int>(power_of_two(params, "banks_per_group", 64));
  o.rows = power_of_two(params, "rows", 1 << 24);
  o.row_bytes = power_of_two(params, "row_bytes", 1 << 20);
  o.access_bytes = power_of_two(params, "access_bytes", 1 << 10);
  if (o.banks() > 1024) params.fail("banks_per_group", "more than 1024 banks a channel");
  if (o.access_bytes > o.row_bytes) params.fail("access_bytes", "more than row_bytes");
  return o;
}

DramTimings read_timings(Params& params) {
  const auto ck = [&](const char* key) { return params.integer({key, ""}, cycles); };
  DramTimings t{};
  t.burst = ck("burst_ck"), t.cl = ck("cl_ck"), t.cwl = ck("cwl_ck");
  t.rcd_rd = ck("rcd_rd_ck"), t.rcd_wr = ck("rcd_wr_ck"), t.rp = ck("rp_ck"), t.ras = ck("ras_ck");
  t.rrd_s = ck("rrd_s_ck"), t.rrd_l = ck("rrd_l_ck"), t.faw = ck("faw_ck");
  t.ccd_s = ck("ccd_s_ck"), t.ccd_l = ck("ccd_l_ck"), t.ccd_wr_l = ck("ccd_wr_l_ck");
  t.wtr_s = ck("wtr_s_ck"), t.wtr_l = ck("wtr_l_ck"), t.wr = ck("wr_ck"), t.rtp = ck("rtp_ck");
  t.rtrs = ck("rtrs_ck"), t.ppd = ck("ppd_ck"), t.refi = ck("refi_ck"), t.rfc = ck("rfc_ck");
  if (t.burst == 0) params.fail("burst_ck", "expected at least 1");
  if (t.refi <= t.rfc) params.fail("refi_ck", "not more than rfc_ck: it would only refresh");
  return t;
}

DramCurrents read_currents(Params& params) {
  const auto number = [&](const char* key) { return params.number({key, ""}, positive); };
  DramCurrents c{};
  c.vdd_v = number("vdd_v"), c.idd0_ma = number("idd0_ma");
  c.idd2n_ma = number("idd2n_ma"), c.idd3n_ma = number("idd3n_ma");
  c.idd4r_ma = number("idd4r_ma"), c.idd4w_ma = number("idd4w_ma"), c.idd5_ma = number("idd5_ma");
  c.devices = static_cast<int>(params.integer({"devices", ""}, {1, 64}));
  return c;
}

DramController read_controller(Params& params) {
  const auto entries = [&](const char* key, std::int64_t min) {
    return static_cast<int>(params.integer({key, ""}, {min, 4096}));
  };
  DramController c{};
  c.bank_queue = entries("bank_queue_entries", 1);
  c.read_queue = entries("read_queue_entries", 1);
  c.write_queue = entries("write_queue_entries", 1);
  c.row_hit_cap = entries("row_hit_cap", 1);
  c.drain_above = entries("drain_above", 0);
  c.two_commands = params.flag({"two_commands_a_cycle", ""});
  return c;
}

// The row's pim_* keys, which a plain memory has none of.
std::optional<PimSpec> read_pim(Params& params, const DramOrganisation& normal) {
  if (!params.has("pim_ranks")) return {};
  const auto whole = [&](const char* key) { return params.integer({key, ""}, {1, 1'000'000}); };
  const auto picojoules = [&](const char* key) { return Joules(1e-12 * params.number({key, ""}, positive)); };
  PimSpec pim{};
  pim.ranks = static_cast<int>(power_of_two(params, "pim_ranks", 64));
  pim.bank_groups = static_cast<int>(power_of_two(params, "pim_bank_groups", 64));
  pim.banks_per_group = static_cast<int>(power_of_two(params, "pim_banks_per_group", 64));
  pim.gwrite = whole("pim_gwrite_ck"), pim.comp = whole("pim_comp_ck");
  pim.comp_bytes = power_of_two(params, "pim_comp_bytes", 1 << 10);
  pim.element_bytes = power_of_two(params, "pim_element_bytes", 8);
  pim.fill_comps = static_cast<int>(whole("pim_fill_comps"));
  pim.bank_queue = static_cast<int>(whole("pim_bank_queue_entries"));
  pim.group_activate = picojoules("pim_group_activate_pj");
  pim.all_bank_comp = picojoules("pim_all_bank_comp_pj");
  pim.gwrite_energy = picojoules("pim_gwrite_pj");
  pim.result = picojoules("pim_result_pj");
  if (pim.ranks * pim.bank_groups * pim.banks_per_group != normal.banks())
    params.fail("pim_ranks", "not the banks of normal accesses");
  if (pim.comp_bytes > normal.row_bytes) params.fail("pim_comp_bytes", "more than row_bytes");
  if (pim.element_bytes > pim.comp_bytes) params.fail("pim_element_bytes", "more than pim_comp_bytes");
  return pim;
}

MemorySpec read_memory(const std::string& name, std::string_view text) {
  const std::string file = "models/memory/catalog/" + name + ".json";
  Reading reading(file);
  const Json& json = embedded_json(text, file);
  Params params(reading, json);
  MemorySpec memory;
  memory.name = name;
  memory.title = params.text({"title", ""});
  memory.clock = Seconds(1e-9 * params.number({"clock_ns", ""}, positive));
  memory.organisation = read_organisation(params);
  memory.timings = read_timings(params);
  memory.currents = read_currents(params);
  memory.controller = read_controller(params);
  memory.mapping = read_mapping(params);
  memory.pim = read_pim(params, memory.organisation);
  params.value({"sources", ""}, Json::object());  // for people; a test holds them
  params.close();
  reading.finish();
  return memory;
}

}  // namespace

std::vector<std::string> memory_names() {
  return names_of(memory_catalog);
}

MemorySpec find_memory(const std::string& name) {
  if (const auto text = text_of(memory_catalog, name)) return read_memory(name, *text);
  throw ConfigError("memory", "", no_such("kind", name, memory_names()));
}

}  // namespace weir
