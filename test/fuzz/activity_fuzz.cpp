// The reader of recorded activity on any bytes whatever: a recording that keeps its promises or a
// ConfigError. An odd first byte puts a good beginning before the rest, for no search through random bytes
// finds a header.
#include <cstdlib>
#include <string>

#include "workloads/activity/recording.h"

using namespace weir;

namespace {

const std::string beginning =
    "layers,attention,mlp\n2,4,8\ntoken,layer,block,neurons\n0,0,attention,0-3\n0,0,mlp,1 "
    "3-5\n0,1,attention,2\n";

void check(const ActivityRecording& recording) {
  bool good = recording.tokens() >= 1;
  for (std::int64_t token = 0; token < recording.tokens(); ++token)
    for (std::int64_t layer = 0; layer < recording.counts().layers; ++layer)
      for (const NeuronBlock block : neuron_blocks) {
        std::int64_t before = -1;
        for (const NeuronRun run : recording.runs(token, layer, block)) {
          good = good && run.first > before && run.last >= run.first;
          before = run.last;
        }
        good = good && before < recording.counts().of(block);
      }
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string rest(data + 1, data + size);
  try {
    check(read_activity(data[0] % 2 ? beginning + rest : rest, "t"));
  } catch (const ConfigError& e) {
    if (e.problems().empty() || e.problems().size() > 11) std::abort();
  }
  return 0;
}
