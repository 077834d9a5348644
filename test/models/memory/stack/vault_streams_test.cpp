#include "models/memory/stack/vault_streams.h"

#include <catch2/catch.hpp>
#include <random>
#include <thread>

using namespace weir;

namespace {

const VaultStreams& vault() {
  static const VaultStreams streams(find_memory("hmc2_vault"));
  return streams;
}

double share(BytesPerSecond reached) {
  return reached / vault().vault().peak();
}

// A window of k x k over a map so wide and with so many channels, moved by `stride`.
PatchGather patches(std::int64_t k, std::int64_t width, std::int64_t channels, std::int64_t stride = 1) {
  return {4 * k * channels, 4 * width * channels, k, 4 * stride * channels};
}

}  // namespace

TEST_CASE("vault: 64 B take 8 clocks of 0.8 ns, 10 GB/s, and 32 vaults have 8 GB") {
  const MemorySpec memory = find_memory("hmc2_vault");
  CHECK(memory.peak().value() == Approx(10e9));
  CHECK(32 * memory.organisation.capacity() == std::int64_t{8} << 30);
  CHECK(memory.organisation.banks() == 16);
}

TEST_CASE("vault streams: in order a vault gives what refresh leaves of its peak") {
  const DramTimings& t = vault().vault().timings;
  const double refreshed = static_cast<double>(t.rfc) / static_cast<double>(t.refi);
  for (const BytesPerSecond reached : {vault().reads(), vault().writes()}) {
    CHECK(share(reached) <= 1 - refreshed + 0.002);  // one refresh of 28 not met
    CHECK(share(reached) >= 1 - 1.3 * refreshed);    // rows are closed before it and opened after it
  }
}

TEST_CASE("vault streams: reads and writes together lose the turns of the bus, and no more than that") {
  const DramTimings& t = vault().vault().timings;
  const double turn = static_cast<double>(t.cwl + t.burst + t.wtr_s - t.burst);
  for (const double writes : {0.1, 0.25, 1.0 / 3, 0.5, 0.75, 0.9}) {
    INFO(writes);
    const double reached = share(vault().mixed(writes));
    CHECK(reached < std::min(share(vault().reads()), share(vault().writes())));
    // Ready ones of a kind go before the bus turns: a turn for every eight blocks would be many.
    CHECK(1 / reached < 1 / share(vault().reads()) + turn / (8 * static_cast<double>(t.burst)));
  }
  CHECK(vault().mixed(0) == vault().reads());
  CHECK(vault().mixed(1) == vault().writes());
}

TEST_CASE("vault gathers: long runs come near the stream, however far they are apart") {
  for (const std::int64_t run : {16384, 65536})
    for (const std::int64_t stride : {65536, 1 << 20})
      CHECK(share(vault().gathers({run, stride, 3, run})) == Approx(share(vault().reads())).epsilon(0.01));
  CHECK(share(vault().gathers(patches(3, 56, 256))) == Approx(share(vault().reads())).epsilon(0.01));
}

TEST_CASE(
    "vault gathers: a short run costs its whole block, and two blocks where it lies over their border") {
  const double reads = share(vault().reads());
  for (const std::int64_t run : {4, 8, 16, 32, 64})  // a row apart, a bank further: each is a block
    CHECK(share(vault().gathers({run, 4096 + 64, 8, 64})) ==
          Approx(reads * static_cast<double>(run) / 64).epsilon(0.01));
  CHECK(share(vault().gathers({64, 4096 + 96, 1, 4096 + 96})) ==
        Approx(reads / 1.5).epsilon(0.01));  // every second one is over a border
  CHECK(share(vault().gathers({4, 8, 8, 64})) == Approx(reads / 2).epsilon(0.01));  // one block has all
}

TEST_CASE("vault gathers: runs that are all in one bank take a row cycle each") {
  const DramTimings& t = vault().vault().timings;
  const double cycle = static_cast<double>(t.burst) / static_cast<double>(t.ras + t.rp);
  const double reached = share(vault().gathers({64, 1024, 64, 0}));
  CHECK(reached <= cycle);
  CHECK(reached >= 0.94 * cycle);
}

TEST_CASE("vault gathers: no pattern beats the peak, nor the stream of the blocks that it needs") {
  std::mt19937 random(3);
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 40; ++i) {
    const std::int64_t k = between(1, 11), channels = std::int64_t{1} << between(0, 9);
    const PatchGather shape = patches(k, between(11, 224), channels, between(1, 4));
    INFO(shape.run_bytes << " B each " << shape.stride_bytes << ", " << shape.runs);
    const double reached = share(vault().gathers(shape));
    CHECK(reached > 0);
    CHECK(reached <= share(vault().reads()) * 1.004);  // refreshes that one play met and the other did not
    CHECK(reached < 1);
  }
}

TEST_CASE("vault streams: any memory of the catalog can be asked, and none beats its peak") {
  for (const std::string& name : memory_names()) {
    const VaultStreams streams(find_memory(name));
    INFO(name);
    for (const BytesPerSecond reached :
         {streams.mixed(0.5), streams.gathers(patches(3, 30, 16)), streams.gathers({4, 4, 1, 4})}) {
      CHECK(reached.value() > 0);
      CHECK(reached < streams.vault().peak());
    }
  }
}

TEST_CASE("vault streams: what is remembered is what was played, in any thread and in another object") {
  const PatchGather shape = patches(5, 28, 32);
  const VaultStreams another(find_memory("hmc2_vault"));
  const BytesPerSecond first = vault().gathers(shape), copy = vault().mixed(0.5);
  std::vector<std::thread> threads;
  std::array<bool, 4> same{};
  for (std::size_t i = 0; i < same.size(); ++i)
    threads.emplace_back([&, i] { same[i] = another.gathers(shape) == first && another.mixed(0.5) == copy; });
  for (std::thread& thread : threads) thread.join();
  CHECK(same == std::array<bool, 4>{true, true, true, true});
  CHECK(vault().gathers(shape) == first);
  CHECK(VaultStreams::shared(another.vault()) == VaultStreams::shared(find_memory("hmc2_vault")));
}

TEST_CASE("vault streams: shapes and shares that cannot be are refused") {
  CHECK_THROWS_AS(vault().mixed(-0.1), std::invalid_argument);
  CHECK_THROWS_AS(vault().mixed(1.1), std::invalid_argument);
  CHECK_THROWS_AS(vault().mixed(std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
  const std::int64_t capacity = vault().vault().organisation.capacity();
  for (const PatchGather& shape :
       {PatchGather{0, 64, 1, 64}, PatchGather{64, 64, 0, 64}, PatchGather{64, 64, 1, -64},
        PatchGather{64, 60, 2, 64}, PatchGather{64, capacity / 2, 3, 64}, PatchGather{capacity + 1, 64, 1, 0},
        PatchGather{1, std::numeric_limits<std::int64_t>::max(), 2, 0}})
    CHECK_THROWS_AS(vault().gathers(shape), std::invalid_argument);
}
