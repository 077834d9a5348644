#include <catch2/catch.hpp>
#include <random>

#include "models/memory/address_mapping.h"
#include "models/memory/dram/energy.h"
#include "sim/core/embedded.h"
#include "sim/core/params.h"

namespace weir {
extern const EmbeddedFiles memory_catalog;
}

using namespace weir;

TEST_CASE("memory catalog: every number has a source") {
  REQUIRE(memory_catalog.size() >= 9);
  for (const auto& [name, text] : memory_catalog) {
    const Json file = parse_json(std::string(text), std::string(name));
    for (const auto& [key, value] : file.items()) {
      INFO(name << ": " << key);
      if (key != "title" && key != "sources") CHECK(file["sources"].value(key, "").size() > 3);
    }
    for (const auto& [key, source] : file["sources"].items()) CHECK(file.contains(key));
  }
}

TEST_CASE("memory catalog: every row reads, its numbers fit each other") {
  for (const std::string& name : memory_names()) {
    const MemorySpec m = find_memory(name);
    const DramTimings& t = m.timings;
    INFO(name);
    CHECK(m.name == name);
    CHECK(t.rrd_l >= t.rrd_s);
    CHECK(t.ccd_l >= t.ccd_s);
    CHECK(t.wtr_l >= t.wtr_s);
    CHECK(t.faw >= 4 * t.rrd_s - 4);  // else it never forbids anything
    CHECK(t.ras >= t.rcd_rd);
    CHECK((name == "hmc2_vault" ? t.cl == t.cwl : t.cl > t.cwl));  // the vault's are 17 both
    CHECK(m.currents.idd3n_ma > m.currents.idd2n_ma);
    CHECK(m.currents.idd4r_ma > m.currents.idd3n_ma);
    CHECK(t.rfc > t.rp);
    const DramEnergies e = dram_energies(m);
    CHECK(e.activate.value() > 0);
    CHECK(e.refresh > e.activate);
  }
}

TEST_CASE("memory catalog: a column-major row is its twin but for the mapping, whose columns lie together") {
  for (const std::string name : {"ddr4_3200_l3", "ddr4_3200_hermes"}) {
    const MemorySpec twin = find_memory(name), column_major = find_memory(name + "_colmaj");
    CHECK(column_major.mapping.back() == AddressField::column);
    CHECK(twin.mapping.back() == AddressField::bank_group);
    MemorySpec mapped = column_major;
    mapped.name = twin.name, mapped.title = twin.title, mapped.mapping = twin.mapping;
    CHECK(mapped == twin);
  }
}

TEST_CASE("memory catalog: an unknown kind is told with what exists") {
  CHECK_THROWS_WITH(find_memory("hbm2_neupim"), Catch::Contains("did you mean \"hbm2_neupims\"?"));
}

TEST_CASE("memory catalog: an address and its place are one to one, over the whole channel") {
  for (const std::string& name : memory_names()) {
    const MemorySpec m = find_memory(name);
    const AddressMapping mapping(m);
    const auto capacity = static_cast<std::uint64_t>(m.organisation.capacity());
    const auto step = static_cast<std::uint64_t>(m.organisation.access_bytes);
    std::mt19937_64 random(1);
    INFO(name);
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t address = i == 0 ? capacity - 1 : random() % capacity;
      const DramLocation at = mapping.locate(address);
      CHECK(mapping.address(at) == address / step * step);
      CHECK(at.row < m.organisation.rows);
      CHECK(at.column < m.organisation.columns());
      CHECK(at.rank < m.organisation.ranks);
      CHECK(at.bank_group < m.organisation.bank_groups);
      CHECK(at.bank < m.organisation.banks_per_group);
    }
  }
}

TEST_CASE("DRAM energy: HBM2 and DDR4 cost what their currents say") {  // systems/memory.md, by hand
  const DramEnergies hbm = dram_energies(find_memory("hbm2_neupims"));
  CHECK(hbm.activate.value() == Approx(828e-12));
  CHECK(hbm.read.value() == Approx(804e-12));
  CHECK(hbm.write.value() == Approx(1068e-12));
  CHECK(hbm.refresh.value() == Approx(60.84e-9));
  CHECK(hbm.active.value() == Approx(66e-3));
  CHECK(hbm.idle.value() == Approx(48e-3));
  const DramEnergies ddr4 = dram_energies(find_memory("ddr4_3200_l3"));
  CHECK(ddr4.activate.value() == Approx(4200e-12));
  CHECK(ddr4.read.value() == Approx(2784e-12));
  CHECK(ddr4.write.value() == Approx(2352e-12));
  CHECK(ddr4.refresh.value() == Approx(665.28e-9));
  CHECK(ddr4.active.value() == Approx(0.4992));
  CHECK(ddr4.idle.value() == Approx(0.3552));
}
