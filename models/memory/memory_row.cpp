#include "models/memory/memory_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "models/memory/pim/beside.h"
#include "sim/core/cache/made_once.h"

namespace weir {

extern const EmbeddedFiles memory_catalog;

namespace {

// So many banks like the row's: bank groups, PIM's, and the energy of a COMP of all banks, in proportion.
void spread_banks(Reading& reading, Json& row, const Json& given) {
  const Json wanted = row["banks"];
  row.erase("banks");
  for (const char* key : {"bank_groups", "pim_bank_groups", "pim_all_bank_comp_pj"})
    if (given.contains(key))
      return reading.problem("/banks", fmt::format("says what {} is; give one of them", key));
  const auto whole = [&](const char* key) { return row.contains(key) && row[key].is_number_integer(); };
  if (!wanted.is_number_integer() || wanted < 1 || wanted > most_memory_banks ||
      !std::has_single_bit(wanted.get<std::uint64_t>()))
    return reading.problem("/banks",
                           fmt::format("expected a power of two up to {} (got {})", most_memory_banks,
                                       wanted.dump(-1, ' ', false, Json::error_handler_t::replace)));
  if (!whole("ranks") || !whole("bank_groups") || !whole("banks_per_group")) return;  // the reader says so
  const auto of = [&](const char* key) { return row[key].get<std::int64_t>(); };
  const auto banks = wanted.get<std::int64_t>(), others = of("ranks") * of("banks_per_group");
  const auto pim_others =
      whole("pim_ranks") && whole("pim_banks_per_group") ? of("pim_ranks") * of("pim_banks_per_group") : 1;
  if (others < 1 || pim_others < 1) return;
  if (banks < others || banks < pim_others)
    return reading.problem("/banks", fmt::format("expected at least {}: a bank group in every rank (got {})",
                                                 std::max(others, pim_others), banks));
  const double before = static_cast<double>(others * of("bank_groups"));
  row["bank_groups"] = banks / others;
  if (!row.contains("pim_ranks")) return;
  row["pim_bank_groups"] = banks / pim_others;
  if (row.contains("pim_all_bank_comp_pj") && row["pim_all_bank_comp_pj"].is_number())
    row["pim_all_bank_comp_pj"] =
        row["pim_all_bank_comp_pj"].get<double>() * static_cast<double>(banks) / before;
}

Json described() {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  read_memory_row(Params(reading, nothing), "");
  reading.schema["properties"]["banks"] = {
      {"type", "integer"},
      {"minimum", 1},
      {"maximum", most_memory_banks},
      {"description",
       "Of the channel, a power of two, instead of bank_groups: so many banks like those of the base. "
       "PIM's groups and pim_all_bank_comp_pj follow."}};
  return reading.schema;
}

}  // namespace

const RowFamily& memory_rows() {
  static const RowFamily family{"memory", memory_catalog,
                                [](Reading& reading, Json& row, const Json& given, const std::string& name) {
                                  if (row.contains("banks")) spread_banks(reading, row, given);
                                  read_memory_row(Params(reading, row), name);
                                  row["name"] = given.contains("name") ? given["name"] : Json(name);
                                }};
  return family;
}

Json memory_row_schema() {
  return row_schema(memory_rows(), described());
}

MemorySpec memory_of(const Json& name_or_row) {
  if (name_or_row.is_string()) return find_memory(name_or_row.get<std::string>());
  Reading reading("memory");
  MemorySpec memory = read_memory_row(Params(reading, name_or_row), "custom");
  reading.finish();
  return memory;
}

MemorySpec read_memory(const std::string& name_or_path) {
  if (!is_path(name_or_path)) return find_memory(name_or_path);
  Reading reading(name_or_path);
  const Json document = read_json_file(name_or_path);
  CatalogRow found;
  if (document.is_object())
    found = find_row(memory_rows(), document, reading, "");
  else
    reading.problem("", "expected an object");
  reading.finish();
  if (!document.contains("name")) found.row["name"] = std::filesystem::path(name_or_path).stem().string();
  return memory_of(found.row);
}

double stream_efficiency(const MemorySpec& memory) {
  static MadeOnce<MemorySpec, double> all;
  return all.of(memory, [&] {
    const std::int64_t count = (std::int64_t{4} << 20) / memory.organisation.access_bytes;
    const ChannelRun run = play(memory, sequential_reads(memory, count));
    return static_cast<double>(count * memory.timings.burst) / static_cast<double>(run.span());
  });
}

}  // namespace weir
