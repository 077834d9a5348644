// The readers of DRAMsim3's configurations and of traces of a channel on any bytes whatever: a memory whose
// channel can play, requests that it can play, or a ConfigError. The first byte picks the file; an odd second
// one puts a good beginning before the rest, for no search through random bytes finds one.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "models/memory/memory_row.h"
#include "sim/app/memory/dramsim3.h"
#include "sim/app/memory/trace_csv.h"

using namespace weir;

namespace {

// The last of two equal keys counts: what follows changes the beginning.
const std::string configuration =
    "[dram_structure]\nprotocol = DDR4\nbankgroups = 2\nbanks_per_group = 4\nrows = 65536\ncolumns = 1024\n"
    "device_width = 16\nBL = 8\n[timing]\ntCK = 0.63\nCL = 22\nCWL = 16\ntRCD = 22\ntRP = 22\ntRAS = 51\n"
    "tRFC = 560\ntREFI = 12480\ntRRD_S = 9\ntRRD_L = 11\ntWTR_S = 4\ntWTR_L = 12\ntFAW = 48\ntWR = 24\n"
    "tRTP = 12\ntCCD_S = 4\ntCCD_L = 8\n[power]\nVDD = 1.2\nIDD0 = 95\nIDD2N = 37\nIDD3N = 56\nIDD4W = 278\n"
    "IDD4R = 302\nIDD5AB = 280\n[system]\nchannel_size = 4096\nchannels = 1\nbus_width = 64\n"
    "address_mapping = rochrababgco\nqueue_structure = PER_BANK\nrow_buf_policy = OPEN_PAGE\n"
    "cmd_queue_size = 8\ntrans_queue_size = 32\n";
const std::vector<std::string> traces = {"arrival,op,addr_hex\n1,R,0x40\n2,W,80\n",
                                         "0x40 READ 1\n80 WRITE 2\n", "LD 0x40\nST 128\n"};

const std::filesystem::path& file() {
  static const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weir-fuzz-" + std::to_string(::getpid()) + ".ini");
  return path;
}

void check(const MemorySpec& memory, const std::vector<MemoryRequest>& requests) {
  bool good = !requests.empty() && memory.organisation.capacity() > 0;
  Cycles before = 0;
  for (const MemoryRequest& request : requests) {
    good = good && request.arrival >= before &&
           request.address < static_cast<std::uint64_t>(memory.organisation.capacity());
    before = request.arrival;
  }
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const MemorySpec of_catalog = find_memory("ddr4_3200_l3");
  const std::size_t target = data[0] % (traces.size() + 1);
  const std::string& beginning = target == traces.size() ? configuration : traces[target];
  std::ofstream(file()) << (data[1] % 2 ? beginning : "") << std::string(data + 2, data + size);
  try {
    if (target < traces.size()) {
      check(of_catalog, read_memory_trace(file(), of_catalog));
    } else {
      const MemorySpec memory = read_dramsim3(file());
      const auto last = static_cast<std::uint64_t>(memory.organisation.capacity()) - 1;
      const std::vector<MemoryRequest> requests = {{0, 0, false}, {1, last, true}, {2, 0, false}};
      check(memory, requests);
      const ChannelRun run = play(memory, requests);
      if (run.span() <= 0) std::abort();
    }
  } catch (const ConfigError& e) {
    if (e.problems().empty()) std::abort();
  }
  std::filesystem::remove(file());
  return 0;
}
