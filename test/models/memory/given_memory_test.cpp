// Memories that a user gives.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "models/memory/dram/channel.h"
#include "models/memory/memory_row.h"
#include "models/memory/pim/pim_costs.h"

namespace weir {
extern const EmbeddedFiles memory_catalog;
}

namespace weir::test {
namespace {

struct Given {
  std::optional<MemorySpec> memory;
  std::string problems;
};

Given given(Json value, const std::string& base = "hbm2_neupims") {
  value["base"] = base;
  Reading reading("scenario.json");
  const CatalogRow found = find_row(memory_rows(), value, reading, "/memory");
  try {
    reading.finish();
    return {memory_of(found.row), ""};
  } catch (const ConfigError& error) {
    Given wrong;
    for (const Problem& p : error.problems()) wrong.problems += p.pointer + ": " + p.what + "\n";
    return wrong;
  }
}

Json row_of(const std::string& name) {
  return embedded_json(*text_of(memory_catalog, name), name);
}

// One to four numbers of a row, somewhere else: near, far, at the ends of their ranges.
Json somewhere_else(const Json& row, std::mt19937& random) {
  std::vector<std::string> keys = {"banks"};
  for (const auto& [key, value] : row.items())
    if (value.is_number()) keys.push_back(key);
  Json other = Json::object();
  for (unsigned i = 1 + random() % 4; i > 0; --i) {
    const std::string& key = keys[random() % keys.size()];
    const double was = row.contains(key) ? row[key].get<double>() : 32;
    const double times = std::exp2(static_cast<double>(random() % 9) - 4);
    if (key != "banks" && !row[key].is_number_integer())
      other[key] = was * times;
    else if (random() % 4 == 0)
      other[key] = random() % 2 ? 0 : std::int64_t{1} << random() % 21;
    else
      other[key] = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(was * times) + static_cast<std::int64_t>(random() % 2));
  }
  return other;
}

}  // namespace

TEST_CASE("given memories: a key over a base changes that number alone") {
  MemorySpec expected = find_memory("hbm2_neupims");
  expected.timings.ccd_l = 4;
  CHECK(*given({{"ccd_l_ck", 4}}).memory == expected);
  CHECK(*given({{"ccd_l_ck", 4}, {"banks", 32}}).memory == expected);
  CHECK(*given(Json::object()).memory == find_memory("hbm2_neupims"));
}

TEST_CASE(
    "given memories: banks are so many like the base's, PIM's groups and the energy of a COMP with them") {
  const MemorySpec before = find_memory("hbm2_neupims"), after = *given({{"banks", 64}}).memory;
  CHECK(after.organisation.banks() == 64);
  CHECK(after.organisation.banks_per_group == before.organisation.banks_per_group);
  CHECK(after.pim->bank_groups == 2 * before.pim->bank_groups);
  CHECK(after.pim->ranks == before.pim->ranks);
  CHECK(after.pim->all_bank_comp.value() == Approx(2 * before.pim->all_bank_comp.value()));
  CHECK(after.organisation.capacity() == 2 * before.organisation.capacity());
  CHECK(given({{"banks", 64}}, "ddr4_3200_l3").memory->organisation.bank_groups == 4);
}

TEST_CASE("given memories: one that cannot be is an error at its pointer") {
  const auto wrong = [](const Json& value, const std::string& said,
                        const std::string& base = "hbm2_neupims") {
    INFO(value.dump());
    CHECK_THAT(given(value, base).problems, Catch::Contains(said));
  };
  wrong({{"ccd_l", 4}}, "/memory/ccd_l: unknown key; did you mean \"ccd_l_ck\"?");
  wrong({{"ccd_l_ck", 2.5}}, "/memory/ccd_l_ck: expected an integer");
  wrong({{"ccd_l_ck", -1}}, "/memory/ccd_l_ck: expected an integer >= 0");
  wrong({{"banks", 48}}, "/memory/banks: expected a power of two up to 1024 (got 48)");
  wrong({{"banks", 4}}, "/memory/banks: expected at least 8: a bank group in every rank (got 4)");
  wrong({{"banks", 64}, {"bank_groups", 16}}, "/memory/banks: says what bank_groups is");
  wrong({{"banks", "many"}}, "/memory/banks: expected a power of two");
  wrong({{"row_bytes", 1000}}, "/memory/row_bytes: expected a power of two (got 1000)");
  wrong({{"row_bytes", 32}}, "/memory/access_bytes: expected at most row_bytes, 32 (got 64)");
  wrong({{"bank_groups", 16}}, "/memory/pim_ranks: expected the 64 banks of normal accesses");
  wrong({{"ccd_l_ck", 0}}, "/memory/ccd_l_ck: expected at least ccd_s_ck, 1 (got 0)");
  wrong({{"rrd_l_ck", 2}}, "/memory/rrd_l_ck: expected at least rrd_s_ck, 4 (got 2)");
  wrong({{"ras_ck", 5}}, "/memory/ras_ck: expected at least rcd_rd_ck, 14 (got 5)");
  wrong({{"refi_ck", 260}}, "/memory/refi_ck: expected more than");
  wrong({{"rfc_ck", 3900}}, "/memory/refi_ck: expected more than");
  wrong({{"faw_ck", 900}}, "between two refreshes");  // 4 groups of a rank, one after the other
  wrong({{"pim_gwrite_ck", 2000}}, "between two refreshes");
  wrong({{"pim_comp_bytes", 512}, {"row_bytes", 256}},
        "/memory/pim_comp_bytes: expected at most row_bytes, 256");
  wrong({{"address_mapping", "row rank bank column"}}, "/memory/address_mapping: expected row, rank");
  wrong({{"idd0_ma", 1}}, "/memory/idd0_ma: less than the standby");
  wrong({{"pim_ranks", 2}}, "/memory/pim_bank_groups: required", "hbm2e");
}

TEST_CASE("given memories: any that is accepted is played to its end, by reads and by a PIM") {
  std::mt19937 random(20);
  int played = 0, refused = 0;
  for (int i = 0; i < 120; ++i) {
    const std::string base = i % 2 ? "hbm2_neupims" : memory_names()[random() % memory_names().size()];
    const Json other = somewhere_else(row_of(base), random);
    INFO(base << " " << other.dump());
    const Given one = given(other, base);
    CHECK(one.memory.has_value() == one.problems.empty());
    refused += !one.memory;
    if (!one.memory) continue;
    ++played;
    const MemorySpec& memory = *one.memory;
    const ChannelRun run = play(memory, sequential_reads(memory, 2000));
    CHECK(run.last_data_end >= run.accesses() * memory.timings.burst);  // no faster than the bus
    for (const ServedRequest& served : run.requests) REQUIRE(served.data_end > served.accept);
    if (!memory.pim) continue;
    for (const RowBuffers buffers : {RowBuffers::dual, RowBuffers::single}) {
      const PimOptions options{.buffers = buffers};
      const PimRequest request{PimOp::both, 300, 4, 128};
      if (!cannot_play(memory, request, options).empty()) continue;
      const PimRun alone = play_pim(memory, std::vector{request}, options);
      CHECK(alone.cycles >= alone.comps * memory.pim->comp);
    }
  }
  CHECK(played > 30);
  CHECK(refused > 30);
}

TEST_CASE("given memories: what a stream reaches falls where columns of a bank group come further apart") {
  double before = stream_efficiency(find_memory("hbm2_neupims"));
  CHECK(before == Approx(0.915).epsilon(0.001));
  for (const int ccd : {3, 4, 6, 8}) {
    const double reached = stream_efficiency(*given({{"ccd_l_ck", ccd}}).memory);
    CHECK(reached < before);
    before = reached;
  }
}

// DDR4-3200: 16 banks close a cycle each, 52 of tRAS and 22 of tRP; 560 of tRFC, 22 of tRCD, 128 columns of 8
// and 22 of CL: 1,718.
TEST_CASE("given memories: a refresh interval holds a refresh and a row, and a turn of each rank, just so") {
  const auto refused = [](Json keys, std::int64_t interval) {
    keys["refi_ck"] = interval;
    return !given(keys, "ddr4_3200_l3").memory;
  };
  const Json none = Json::object();
  CHECK((refused(none, 1718) && !refused(none, 1719)));
  const Json writes = {{"wr_ck", 40}};  // 16 + 4 + 40 are more than tRAS
  CHECK((refused(writes, 1726) && !refused(writes, 1727)));
  const Json apart = {{"ppd_ck", 3}};
  CHECK((refused(apart, 1750) && !refused(apart, 1751)));
  const Json written = {{"rcd_wr_ck", 30}};
  CHECK((refused(written, 1726) && !refused(written, 1727)));
  const Json columns = {{"ccd_wr_l_ck", 9}};
  CHECK((refused(columns, 1846) && !refused(columns, 1847)));
  const Json ranks = {{"ranks", 32}};  // 90 cycles to close the rows of each
  CHECK((refused(ranks, 32 * 91 - 1) && !refused(ranks, 32 * 91)));
}

TEST_CASE("given memories: a delay or a current that equals its least is accepted, one below is not") {
  const auto refused = [](const char* key, double value) {
    return !given({{key, value == std::floor(value) ? Json(static_cast<int>(value)) : Json(value)}},
                  "ddr4_3200_l3")
                .memory;
  };
  for (const auto& [key, least] : {std::pair{"rrd_l_ck", 4},
                                   {"ccd_l_ck", 4},
                                   {"ccd_wr_l_ck", 4},
                                   {"wtr_l_ck", 4},
                                   {"ras_ck", 22},
                                   {"idd3n_ma", 37},
                                   {"idd4r_ma", 52},
                                   {"idd4w_ma", 52},
                                   {"idd5_ma", 52}}) {
    INFO(key);
    CHECK_FALSE(refused(key, least));
    CHECK(refused(key, least - 1));
  }
}

}  // namespace weir::test
