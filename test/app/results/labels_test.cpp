#include <catch2/catch.hpp>

#include "sim/app/results/labels.h"

using weir::label_of;
using weir::short_names;
using Names = std::vector<std::string>;

TEST_CASE("short names: the last word of a pointer, where it is the only one to end so") {
  CHECK(short_names({"/serving/replicas/0/parallelism/tensor", "/workload/arrivals/rate_per_s"}) ==
        Names{"tensor", "rate_per_s"});
  CHECK(short_names({"/seed"}) == Names{"seed"});
  CHECK(short_names({}).empty());
}

TEST_CASE("short names: a word that says little has its parent beside it") {
  CHECK(short_names({"/serving/replicas/0/count", "/serving/replicas/0/batching/kind"}) ==
        Names{"replicas/count", "batching/kind"});
}

TEST_CASE(
    "short names: keys that end alike are told apart by what is above them, by indices if by nothing else") {
  CHECK(short_names({"/workload/requests/input/cv", "/workload/requests/output/cv"}) ==
        Names{"input/cv", "output/cv"});
  CHECK(short_names({"/serving/replicas/0/parallelism/tensor", "/serving/replicas/1/parallelism/tensor"}) ==
        Names{"0/parallelism/tensor", "1/parallelism/tensor"});
  CHECK(short_names({"/a/x/kind", "/b/x/kind", "/c"}) == Names{"a/x/kind", "b/x/kind", "c"});
}

TEST_CASE("label: a word stands alone, a number has its key, and 1 is no rank to tell") {
  CHECK(label_of({{"/serving/replicas/0/parallelism/tensor", 4},
                  {"/serving/replicas/0/parallelism/pipeline", 1},
                  {"/serving/replicas/0/batching/kind", "orca"},
                  {"/workload/arrivals/rate_per_s", 8}}) == "TP4, orca, rate_per_s 8");
}

TEST_CASE("label: what two keys have alike has its key beside it") {
  CHECK(label_of({{"/training/0/net", "dcgan"}, {"/training/1/net", "dcgan"}}) == "0/net dcgan, 1/net dcgan");
  CHECK(label_of({{"/training/0/net", "dcgan"}, {"/training/1/net", "alexnet"}}) == "dcgan, alexnet");
  CHECK(label_of({{"/training/0/batch", nullptr}, {"/training/1/batch", nullptr}}) ==
        "0/batch null, 1/batch null");
  CHECK(label_of({{"/serving/replicas/0/speculation", nullptr}}) == "speculation null");
}
