// Devices whose decodes are attended to elsewhere: laws over random batches, and closed forms where nothing
// but peaks count.
#include <catch2/catch.hpp>
#include <cmath>

#include "policies/partitioning/partitioning.h"
#include "test/devices/priced.h"
#include "test/devices/rows.h"
#include "test/models/llm/decode_shape.h"
#include "test/models/llm/parts.h"
#include "test/policies/dice.h"
#include "test/policies/make_policy.h"

namespace weir::test {
namespace {

constexpr std::size_t host_memory = 4;  // behind the device's own two and the two ways to it

const Json peak = {{"dimm_timing", "peak"}};

// One of so many A100, with its share of the memory.
std::shared_ptr<const Device> a100_beside(const std::string& memory, const Json& keys, int devices) {
  const auto dimm = catalog_memory(memory, keys);
  REQUIRE(dimm->cannot_share(devices) == "");
  return dimm->beside(catalog_device("a100_sxm_80gb"), devices, Memory::KeptFor::kv_caches);
}

Operator whole_attention(std::int64_t kv_heads, std::int64_t group) {
  return {.name = "attention",
          .kernel = Attention{Attention::Part::whole, kv_heads * group, kv_heads, 128, DataType::fp16,
                              DataType::fp16}};
}

// Of that name, as the policy gpu_pim splits attention of these heads. `channel` -1: for all of the memory's.
Operator operator_of(const Device& device, const std::string& name, std::int64_t kv_heads, std::int64_t group,
                     int channel = -1) {
  static const auto policy = make_policy(partitioning_policies(), "gpu_pim");
  StageGraph stage;
  boost::add_vertex(whole_attention(kv_heads, group), part(stage, "block"));
  stage = policy->place(std::move(stage), device.spec().units);
  const std::vector<const Operator*> all = operators_of(stage);
  const auto found = std::ranges::find(all, name, &Operator::name);
  REQUIRE(found != all.end());
  Operator op = **found;
  if (channel >= 0) op.channels = {channel, channel + 1};
  return op;
}

struct Batch {
  std::vector<DecodeContext> contexts;
  std::vector<PrefillChunk> chunks;
  Batch(Dice& dice, int channels) {
    for (std::int64_t i = dice(1, 80); i > 0; --i)
      contexts.push_back({dice(1, 30000), static_cast<int>(dice(0, channels - 1))});
    for (std::int64_t i = dice(0, 3); i > 0; --i)
      chunks.push_back({dice(1, 2000), dice(0, 5000), static_cast<int>(dice(0, channels - 1))});
  }
  BatchShape shape() const {
    BatchShape shape = decode_shape(contexts);
    shape.prefill = chunks;
    for (const PrefillChunk& chunk : chunks) shape.prefill_tokens += chunk.tokens;
    return shape;
  }
  double tokens(int channel) const {
    double sum = 0;
    for (const DecodeContext& c : contexts) sum += c.channel == channel ? static_cast<double>(c.tokens) : 0;
    return sum;
  }
  double prompt_tokens(int channel) const {
    double sum = 0;
    for (const PrefillChunk& c : chunks) sum += c.channel == channel ? static_cast<double>(c.tokens) : 0;
    return sum;
  }
  double decodes(int channel) const {
    return static_cast<double>(std::ranges::count(contexts, channel, &DecodeContext::channel));
  }
};

double seconds(const Device& device, const Operator& op, const Batch& batch) {
  return priced(device, op, batch.shape()).time.value();
}

// DDR4-3200: 64 bits at 3200 MT/s; a column of 64 bytes of each of 16 banks every tCCD_L = 8 clocks of 0.625
// ns.
constexpr double bus = 25.6e9, banks = 16 * 64 / (8 * 0.625e-9);

constexpr const char* elsewhere[] = {"decode_attention", "offload", "onload", "store"};

}  // namespace

TEST_CASE("dimm_pim: at the peak attention takes the bytes of a rankset over its banks' bandwidth") {
  Dice dice(1);
  for (const int devices : {1, 2, 4, 8, 16})  // 16 to 1 channels each
    for (int round = 0; round < 40; ++round) {
      const int ranksets = static_cast<int>(1 << dice(0, 2)), channels = 16 / devices;
      const auto device = a100_beside("dimm_pim", {{"dimm_timing", "peak"}, {"ranksets", ranksets}}, devices);
      const std::int64_t heads = dice(1, 24), group = dice(1, 8), of = dice(0, ranksets - 1);
      const Batch batch(dice, ranksets);
      const auto channel = static_cast<int>(of);
      const Operator op = operator_of(*device, "decode_attention", heads, group, channel);
      INFO(devices << " devices, " << ranksets << " ranksets, " << heads << " heads of " << group);
      // Whole heads go to a channel, or parts of them where there are too few; every query head reads again.
      const double on_busiest = heads >= channels ? std::ceil(static_cast<double>(heads) / channels)
                                                  : static_cast<double>(heads) / channels;
      const double read = on_busiest * static_cast<double>(group) * batch.tokens(channel) * 2 * 128 * 2;
      const double ranks = 4. / ranksets;
      const double moved =
          batch.decodes(channel) * static_cast<double>(2 * heads * group + 2 * heads) * 128 * 2;
      CHECK(seconds(*device, op, batch) ==
            Approx(read / (ranks * banks) + moved / (channels * bus)).epsilon(1e-9).margin(0));
    }
}

TEST_CASE("dimm_pim: over a channel's bus K and V are read once, whoever shares them") {
  Dice dice(2);
  for (int round = 0; round < 60; ++round) {
    const int devices = static_cast<int>(1 << dice(0, 3)), channels = 16 / devices;
    const auto device = a100_beside("host_dimm", peak, devices);
    const std::int64_t heads = channels * dice(1, 4), group = dice(1, 16);
    const Batch batch(dice, 1);
    const double read = static_cast<double>(heads) * batch.tokens(0) * 2 * 128 * 2;
    const double moved = batch.decodes(0) * static_cast<double>(2 * heads * group + 2 * heads) * 128 * 2;
    const Operator op = operator_of(*device, "decode_attention", heads, group, 0);
    CHECK(seconds(*device, op, batch) == Approx((read + moved) / (channels * bus)).epsilon(1e-9));
    CHECK(priced(*device, op, batch.shape()).moved[host_memory].value() == Approx(read));
  }
}

TEST_CASE("dimm_pim: queries, results and prompts take their bytes over the narrower of link and channels") {
  Dice dice(3);
  for (const int channels : {8, 16, 32}) {  // 1, 2 and 4 a device
    Json keys = peak;
    keys["memory_channels"] = channels;
    const auto device = a100_beside("dimm_pim", keys, 8);
    const double slower = std::min(31.5e9, channels / 8 * bus);
    for (int round = 0; round < 30; ++round) {
      const std::int64_t heads = dice(1, 16), group = dice(1, 4);
      const Batch batch(dice, 4);
      const double query = static_cast<double>(heads * group) * 128 * 2,
                   token = 2 * static_cast<double>(heads) * 128 * 2,
                   decodes = static_cast<double>(batch.contexts.size());
      const auto time = [&](const char* name, int channel) {
        return seconds(*device, operator_of(*device, name, heads, group, channel), batch);
      };
      CHECK(time("offload", -1) == Approx(decodes * (query + token) / slower));
      CHECK(time("onload", -1) == Approx(decodes * query / slower));
      for (int channel = 0; channel < 4; ++channel)
        CHECK(time("store", channel) == Approx(batch.prompt_tokens(channel) * token / slower));
    }
  }
}

TEST_CASE("host memories: every operator there is a line over the steps of decodes") {
  Dice dice(4);
  for (const std::string& memory : dimms())
    for (const Json& keys : {peak, Json{{"dimm_timing", "commands"}}}) {
      const auto device = a100_beside(memory, keys, 8);
      const int ranksets = device->spec().memories.back().members;
      for (int round = 0; round < 20; ++round) {
        Batch batch(dice, ranksets);
        for (const char* name : elsewhere) {
          const Operator op =
              operator_of(*device, name, dice(1, 12), dice(1, 4), static_cast<int>(dice(-1, ranksets - 1)));
          REQUIRE(line_steps(*device, op, batch.shape()) > 1'000'000);
          const auto after = [&](std::int64_t steps) {
            Batch grown = batch;
            for (DecodeContext& context : grown.contexts) context.tokens += steps;
            return priced(*device, op, grown.shape());
          };
          const KernelCost first = after(0), second = after(1);
          INFO(memory << " " << keys.dump());
          for (const std::int64_t k : {std::int64_t{2}, dice(3, 5000)}) {
            const KernelCost cost = after(k);
            const auto steps = static_cast<double>(k);
            CHECK(cost.time.value() ==
                  Approx((first.time + steps * (second.time - first.time)).value()).epsilon(1e-9).margin(0));
            CHECK(cost.energy.value() ==
                  Approx((first.energy + steps * (second.energy - first.energy)).value())
                      .epsilon(1e-9)
                      .margin(0));
          }
        }
      }
    }
}

TEST_CASE("host memories: what the ranksets do adds up to what is done") {
  Dice dice(5);
  for (const std::string& memory : dimms()) {
    const auto device = a100_beside(memory, Json::object(), 8);
    for (int round = 0; round < 30; ++round) {
      const Batch batch(dice, device->spec().memories.back().members);
      const std::int64_t heads = dice(1, 12), group = dice(1, 4);
      for (const std::string name : {"decode_attention", "store"}) {
        KernelCost sum;
        for (int channel = 0; channel < device->spec().memories.back().members; ++channel) {
          const KernelCost one =
              priced(*device, operator_of(*device, name, heads, group, channel), batch.shape());
          sum.time += one.time, sum.flops += one.flops, sum.energy += one.energy,
              sum.moved[host_memory] += one.moved[host_memory];
        }
        const KernelCost all = priced(*device, operator_of(*device, name, heads, group), batch.shape());
        INFO(memory);
        CHECK(sum.time.value() == Approx(all.time.value()));
        CHECK(sum.flops.value() == Approx(all.flops.value()));
        CHECK(sum.energy.value() == Approx(all.energy.value()));
        CHECK(sum.moved[host_memory].value() == Approx(all.moved[host_memory].value()));
        if (name == "decode_attention")  // two multiply-adds a query head, token and element
          CHECK(all.flops.value() ==
                Approx(4. * 128 * static_cast<double>(heads * group * batch.shape().decode_context_sum)));
      }
    }
  }
}

TEST_CASE("host memories: commands are never faster than the peak, nor more ranks or channels slower") {
  Dice dice(6);
  for (const std::string& memory : dimms())
    for (int round = 0; round < 40; ++round) {
      const auto played = a100_beside(memory, {{"dimm_timing", "commands"}}, 8),
                 bound = a100_beside(memory, peak, 8),
                 wide = a100_beside(memory, {{"memory_channels", 32}}, 8),
                 deep = a100_beside(memory, {{"ranks", 8}}, 8);
      const Batch batch(dice, played->spec().memories.back().members);
      const std::int64_t heads = dice(1, 12), group = dice(1, 16);
      INFO(memory << " " << heads << " heads of " << group);
      for (const char* name : elsewhere) {
        const Operator op = operator_of(*played, name, heads, group);
        const double time = seconds(*played, op, batch);
        CHECK(time >= seconds(*bound, op, batch) * (1 - 1e-9));
        CHECK(time >= seconds(*wide, op, batch) * (1 - 1e-9));
        if (memory != "host_dimm") CHECK(time >= seconds(*deep, op, batch) * (1 - 1e-9));
      }
    }
}

TEST_CASE(
    "host memories: the device's share is its part of capacity, power and price, and its link its own") {
  for (const std::string& memory : dimms())
    for (const int devices : {1, 2, 8}) {
      const DeviceSpec whole = catalog_device(memory)->spec(),
                       alone = catalog_device("a100_sxm_80gb")->spec(),
                       both = a100_beside(memory, Json::object(), devices)->spec();
      const double share = 1. / devices;
      CHECK(both.memories.back().capacity == share * whole.own().capacity);
      CHECK(both.memories.back().bandwidth.value() == Approx(share * whole.own().bandwidth.value()));
      CHECK(both.host_bandwidth == alone.host_bandwidth);
      CHECK(both.own() == alone.own());
      CHECK(both.kind == alone.kind);
      CHECK(both.power.idle.value() == Approx((alone.power.idle + share * whole.power.idle).value()));
      CHECK(both.power.tdp.value() == Approx((alone.power.tdp + share * whole.power.tdp).value()));
      CHECK(both.dollars_per_hour == Approx(alone.dollars_per_hour + share * whole.dollars_per_hour));
      CHECK(both.memories.back().members == whole.own().members);
    }
  CHECK(catalog_memory("dimm_pim")->cannot_share(3) != "");
  CHECK(catalog_memory("dimm_pim")->cannot_share(32) != "");
}

TEST_CASE("decodes elsewhere: everything but the decodes' attention is the device's own") {
  Dice dice(7);
  const auto alone = catalog_device("a100_sxm_80gb");
  for (const auto& device : {a100_beside("dimm_pim", Json::object(), 8), catalog_device("a100_hbm_pim")}) {
    for (int round = 0; round < 50; ++round) {
      const Batch batch(dice, device->spec().memories.back().members);
      BatchShape shape = batch.shape();
      const bool one_channel = device->spec().memories.back().members == 1;
      if (one_channel) shape.contexts = {};
      BatchShape prompts = shape;
      prompts.decodes = prompts.decode_context_sum = prompts.decode_context_max = 0, prompts.contexts = {};
      const Operator attention = whole_attention(12, 1);
      Operator of_prompts = attention;
      of_prompts.rows = Rows::prompt_tokens;
      // Not split, all of it is the device's; beside a host's memory no partitioning leaves it so.
      if (one_channel) CHECK(priced(*device, attention, shape).time == priced(*alone, attention, shape).time);
      CHECK(priced(*device, of_prompts, shape).time == priced(*alone, attention, prompts).time);
      const Operator gemm = gemm_operator(dice(64, 8192), dice(64, 8192));
      CHECK(priced(*device, gemm, shape).time == priced(*alone, gemm, shape).time);
    }
  }
}

TEST_CASE("a100_hbm_pim: every query head's K and V over the banks' bandwidth, commands are slower") {
  Dice dice(8);
  const auto bound = catalog_device("a100_hbm_pim", {{"pim_bandwidth_gb_per_s", 20000}}),
             faster = catalog_device("a100_hbm_pim");
  for (int round = 0; round < 50; ++round) {
    const Batch batch(dice, 1);
    const std::int64_t heads = dice(1, 16), group = dice(1, 8);
    const Operator op = operator_of(*faster, "decode_attention", heads, group);
    const double read = static_cast<double>(heads * group * batch.shape().decode_context_sum) * 2 * 128 * 2;
    const double time = seconds(*faster, op, batch);
    CHECK(time > read / 32.6e12);
    CHECK(time < 10 * read / 32.6e12);  // a head alone fills a quarter of a row
    CHECK(seconds(*bound, op, batch) == Approx(32.6 / 20 * time));
  }
}

}  // namespace weir::test
