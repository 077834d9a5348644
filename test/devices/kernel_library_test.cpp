#include <catch2/catch.hpp>

#include "devices/gpu.h"
#include "devices/gpu_pim/gpu_pim.h"
#include "devices/kernel_shapes.h"
#include "sim/core/embedded.h"
#include "test/devices/priced.h"

namespace weir {
extern const EmbeddedFiles kernel_catalog;
}

using namespace weir;
using namespace weir::test;

namespace {

const GpuShape shape{132, Bytes(50e6), 1};

// A GPU with an L2 to prefetch into, under two libraries whose GEMMs reach other shares of the bandwidth.
std::shared_ptr<const Device> two_libraries() {
  KernelEfficiencies first = kernels_of("hopper", shape).front(), second = first;
  second.name = "hopper_other";
  second.library = "other";
  second.gemm_16bit.memory = first.gemm_16bit.memory / 2;
  DeviceSpec spec;
  spec.kind = "two_libraries";
  spec.own().bandwidth = BytesPerSecond(3e12);
  spec.peak = [](DataType) { return FlopsPerSecond(1e15); };
  spec.units = {{"gpu", {KernelKind::gemm, KernelKind::attention, KernelKind::elementwise}}};
  Memory l2;
  l2.kept_for = Memory::KeptFor::prefetches;
  spec.memories.push_back(l2);
  return make_gpu(std::move(spec), shape, {first, second});
}

KernelCost of_gemm(const Device& gpu) {
  Operator op;
  op.kernel = Gemm{.in = 4096, .out = 4096};
  op.unit = 0;
  op.rows = Rows::tokens;
  BatchShape one;
  one.decodes = one.sequences = 1;
  return priced(gpu, op, one);
}

}  // namespace

TEST_CASE("kernel libraries: a GPU under another engine has that engine's kernels", "[gpu]") {
  const auto gpu = two_libraries();
  const auto other = gpu->with_library("other");
  REQUIRE(other);
  CHECK(of_gemm(*other).time > 1.5 * of_gemm(*gpu).time);
  CHECK(other->spec().notes.kernels == "hopper_other");
  CHECK(other->spec().notes.kernel_library == "other");
  CHECK(*other->spec().cache()->sustained == 0.5 * *gpu->spec().cache()->sustained);
  // Back again, and from either to what neither has.
  CHECK(of_gemm(*other->with_library("vllm")).time == of_gemm(*gpu).time);
  CHECK(other->with_library("sglang") == nullptr);
  CHECK(gpu->with_library("") == nullptr);
}

TEST_CASE("kernel libraries: a GPU keeps its PIM when the engine changes", "[gpu]") {
  const auto gpu = with_hbm_pim(two_libraries(), {BytesPerSecond(1e13), nullptr});
  const auto other = gpu->with_library("other");
  REQUIRE(other);
  CHECK(unit_running(other->spec().units, KernelKind::decode_attention) >= 0);
  CHECK(of_gemm(*other).time > 1.5 * of_gemm(*gpu).time);
  CHECK(gpu->with_library("sglang") == nullptr);
}

TEST_CASE("kernel libraries: of the catalog, one stands in for one of its generation and another library",
          "[gpu]") {
  for (const auto& [name, text] : kernel_catalog) {
    const Json row = Json::parse(text);
    INFO(name);
    CHECK(row.contains("library") == row.contains("generation"));
    const auto all = kernels_of(std::string(name), shape);
    CHECK(all.front().name == name);
    for (std::size_t i = 1; i < all.size(); ++i) {
      CHECK(all[i].library != all.front().library);
      CHECK(all[i].generation == all.front().generation);
    }
    if (const Json usual = row.value("stands_in_for", Json()); !usual.is_null())
      CHECK(text_of(kernel_catalog, usual.get<std::string>()));
  }
}
