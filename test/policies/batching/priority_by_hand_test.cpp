// Classes of urgency by hand: the blocks and seats that a more urgent request may have, and equals in order.
#include <catch2/catch.hpp>

#include "test/policies/batching/moment.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("priority: one more urgent than the preempted may join in the same step", "[batching]") {
  // The first needs a block. The second has two and gives them up: one is left for a class above.
  Moment moment{.running = {one_decode(4, 90, 5, 0), one_decode(4, 90, 6, 2)},
                .waiting = {new_prompt(3, 1, 1)},
                .free = {0}};
  const Batch joined = moment.decided("priority");
  CHECK(joined.preempted == Names{1});
  CHECK(joined.admitted == Names{2});
  moment.waiting[0].priority = 2;
  const Batch closed = moment.decided("priority");
  CHECK(closed.preempted == Names{1});
  CHECK(closed.admitted.empty());
}

TEST_CASE("priority: of one class the order of arrival is told by the view's order, not by names",
          "[batching]") {
  Moment moment{.waiting = {new_prompt(5, 1), new_prompt(5, 1), new_prompt(5, 1)}, .order = {7, 3, 5}};
  CHECK(moment.decided("priority").admitted == Names{1, 2, 0});
  moment = {.running = {one_decode(4, 90, 5), one_decode(4, 90, 5)}, .free = {0}, .order = {5, 2}};
  CHECK(moment.decided("priority").preempted == Names{0});
  moment.order.clear();
  CHECK(moment.decided("priority").preempted == Names{1});
}

TEST_CASE("priority: a seat is given by the least urgent that is not in flight", "[batching]") {
  Moment moment{.running = {one_decode(6, 90, 7, 0), one_decode(6, 90, 7, 1), one_decode(6, 90, 7, 2)},
                .waiting = {new_prompt(3, 1, 0)},
                .seats = 3};
  CHECK(moment.decided("priority").preempted == Names{2});
  moment.running[2].in_flight = true, ++moment.running[2].computed_tokens;
  const Batch batch = moment.decided("priority");
  CHECK(batch.preempted == Names{1});
  CHECK(batch.admitted == Names{3});
}

TEST_CASE("priority: under sequence admission the less urgent give what is reserved for them", "[batching]") {
  // It holds 3 blocks and may need (8 + 21 - 1) / 4 = 7; 4 are free. The urgent one needs 24 + 5 - 1: 7
  // blocks.
  Moment moment{.running = {one_decode(8, 21, 10, 1)},
                .waiting = {new_prompt(24, 5, 0)},
                .free = {4},
                .admission = Admission::sequence};
  const Batch gives = moment.decided("priority");
  CHECK(gives.preempted == Names{0});
  CHECK(gives.admitted == Names{1});
  moment.waiting[0] = new_prompt(25, 5, 0);  // 8 blocks
  const Batch keeps = moment.decided("priority");
  CHECK(keeps.preempted.empty());
  CHECK(keeps.admitted.empty());
  CHECK(of_slices(keeps, &Slice::request) == Names{0});
}

TEST_CASE("priority: blocks come from less urgent ones of the same channel alone", "[batching]") {
  Moment moment{.running = {one_decode(8, 90, 10, 1, 0), one_decode(8, 90, 10, 1, 1)},
                .waiting = {new_prompt(8, 1, 0, 0)},
                .free = {0, 0}};
  CHECK(moment.decided("priority").preempted == Names{0});
  moment.running[0].priority = 0;  // the other one's blocks are of no use
  CHECK(moment.decided("priority").preempted.empty());
  CHECK(moment.decided("priority").admitted.empty());
}

TEST_CASE("priority: a step of decodes alone repeats itself, and an arrival counts where some wait",
          "[batching]") {
  Moment moment{.running = {one_decode(8, 90, 10), one_decode(8, 90, 10)}, .seats = 2};
  CHECK(moment.decided("priority").valid.steps == Validity::unlimited);
  CHECK_FALSE(moment.decided("priority").valid.wakes_on.any_arrival);
  moment.waiting = {new_prompt(5, 1)};
  CHECK(moment.decided("priority").valid.steps == Validity::unlimited);
  CHECK(moment.decided("priority").valid.wakes_on.any_arrival);
  moment.running[1] = new_prompt(5, 1);  // a prompt that runs
  CHECK(moment.decided("priority").valid.steps == 1);
}
