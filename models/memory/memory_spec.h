#pragma once
// A memory is one channel's organisation, timing and currents, as its row of the catalog has them
// (models/memory/catalog/*.json, every number with its source). The bank models (dram/) read it and nothing
// else. Times are whole cycles of the command clock; seconds and joules are made at the door, by callers.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"

namespace weir {

using Cycles = std::int64_t;

// One channel. All are powers of two, so that an address is a string of bit fields.
struct DramOrganisation {
  int ranks = 1, bank_groups = 1, banks_per_group = 1;
  std::int64_t rows = 1, row_bytes = 64;  // a bank's; a row is what one activation opens
  std::int64_t access_bytes = 64;         // one column command moves

  int banks_per_rank() const { return bank_groups * banks_per_group; }
  int banks() const { return ranks * banks_per_rank(); }
  std::int64_t columns() const { return row_bytes / access_bytes; }
  std::int64_t capacity() const { return rows * row_bytes * banks(); }
  bool operator==(const DramOrganisation&) const = default;
};

// JEDEC's names without the t: cl is CAS latency, rrd_l the row-to-row delay within a bank group, and so on.
struct DramTimings {
  Cycles burst, cl, cwl, rcd_rd, rcd_wr, rp, ras, rrd_s, rrd_l, faw, ccd_s, ccd_l, ccd_wr_l, wtr_s, wtr_l, wr,
      rtp, rtrs, ppd, refi, rfc;
  bool operator==(const DramTimings&) const = default;
};

// Currents of the datasheet's IDD loops, a device's; `devices` work together in a rank.
struct DramCurrents {
  double vdd_v, idd0_ma, idd2n_ma, idd3n_ma, idd4r_ma, idd4w_ma, idd5_ma;
  int devices;
  bool operator==(const DramCurrents&) const = default;
};

// After a column command the row stays open for the next one, or the command closes it itself
// (auto-precharge), so that each has an activation of its own.
enum class PagePolicy { open, closed };

// The queues of the controller (dram/channel.h has its policy).
struct DramController {
  int bank_queue, read_queue, write_queue;  // entries
  int row_hit_cap;    // so many column commands, then a waiting row may close this one although hits wait
  int drain_above;    // idle banks drain the write queue when it holds more
  bool two_commands;  // a row and a column command in one cycle, on HBM's two command buses
  PagePolicy page = PagePolicy::open;
  bool unified_queue = false;  // reads and writes wait together, in read_queue; no write is kept back
  bool operator==(const DramController&) const = default;
};

// Banks that calculate (pim/). Their organisation may be another than that of normal accesses: a rank here is
// what has its own tFAW and its own refresh.
struct PimSpec {
  int ranks, bank_groups, banks_per_group;  // of the same banks; one group is activated at a time
  Cycles gwrite;                            // a row into the global buffer
  Cycles comp;                              // from one COMP, of all banks, to the next
  std::int64_t comp_bytes, element_bytes;   // a bank's of one COMP, and what it multiplies
  int fill_comps;                           // a GEMV takes at least the time of so many: its pipeline's depth
  int bank_queue;  // entries a bank of the controller, for normal accesses beside the PIM's commands
  Joules group_activate, all_bank_comp, gwrite_energy, result;
  bool operator==(const PimSpec&) const = default;
};

enum class AddressField { row, rank, bank_group, bank, column };

struct MemorySpec {
  std::string name, title;
  Seconds clock;  // of one command
  DramOrganisation organisation;
  DramTimings timings;
  DramCurrents currents;
  DramController controller;
  std::array<AddressField, 5> mapping;  // most significant first
  std::optional<PimSpec> pim;           // none: plain memory

  bool operator==(const MemorySpec&) const = default;
  BytesPerSecond peak() const {
    return Bytes(static_cast<double>(organisation.access_bytes)) /
           Seconds(static_cast<double>(timings.burst) * clock.value());
  }
};

// The catalog. find_memory throws ConfigError with the known names.
std::vector<std::string> memory_names();
MemorySpec find_memory(const std::string& name);

}  // namespace weir
