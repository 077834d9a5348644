// Which of its places an operator takes, from a snapshot of the machine.
#include <catch2/catch.hpp>
#include <map>

#include "test/policies/make_policy.h"
#include "test/policies/runtime/random_snapshot.h"

using namespace weir;
using namespace weir::test;

namespace {

using Place = OperatorPlace;

std::shared_ptr<const RuntimePolicy> make_hetero(const char* when_busy) {
  return make_runtime({{"kind", "hetero_pim"}, {"when_busy", when_busy}});
}

}  // namespace

TEST_CASE("runtime: a choice is one of the options and the same for the same snapshot", "[runtime]") {
  for (const auto& entry : runtime_policies()) {
    const auto one = make_policy(runtime_policies(), entry.name),
               other = make_policy(runtime_policies(), entry.name);
    Dice dice(2);
    for (int round = 0; round < 1000; ++round) {
      const TensorOperation operation = random_operation(dice);
      const auto options = options_for(dice, *one, operation, dice(0, 1) == 1);
      const RuntimeSnapshot now = random_snapshot(dice);
      const int chosen = one->choose(now, options);
      REQUIRE((chosen >= 0 && chosen < std::ssize(options)));
      one->choose(random_snapshot(dice), options);  // leaves nothing behind
      REQUIRE(one->choose(now, options) == chosen);
      REQUIRE(other->choose(now, options) == chosen);
    }
  }
}

TEST_CASE("runtime: a candidate never goes to the CPU while its place in the memory is idle", "[runtime]") {
  for (const char* when_busy : {"cpu", "wait", "sooner"}) {
    const auto runtime = make_hetero(when_busy);
    const std::string rule = when_busy;
    Dice dice(4);
    int idle = 0, on_cpu = 0;
    for (int round = 0; round < 4000; ++round) {
      const auto options = options_for(dice, *runtime, random_operation(dice), true);
      const RuntimeSnapshot now = random_snapshot(dice);
      const PlaceOption &memory = options.front(), &cpu = options.back();
      const bool pairs_free = now.waiting_for_pairs == 0 && now.free_pairs >= memory.least_pairs;
      const bool cores_free = now.programmable == Seconds(0);
      const bool free = memory.place == Place::programmable     ? cores_free
                        : memory.place == Place::fixed_function ? pairs_free
                                                                : pairs_free && cores_free;
      const bool to_cpu =
          options[static_cast<std::size_t>(runtime->choose(now, options))].place == Place::cpu;
      INFO(rule << ", round " << round);
      if (free) REQUIRE_FALSE(to_cpu);
      if (!free && rule == "cpu") REQUIRE(to_cpu);
      if (rule == "wait") REQUIRE_FALSE(to_cpu);
      if (!free && rule == "sooner")
        REQUIRE(to_cpu == (now.cpu + cpu.alone < wait_for(memory, now) + memory.alone));
      idle += free, on_cpu += to_cpu;
    }
    CHECK((idle > 500 && idle < 3500));
    CHECK((on_cpu > 100) == (rule != "wait"));
  }
}

TEST_CASE("runtime: pairs are free from the least that an operator starts with, and for the first who waits",
          "[runtime]") {
  for (const Place place : {Place::split, Place::fixed_function}) {
    const PlaceOption option{place, Seconds(1), 9, Place::programmable};
    RuntimeSnapshot now{.pairs = Seconds(3), .free_pairs = 9};
    CHECK(is_idle(option, now));
    now.free_pairs = 9 - 1e-12;  // the rest of a sum
    CHECK(is_idle(option, now));
    now.free_pairs = 8;
    CHECK_FALSE(is_idle(option, now));
    CHECK(wait_for(option, now) == Seconds(3));
    now = {.pairs = Seconds(3), .free_pairs = 9, .waiting_for_pairs = 1};
    CHECK_FALSE(is_idle(option, now));
  }
}

TEST_CASE("runtime: a split operator starts when pairs and whoever does its rest are both free",
          "[runtime]") {
  const RuntimeSnapshot cores_busy{.programmable = Seconds(2), .pairs = Seconds(1), .free_pairs = 100};
  CHECK_FALSE(is_idle({Place::split, Seconds(1), 9, Place::programmable}, cores_busy));
  CHECK(wait_for({Place::split, Seconds(1), 9, Place::programmable}, cores_busy) == Seconds(2));
  CHECK(is_idle({Place::split, Seconds(1), 9, Place::cpu}, cores_busy));
  CHECK(is_idle({Place::fixed_function, Seconds(1), 9}, cores_busy));
  const RuntimeSnapshot pairs_busy{.programmable = Seconds(2), .pairs = Seconds(5)};
  CHECK(wait_for({Place::split, Seconds(1), 9, Place::programmable}, pairs_busy) == Seconds(5));
  CHECK(wait_for({Place::gpu, Seconds(1)}, {.gpu = Seconds(4)}) == Seconds(4));
}

// conv4_2 of VGG-19 at batch 32: 118 GFLOP each way, at 277.5 GFLOP/s on all pairs, and on the CPU at 86
// and 106 (what Table I's shares imply). Its two gradients are ready at once.
TEST_CASE("runtime: of two gradients that are ready at once the paper's words send the second to the CPU",
          "[runtime]") {
  const std::vector<PlaceOption> filter = {{Place::split, Seconds(0.43), 9, Place::programmable},
                                           {Place::cpu, Seconds(1.38)}},
                                 input = {{Place::split, Seconds(0.43), 9, Place::programmable},
                                          {Place::cpu, Seconds(1.12)}};
  const RuntimeSnapshot idle{.free_pairs = 444};
  const RuntimeSnapshot taken{.programmable = Seconds(0.1), .pairs = Seconds(0.43), .waiting_for_pairs = 1};
  for (const auto& [rule, second] : std::map<std::string, int>{{"cpu", 1}, {"wait", 0}, {"sooner", 0}}) {
    const auto runtime = make_hetero(rule.c_str());
    CHECK(runtime->choose(idle, filter) == 0);
    CHECK(runtime->choose(taken, input) == second);
  }
  RuntimeSnapshot queue = taken;
  queue.pairs = Seconds(1);  // and then the CPU is sooner
  CHECK(make_hetero("sooner")->choose(queue, input) == 1);
}
