// DRAMsim3's keys each in its place, by a configuration in which no two are alike, and traces at their
// limits.
#include <catch2/catch.hpp>

#include "sim/app/memory/dramsim3.h"
#include "sim/app/memory/trace_csv.h"
#include "sim/core/errors.h"
#include "test/app/run_weir.h"

namespace weir::test {
namespace {

const std::string unlike = R"([dram_structure]
protocol = GDDR5
bankgroups = 4
banks_per_group = 2
rows = 16384
columns = 1024
device_width = 16
BL = 8
[timing]
tCK = 0.7
CL = 21
CWL = 17
tRCD = 99
tRCDRD = 23
tRCDWR = 19
tRP = 25
tRAS = 52
tRFC = 560
tREFI = 12480
tRRD_S = 4
tRRD_L = 7
tWTR_S = 5
tWTR_L = 13
tFAW = 34
tWR = 24
tRTP = 11
tCCD_S = 6
tCCD_L = 9
tPPD = 3
[power]
VDD = 1.25
IDD0 = 57
IDD2N = 37
IDD3N = 52
IDD4W = 150
IDD4R = 168
IDD5AB = 250
[system]
channel_size = 8192
channels = 1
bus_width = 64
address_mapping = rorababgchco
cmd_queue_size = 6
trans_queue_size = 40
)";

MemorySpec spec_of(const ScratchDirectory& scratch, const std::string& more = "") {
  return read_dramsim3(write(scratch.path() / "unlike.ini", unlike + more + "\n"));
}

std::string complaint_about(const ScratchDirectory& scratch, const MemorySpec& memory,
                            const std::string& trace) {
  try {
    read_memory_trace(write(scratch.path() / "trace", trace), memory);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("DRAMsim3: each key is read into its own place") {
  const ScratchDirectory scratch;
  const MemorySpec spec = spec_of(scratch);
  CHECK(spec.name == "unlike");
  CHECK(spec.clock.value() == Approx(0.7e-9));
  // Four devices of 1,024 x 2 bytes a row; 8 KiB x 16,384 rows x 8 banks are 1,024 MB, of eight ranks.
  const DramOrganisation& o = spec.organisation;
  CHECK((o.ranks == 8 && o.bank_groups == 4 && o.banks_per_group == 2 && o.rows == 16384));
  CHECK((o.row_bytes == 8192 && o.access_bytes == 64));
  const DramTimings expected = {.burst = 2,  // eight beats, four a clock
                                .cl = 21,
                                .cwl = 17,
                                .rcd_rd = 23,
                                .rcd_wr = 19,
                                .rp = 25,
                                .ras = 52,
                                .rrd_s = 4,
                                .rrd_l = 7,
                                .faw = 34,
                                .ccd_s = 6,
                                .ccd_l = 9,
                                .ccd_wr_l = 9,
                                .wtr_s = 5,
                                .wtr_l = 13,
                                .wr = 24,
                                .rtp = 11,
                                .rtrs = 2,  // its default
                                .ppd = 3,
                                .refi = 12480,
                                .rfc = 560};
  CHECK(spec.timings == expected);
  const DramCurrents currents = {.vdd_v = 1.25,
                                 .idd0_ma = 57,
                                 .idd2n_ma = 37,
                                 .idd3n_ma = 52,
                                 .idd4r_ma = 168,
                                 .idd4w_ma = 150,
                                 .idd5_ma = 250,
                                 .devices = 4};
  CHECK(spec.currents == currents);
  CHECK((spec.controller.bank_queue == 6 && spec.controller.read_queue == 40));
  CHECK((spec.controller.write_queue == 40 && spec.controller.row_hit_cap == 4));
  CHECK((spec.controller.drain_above == 8 && !spec.controller.two_commands));
  CHECK((spec.controller.page == PagePolicy::open && !spec.controller.unified_queue));
  using enum AddressField;
  CHECK(spec.mapping == std::array{row, rank, bank, bank_group, column});
}

TEST_CASE("DRAMsim3: bits a clock, command buses, queues and pages go by the protocol and their keys") {
  const ScratchDirectory scratch;
  CHECK(spec_of(scratch, "protocol = GDDR5X\nBL = 16").timings.burst == 2);
  CHECK(spec_of(scratch, "protocol = DDR4").timings.burst == 4);
  CHECK(spec_of(scratch, "tRTRS = 1").timings.rtrs == 1);
  CHECK(spec_of(scratch, "protocol = HBM2").controller.two_commands);
  CHECK_FALSE(spec_of(scratch, "protocol = HBM2\nhbm_dual_cmd = False").controller.two_commands);
  CHECK(spec_of(scratch, "unified_queue = True").controller.unified_queue);
  CHECK(spec_of(scratch, "row_buf_policy = CLOSE_PAGE").controller.page == PagePolicy::closed);
}

// The channel has 8 GiB: the last byte's address is 0x1ffffffff.
TEST_CASE("memory traces: an address is below the channel's end, and no cycle before that of the row above") {
  const ScratchDirectory scratch;
  const MemorySpec memory = spec_of(scratch);
  const std::string header = "arrival,op,addr_hex\n";
  CHECK(complaint_about(scratch, memory, header + "5,R,0x1ffffffff\n5,W,0\n") == "");
  CHECK_THAT(
      complaint_about(scratch, memory, header + "5,R,0x200000000\n"),
      Catch::Contains("line 2: addr_hex: expected a hexadecimal address below the channel's 0x200000000"));
  CHECK_THAT(complaint_about(scratch, memory, header + "5,R,0\n4,R,0\n"),
             Catch::Contains("line 3: arrival: expected at least 5, that of the row above, got 4"));
  CHECK(complaint_about(scratch, memory, header + "1000000000000,R,0\n") == "");
  CHECK_THAT(complaint_about(scratch, memory, header + "1000000000001,R,0\n"),
             Catch::Contains("expected a cycle from 0 to 1000000000000"));
  CHECK(complaint_about(scratch, memory, "0x1ffffffff READ 7\n0x0 WRITE 7\n") == "");
  CHECK_THAT(complaint_about(scratch, memory, "0x200000000 READ 7\n"),
             Catch::Contains("below the channel's"));
  CHECK_THAT(complaint_about(scratch, memory, "0x0 READ 7\n0x0 READ 6\n"),
             Catch::Contains("expected a cycle from 7, that of the row above"));
}

TEST_CASE("memory traces: DRAMsim3's addresses are hexadecimal, Ramulator's decimal but with 0x") {
  const ScratchDirectory scratch;
  const MemorySpec memory = spec_of(scratch);
  const auto read = [&](const std::string& text) {
    std::string all;
    for (const MemoryRequest& r : read_memory_trace(write(scratch.path() / "trace", text), memory))
      all += fmt::format("{} {} {};", r.arrival, r.address, r.is_write ? "W" : "R");
    return all;
  };
  CHECK(read("10 READ 3\n0x20 WRITE 4\n") == "3 16 R;4 32 W;");
  CHECK(read("LD 10\nST 0x20\n30 W\n0x40 R\n") == "0 10 R;0 32 W;0 30 W;0 64 R;");
  CHECK(read("40 P_MEM_WR 1\n50 P_MEM_RD 2\n60 BOFF 9\n") == "1 64 W;2 80 R;9 96 W;");
  CHECK(read("op, addr_hex ,arrival\n W,10,2\nR,0X1f,2\n") == "2 16 W;2 31 R;");
}

}  // namespace weir::test
