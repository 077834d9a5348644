// Devices beside NDP-DIMMs, and beside a processor that computes neurons: the bank model's bandwidths, and
// closed forms of what is put on top of them.
#include <catch2/catch.hpp>

#include "models/memory/memory_row.h"
#include "models/memory/ndp_dimm/dimm_reads.h"
#include "models/neurons/neurons.h"
#include "sim/core/errors.h"
#include "test/devices/rows.h"
#include "test/policies/dice.h"

namespace weir::test {
namespace {

using Loads = std::vector<SideLoad>;
enum { computing, activation, host_link, dimm_links };  // behind the device's own units
enum : std::size_t { to_host = 2, from_host, channels, dimm_ranks };

std::shared_ptr<const Device> beside(const char* memory, const Json& keys = Json::object(), int devices = 1) {
  const auto host = catalog_memory(memory, keys);
  REQUIRE(host->cannot_share(devices) == "");
  return host->beside(catalog_device("rtx4090"), devices, Memory::KeptFor::kv_caches);
}

int behind_gpu(int which) {
  return static_cast<int>(catalog_device("rtx4090")->spec().units.size()) - 1 + which;  // without prefetch
}

// By all members of the unit: what each takes is put into `times`.
KernelCost by_members(const Device& device, int which, const Kernel& kernel, const Loads& loads,
                      std::vector<Seconds>* times = nullptr, double rows = 1) {
  const int at = behind_gpu(which);
  std::vector<Seconds> each(
      static_cast<std::size_t>(device.spec().units[static_cast<std::size_t>(at)].members));
  const KernelWork work{.name = "x", .kernel = kernel, .rows = rows, .side = loads};
  const KernelCost cost = each.size() > 1 ? device.cost_by_member(work, at, each) : device.cost(work, at);
  if (each.size() == 1) each[0] = cost.time;
  if (times) *times = each;
  return cost;
}

int computing_members(const Device& device) {
  return device.spec().units[static_cast<std::size_t>(behind_gpu(computing))].members;
}

Loads even(const Device& device, const SideLoad& load) {
  return Loads(static_cast<std::size_t>(computing_members(device)), load);
}

constexpr Neurons mlp{8192, 2, 1};  // of LLaMA2-70B, 48 KB
constexpr Attention heads{Attention::Part::decodes, 64, 8, 128};

KernelWork attending(const Kernel& kernel, std::int64_t decodes, std::int64_t tokens, double share = 1) {
  KernelWork work{.name = "decode_attention", .kernel = kernel, .rows = static_cast<double>(decodes)};
  work.batch.decodes = decodes;
  work.batch.decode_context_sum = tokens;
  work.share = share;
  return work;
}

}  // namespace

TEST_CASE("NDP-DIMM: a member reads neurons as fast as the bank model reads random pieces") {
  for (const char* memory : {"ddr4_3200_hermes", "ddr4_3200_hermes_colmaj"}) {
    const auto of = beside("ndp_dimm", {{"multipliers", 4096}, {"memory", memory}});
    const auto reads = DimmReads::shared(memory_of(memory));
    for (const std::int64_t width : {4096, 8192, 10240, 18432, 32768}) {  // 2 to 16 KB a rank
      const Neurons neurons{width, 0, 1};
      const Kernel kernel = neurons;
      const KernelCost cost = by_members(*of, computing, kernel, even(*of, {1000, 1000, 1000}));
      const double read = 1000 * static_cast<double>(2 * width);
      INFO(memory << " " << width);
      CHECK(read / cost.time.value() == Approx(4 * reads->piece_bandwidth(width / 2).value()).epsilon(0.03));
      CHECK(cost.moved[dimm_ranks].value() == Approx(8 * read));
      CHECK(cost.flops.value() == Approx(8 * 2 * 1000. * static_cast<double>(width)));
    }
  }
}

TEST_CASE("NDP-DIMM: the slowest member decides, and all of them do what is done") {
  const auto device = beside("ndp_dimm");
  Dice dice(1);
  for (int round = 0; round < 20; ++round) {
    Loads loads(8);
    for (SideLoad& load : loads) {
      load.computed = load.uses = static_cast<double>(dice(0, 500));
      load.read = load.computed + static_cast<double>(dice(0, 100));
    }
    std::vector<Seconds> times;
    const KernelCost cost = by_members(*device, computing, mlp, loads, &times);
    CHECK(cost.time == *std::ranges::max_element(times));
    const Kernel kernel = mlp;
    CHECK(
        device->cost({.name = "x", .kernel = kernel, .rows = 1, .side = loads}, behind_gpu(computing)).time ==
        cost.time);
    Joules energy;
    Bytes read;
    for (std::size_t dimm = 0; dimm < 8; ++dimm) {
      Loads alone(8);
      alone[dimm] = loads[dimm];
      const KernelCost one = by_members(*device, computing, mlp, alone);
      CHECK(one.time == times[dimm]);
      energy += one.energy;
      read += one.moved[dimm_ranks];
    }
    CHECK(cost.energy.value() == Approx(energy.value()));
    CHECK(cost.moved[dimm_ranks].value() == Approx(read.value()));
  }
  const KernelCost none = by_members(*device, computing, mlp, {});
  CHECK(none.time == Seconds(0));
  CHECK(none.energy == Joules(0));
}

TEST_CASE("NDP-DIMM: neurons that were wrongly expected cost what is before them alone") {
  const auto device = beside("ndp_dimm");
  const auto cost = [&](const Neurons& neurons, const SideLoad& load) {
    return by_members(*device, computing, neurons, even(*device, load));
  };
  const Neurons before{8192, 2, 0};
  const KernelCost right = cost(mlp, {300, 300, 300}), both = cost(mlp, {400, 300, 300}),
                   wrong = cost(before, {100, 100, 100});
  CHECK(both.moved[dimm_ranks].value() ==
        Approx((right.moved[dimm_ranks] + wrong.moved[dimm_ranks]).value()));
  CHECK(both.traffic.value() == Approx((right.traffic + wrong.traffic).value()));
  CHECK(both.flops.value() == Approx((right.flops + wrong.flops).value()));
  CHECK(cost({8192, 0, 3}, {400, 300, 300}).time == cost({8192, 0, 3}, {300, 300, 300}).time);
}

TEST_CASE("NDP-DIMM: a large batch takes what the multipliers take") {
  const Loads loads(8, {1000, 1000, 16000});
  for (const int multipliers : {32, 64}) {
    const auto device = beside("ndp_dimm", {{"multipliers", multipliers}});
    const KernelCost cost = by_members(*device, computing, mlp, loads, nullptr, 16);
    CHECK(cost.time.value() == Approx(16000. * 3 * 8192 / (multipliers * 0.5e9)));
  }
  // Inputs that the buffer does not hold cut the neurons, none of which is read twice.
  const auto small = beside("ndp_dimm", {{"buffer_kib", 128}}), large = beside("ndp_dimm");
  const KernelCost cut = by_members(*small, computing, mlp, loads, nullptr, 16),
                   whole = by_members(*large, computing, mlp, loads, nullptr, 16);
  CHECK(cut.moved == whole.moved);
  CHECK(cut.traffic > whole.traffic);
  CHECK(cut.traffic < 1.1 * whole.traffic);
}

TEST_CASE("NDP-DIMM: attention is even over the members, and a line over the steps of decodes") {
  for (const char* memory : {"ndp_dimm", "host_neurons"}) {
    const auto device = beside(memory);
    const int members = computing_members(*device);
    const int at = behind_gpu(computing);
    const Kernel kernel = heads;
    const auto cost = [&](std::int64_t tokens, double share) {
      return device->cost(attending(kernel, 16, tokens, share), at);
    };
    const KernelCost one = cost(16000, 1. / members);
    INFO(memory);
    if (members > 1) {
      std::vector<Seconds> times(static_cast<std::size_t>(members));
      const KernelCost all = device->cost_by_member(attending(kernel, 16, 16000), at, times);
      for (const Seconds time : times) CHECK(time.value() == Approx(one.time.value()));
      CHECK(all.energy.value() == Approx(members * one.energy.value()));
      CHECK(all.flops.value() == Approx(members * one.flops.value()));
      const double macs = 2. * 64 * 128 * 16000 / members;  // 8 query heads share K and V: the core's limit
      CHECK(one.time.value() == Approx(macs / 128e9).epsilon(0.01));
    } else {
      CHECK(one.time.value() == Approx(4. * 8 * 128 * 16000 / 89.6e9));
    }
    CHECK(one.flops.value() == Approx(4. * 64 * 128 * 16000 / members));
    REQUIRE(device->line_steps(attending(kernel, 16, 16), at) > 1'000'000);
    const KernelCost first = cost(16, 1), second = cost(32, 1), later = cost(16 * 5000, 1);
    CHECK(later.time.value() == Approx((first.time + 4999 * (second.time - first.time)).value()));
    CHECK(later.energy.value() == Approx((first.energy + 4999 * (second.energy - first.energy)).value()));
    CHECK(device->cost(attending(kernel, 0, 0), at).time == Seconds(0));
  }
}

TEST_CASE("NDP-DIMM: copies pay for the synchronisation where they copy anything") {
  for (const double us : {8., 0.}) {
    const auto device = beside("ndp_dimm", {{"synchronisation_us", us}});
    const int at = behind_gpu(host_link);
    for (const auto way : {Copy::Way::out, Copy::Way::back}) {
      const Kernel kernel = Copy{way, Bytes(16384)};
      const auto cost = [&](double rows) {
        return device->cost({.name = "fetch", .kernel = kernel, .rows = rows}, at);
      };
      CHECK(cost(0).time == Seconds(0));
      CHECK(cost(3).time.value() == Approx(us * 1e-6 + 3 * 16384 / 31.5e9));
      const std::size_t along = way == Copy::Way::out ? to_host : from_host;
      for (const std::size_t drawn : {along, std::size_t{channels}, std::size_t{dimm_ranks}})
        CHECK(cost(3).moved[drawn] == Bytes(3 * 16384));
    }
  }
}

TEST_CASE("NDP-DIMM: neurons cross the links of their pairs of DIMMs, the fullest decides") {
  const auto device = beside("ndp_dimm");
  const Kernel kernel = Copy{Copy::Way::out, bytes_per_neuron(mlp)};
  const Loads loads = {{10}, {0}, {40}, {5}};
  std::vector<Seconds> times;
  const KernelCost cost = by_members(*device, dimm_links, kernel, loads, &times);
  REQUIRE(times.size() == 4);
  CHECK(cost.time.value() == Approx(40 * 49152. / 25e9));
  CHECK(times[0].value() == Approx(10 * 49152. / 25e9));
  CHECK(cost.energy.value() == Approx(55 * 49152. * 8 * 1.17e-12));
  CHECK(cost.moved[dimm_ranks] == Bytes(2 * 55 * 49152.));
  CHECK(by_members(*device, dimm_links, kernel, {}).time == Seconds(0));
}

TEST_CASE("NDP-DIMM: elements go round the activation units of all DIMMs") {
  const auto device = beside("ndp_dimm");
  const Kernel kernel = Elementwise{Bytes(2 * 8 * 256 * 30)};
  const KernelCost cost = by_members(*device, activation, kernel, {}, nullptr, 4);
  CHECK(cost.time.value() == Approx(4 * 30e-9));
  CHECK(cost.moved == Moved{});
}

TEST_CASE("NDP-DIMM: units, resources and the memory of a device beside it") {
  const DeviceSpec alone = catalog_device("rtx4090")->spec(), row = catalog_device("ndp_dimm")->spec();
  for (const int devices : {1, 2, 8}) {
    const auto device = beside("ndp_dimm", Json::object(), devices);
    const DeviceSpec& spec = device->spec();
    CHECK(unit_names(spec.units) == (devices == 8
                                         ? "gpu, link, ndp_dimms, activation, host_link"
                                         : "gpu, link, ndp_dimms, activation, host_link, dimm_links"));
    const auto all = spec.resources(BytesPerSecond(1));
    REQUIRE(all.size() == most_resources);
    CHECK(all[to_host].bandwidth == alone.host_bandwidth);
    CHECK(all[channels].bandwidth.value() == Approx(102.4e9 / devices));
    CHECK(all[dimm_ranks].bandwidth.value() == Approx(8 * 96.1e9 / devices).epsilon(0.01));
    const Memory& memory = spec.memories.back();
    CHECK((memory.of_host && memory.kept_for == Memory::KeptFor::kv_caches));
    CHECK(memory.members == 1);  // a KV cache lies over all of the unit's
    CHECK(spec.units[static_cast<std::size_t>(behind_gpu(computing))].members == 8 / devices);
    CHECK(memory.capacity == Bytes(256. * (1 << 30) / devices));
    CHECK(spec.power.tdp.value() == Approx((alone.power.tdp + row.power.tdp / devices).value()));
    CHECK(spec.dollars_per_hour == Approx(alone.dollars_per_hour + row.dollars_per_hour / devices));
  }
  CHECK_THAT(catalog_memory("ndp_dimm")->cannot_share(3), Catch::Contains("8 DIMMs"));
  CHECK(unit_names(beside("host_neurons", Json::object(), 2)->spec().units) ==
        "gpu, link, host_cpu, activation, host_link");
  CHECK(beside("host_neurons")->spec().resources(BytesPerSecond(1)).size() == most_resources - 1);
}

TEST_CASE("NDP-DIMM: two devices share DIMMs or processor: each computes at half the rate") {
  for (const char* memory : {"ndp_dimm", "host_neurons"}) {
    const auto one = beside(memory), two = beside(memory, Json::object(), 2);
    const auto rate = [](const Device& device) {
      const Loads loads = even(device, {1000, 1000, 1000});
      return static_cast<double>(loads.size()) / by_members(device, computing, mlp, loads).time.value();
    };
    CHECK(rate(*one) == Approx(2 * rate(*two)));
  }
}

TEST_CASE("NDP-DIMM: DIMMs that a scenario gives bring capacity, channels, power and price") {
  const DeviceSpec row = catalog_device("ndp_dimm")->spec();
  for (const int dimms : {1, 3, 16, 64}) {
    const DeviceSpec spec = catalog_device("ndp_dimm", {{"dimms", dimms}})->spec();
    CHECK(spec.own().capacity == Bytes(dimms * 32. * (1 << 30)));
    CHECK(spec.own().bandwidth.value() == Approx((dimms + 1) / 2 * 25.6e9));
    CHECK(spec.units.front().members == dimms);
    CHECK(spec.dollars_per_hour == Approx(row.dollars_per_hour * dimms / 8));
    CHECK(spec.power.idle.value() == Approx(row.power.idle.value() * dimms / 8));
  }
  CHECK(catalog_device("ndp_dimm", {{"dimms_per_channel", 1}})->spec().own().bandwidth.value() ==
        Approx(8 * 25.6e9));
}

TEST_CASE("NDP-DIMM: types that are not modelled, or that the GPU cannot calculate in, are refused") {
  const auto device = beside("ndp_dimm");
  const auto refused = [&](const Neurons& neurons) {
    const Kernel kernel = neurons;
    const KernelWork work{.name = "up", .kernel = kernel};
    return device->cannot_run({&work, 1});
  };
  CHECK(refused(mlp) == "");
  CHECK_THAT(refused({8192, 2, 1, DataType::int8}), Catch::Contains("ndp_dimm") && Catch::Contains("int8"));
  const auto t4 = catalog_memory("ndp_dimm")->beside(catalog_device("t4"), 1, Memory::KeptFor::kv_caches);
  const Kernel kernel = mlp;
  const KernelWork work{.name = "up", .kernel = kernel};
  CHECK_THAT(t4->cannot_run({&work, 1}), Catch::Contains("t4") && Catch::Contains("bf16"));
}

TEST_CASE("NDP-DIMM: bad keys are told all at once, at their pointers") {
  const Json given = {{"dimms", 65},           {"multipliers", 0},         {"macs_per_cycle", -1},
                      {"buffer_kib", 0},       {"dimms_per_channel", 2.5}, {"synchronisation_us", -8},
                      {"memory", "ddr4_9999"}, {"dimm_link_gb_per_s", 0},  {"ranks", 4}};
  Reading reading("test");
  Params params(reading, given);
  make_device("ndp_dimm", params);
  params.close();
  std::set<std::string> pointers, wanted;
  for (const auto& [key, value] : given.items()) wanted.insert("/" + key);
  try {
    reading.finish();
  } catch (const ConfigError& e) {
    for (const Problem& p : e.problems()) pointers.insert(p.pointer);
  }
  CHECK(pointers == wanted);
}

}  // namespace weir::test
