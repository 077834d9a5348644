// Tokens that the steps of a run give, by hand: of several ranks, with drafts and without.
#include <catch2/catch.hpp>

#include "sim/serving/replica/replica.h"

using namespace weir;

TEST_CASE("iteration: a run's steps give a token a decode, or as many as were accepted, on every rank") {
  Iteration plain;
  plain.shape.decodes = 3;
  plain.shape.sequences = 5;
  CHECK(plain.given_by(0) == 0);
  CHECK(plain.given_by(4) == 12);
  Iteration drafted;
  drafted.shape.decodes = 2;
  drafted.given = {3, 7, 12};
  CHECK(drafted.given_by(0) == 0);
  CHECK(drafted.given_by(1) == 3);
  CHECK(drafted.given_by(3) == 12);
  Iteration all;
  all.shape.decodes = 100;
  all.ranks = {plain, drafted, plain};
  CHECK(all.given_by(0) == 0);
  CHECK(all.given_by(2) == 6 + 7 + 6);
  drafted.members.push_back({1, true});
  drafted.steps = 9;
  drafted.later.push_back({4, 2});
  drafted.sub_batches.resize(2);
  drafted.interleaving = Interleaving::two_if_faster;
  CHECK(drafted.work().whole_if_faster);
  CHECK(drafted.work().sub_batches.size() == 2);
  CHECK(drafted.work().later.size() == 1);
  drafted.clear();
  CHECK(drafted.steps == 1);
  CHECK((drafted.members.empty() && drafted.later.empty() && drafted.given.empty()));
  CHECK((drafted.sub_batches.empty() && !drafted.work().whole_if_faster));
  CHECK(drafted.shape.decodes == 0);
}
