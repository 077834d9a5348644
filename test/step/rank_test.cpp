// Costs of one rank in a batch, operator by operator, and where its KV caches live.
#include "sim/step/rank.h"

#include "test/models/llm/models.h"
#include "test/models/llm/parts.h"
#include "test/step/played_step.h"

using namespace weir;
using namespace weir::test;

namespace {

Memory memory(Memory::KeptFor kept_for, int members = 1, bool of_host = false) {
  return {.name = "memory",
          .capacity = Bytes(1),
          .bandwidth = BytesPerSecond(1),
          .members = members,
          .kept_for = kept_for,
          .of_host = of_host};
}

// A device of these memories alone.
struct Remembers final : Device {
  explicit Remembers(std::vector<Memory> memories) { described.memories = std::move(memories); }
  const DeviceSpec& spec() const override { return described; }
  KernelCost cost(const KernelWork& work, int unit) const override {
    KernelCost cost;
    cost.time = Seconds(10 * unit + static_cast<double>(work.rows));
    cost.compute = cost.time;
    cost.flops = Flops(static_cast<double>(work.rows));
    return cost;
  }
  DeviceSpec described;
};

Rank rank_with(std::vector<Memory> memories, bool spare) {
  Rank rank;
  rank.on = std::make_shared<Remembers>(std::move(memories));
  rank.kv_memories = kv_memories_of(rank.on->spec(), spare);
  return rank;
}

}  // namespace

TEST_CASE(
    "rank: KV caches live in the memories kept for them, and in the device's own where it is to spare") {
  using enum Memory::KeptFor;
  const auto found = [](std::vector<Memory> memories, bool spare) {
    return rank_with(std::move(memories), spare).kv_memories;
  };
  CHECK(found({memory(anything)}, false) == std::vector<int>{0});
  CHECK(found({memory(anything), memory(prefetches), memory(weights)}, false) == std::vector<int>{0});
  CHECK(found({memory(anything), memory(prefetches), memory(kv_caches)}, false) == std::vector<int>{2});
  CHECK(found({memory(anything), memory(kv_caches), memory(kv_caches)}, false) == std::vector<int>{1, 2});
  CHECK(found({memory(anything), memory(kv_caches)}, true) == std::vector<int>{1, 0});
}

TEST_CASE("rank: the spare channel is behind those of the first memory, and the host's memory is the last") {
  using enum Memory::KeptFor;
  const Rank alone = rank_with({memory(anything, 3), memory(prefetches)}, false);
  CHECK(alone.placed_channels() == 3);
  CHECK(alone.spare_channel() == -1);
  CHECK_FALSE(alone.keeps_kv_elsewhere());
  CHECK_FALSE(alone.keeps_kv_in_host());
  CHECK(alone.host_memory() == nullptr);
  const Rank beside = rank_with({memory(anything), memory(kv_caches, 5, true)}, true);
  CHECK(beside.placed_channels() == 5);
  CHECK(beside.spare_channel() == 5);
  CHECK(beside.keeps_kv_elsewhere());
  CHECK(beside.keeps_kv_in_host());
  CHECK(beside.host_memory() == &beside.on->spec().memories[1]);
  // Weights alone in the host: it uses that memory too.
  const Rank weighs = rank_with({memory(anything), memory(weights, 1, true)}, false);
  CHECK(weighs.host_memory() == &weighs.on->spec().memories[1]);
  CHECK_FALSE(weighs.keeps_kv_in_host());
}

TEST_CASE("rank: matrices of prompts beside another batch have the multiprocessors that are left") {
  Rank rank = rank_with({memory(Memory::KeptFor::anything)}, false);
  rank.multiprocessors_left = 0.25;
  Operator gemm, experts, norm;
  gemm.kernel = Gemm();
  experts.kernel = GroupedGemm();
  norm.kernel = Elementwise();
  BatchShape prompts;
  prompts.prefill_tokens = 6;
  prompts.decodes = prompts.sequences = 2;
  BatchShape beside = prompts, decodes = prompts;
  beside.beside_another = decodes.beside_another = true;
  decodes.prefill_tokens = 0;
  const auto time = [&](const Operator& op, const BatchShape& batch) { return rank.cost(op, batch).time; };
  CHECK(time(gemm, prompts).value() == Approx(8));
  CHECK(time(gemm, beside).value() == Approx(8 * 4));
  CHECK(time(experts, beside).value() == Approx(8 * 4));
  CHECK(time(norm, beside).value() == Approx(8));
  CHECK(time(gemm, decodes).value() == Approx(2));
  gemm.unit = 3;
  CHECK(time(gemm, prompts).value() == Approx(38));
  CHECK(time(gemm, beside).value() == Approx(38 * 4));
}

TEST_CASE("rank: collectives go over the links of their group, the tensor group's or the stage's") {
  Rank rank = replica_on("h100_sxm", "nvlink4_switch", "");
  LinkSpec slow;
  slow.name = "slow";
  slow.bandwidth = BytesPerSecond(1e9);
  rank.stage.links = slow;
  rank.stage.collectives = make_collectives(slow, "");
  Operator call;
  Communication all_reduce;
  all_reduce.collective = Collective::all_reduce;
  all_reduce.devices = 4;
  all_reduce.per_row = Bytes(1e6);
  call.kernel = all_reduce;
  BatchShape batch;
  batch.decodes = batch.sequences = 8;
  // A ring of four sends 2 * 3/4 of the 8 MB: 12 MB, at 450 GB/s in a node or at 1 GB/s.
  CHECK(rank.cost(call, batch).moved[interconnect].value() == Approx(12e6));
  const double links = find_interconnect("nvlink4_switch").bandwidth.value();
  const Seconds hop = find_interconnect("nvlink4_switch").latency;
  CHECK(rank.cost(call, batch).time.value() == Approx(12e6 / links + 6 * hop.value()));
  all_reduce.among = Communication::Among::stage;
  call.kernel = all_reduce;
  CHECK(rank.cost(call, batch).time.value() == Approx(12e6 / 1e9));
}

TEST_CASE("rank: where each rank has requests of its own, only what follows contexts is the slowest one's") {
  Rank rank = rank_with({memory(Memory::KeptFor::anything)}, false);
  BatchShape ranks[3];
  for (std::size_t r = 0; r < 3; ++r) {
    ranks[r].decodes = ranks[r].sequences = static_cast<std::int64_t>(std::array{2, 7, 3}[r]);
    ranks[r].decode_context_sum = 10 * ranks[r].decodes;
    ranks[r].decode_context_max = 10;
  }
  const BatchShape all = in_lockstep(ranks);
  Operator copy;
  copy.kernel = Copy();
  copy.rows = Rows::decodes;
  const KernelCost copied = rank.cost(copy, all);
  CHECK(copied.time.value() == Approx(7));
  CHECK(copied.flops.value() == Approx(4));  // the mean of 2, 7 and 3
  Operator gemm;
  gemm.kernel = Gemm();
  CHECK(rank.cost(gemm, all).flops.value() == Approx(7));
}

TEST_CASE("rank: parts that a device's row says take no time are left out of its stages") {
  Rank rank = replica_on("h100_sxm", "nvlink4_switch", "");
  const StageGraph stage = build_stage(catalog_model("llama3.1-8b"), {}, {}, 0);
  rank.placement = nullptr;
  const auto names = [&](std::vector<std::string> untimed) {
    struct Untimed final : Device {
      Untimed(std::shared_ptr<const Device> of, std::vector<std::string> parts)
          : device(std::move(of)), described(device->spec()) {
        described.untimed_parts = std::move(parts);
      }
      const DeviceSpec& spec() const override { return described; }
      KernelCost cost(const KernelWork& work, int unit) const override { return device->cost(work, unit); }
      std::shared_ptr<const Device> device;
      DeviceSpec described;
    };
    Rank other = rank;
    other.on = std::make_shared<Untimed>(rank.on, std::move(untimed));
    std::vector<std::string> found;
    for (const Part& part : placed(stage, other).parts) found.push_back(part.name);
    return found;
  };
  const std::vector<std::string> all = names({});
  REQUIRE(all.size() == 3);
  CHECK(names({all[2]}) == std::vector<std::string>{all[0], all[1]});
  CHECK(names({all[0], all[2]}) == std::vector<std::string>{all[1]});
}
