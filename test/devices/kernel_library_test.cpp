#include <catch2/catch.hpp>
#include <cmath>

#include "devices/gpu.h"
#include "devices/gpu_pim/gpu_pim.h"
#include "devices/kernel_shapes.h"
#include "sim/core/embedded.h"
#include "sim/studies/validation/kernels.h"
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
  second.gemms[0]->memory = first.gemms[0]->memory / 2;
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

namespace {

// Of every row of the catalog, every kind of matrix, alone and as experts, with the type whose peak it has.
template <class Check>
void for_each_efficiency(const Check& check) {
  for (const auto& [name, text] : kernel_catalog) {
    const KernelEfficiencies kernels = kernels_of(std::string(name), shape).front();
    for (std::size_t kind = 0; kind < matrix_kinds; ++kind)
      for (const bool grouped : {false, true}) {
        const MatrixChoice choice = matrix_choice(kernels, static_cast<MatrixKind>(kind), grouped);
        INFO(name << " " << choice.key);
        REQUIRE(choice.efficiency);
        check(*choice.efficiency);
      }
  }
}

constexpr Roof roof{FlopsPerSecond(1e15), BytesPerSecond(3e12), 132};

GemmShape of_rows(double rows) {
  return {.rows = rows, .in = 4096, .out = 2560, .weight_bytes = 0.5625, .activation_bytes = 1};
}

}  // namespace

TEST_CASE("kernel libraries: of every row, nothing beats its roofline, whatever the rows", "[gpu]") {
  for_each_efficiency([](const GemmEfficiency& e) {
    for (double rows = 1; rows < 20000; rows = std::ceil(1.1 * rows)) {
      for (const KernelCost& cost :
           {gemm_cost(e, roof, of_rows(rows)),
            grouped_gemm_cost(e, roof, of_rows(rows), even_load({16, 8, 128}, rows))}) {
        REQUIRE(cost.time >= cost.flops / roof.peak);
        REQUIRE(cost.time >= cost.moved[own_memory] / roof.bandwidth);
      }
    }
  });
}

TEST_CASE("kernel libraries: of every row, more rows are faster at most where its steps say so", "[gpu]") {
  for_each_efficiency([](const GemmEfficiency& e) {
    GemmEfficiency smooth = e;
    smooth.steps.clear();
    Seconds before(0);
    for (double rows = 1; rows < 9000; ++rows) {
      const KernelCost law = gemm_cost(smooth, roof, of_rows(rows)), cost = gemm_cost(e, roof, of_rows(rows));
      REQUIRE(law.time >= before);
      before = law.time;
      REQUIRE(cost.compute.value() == Approx(e.factor(rows) * law.compute.value()));
      REQUIRE(cost.traffic.value() == Approx(e.factor(rows) * law.traffic.value()));
    }
    if (!e.steps.empty()) CHECK(e.factor(e.steps.back().rows + 1) == 1);
  });
}

TEST_CASE("kernel libraries: every engine has its own on every generation of servers measured", "[gpu]") {
  for (const std::string kind : {"h100_sxm", "h200_sxm", "b200_sxm"})
    for (const std::string library : {"vllm", "trtllm", "sglang"}) {
      const auto gpu = catalog_device(kind)->with_library(library);
      INFO(kind << " " << library);
      REQUIRE(gpu);
      CHECK(gpu->spec().notes.kernel_library == library);
      CHECK(gpu->spec().notes.foreign_kernels.empty());
    }
}

TEST_CASE("kernel libraries: what was not measured under one is said, and whose it is", "[gpu]") {
  const auto said = [](const std::string& kind, const std::string& library, const Operator& op) {
    const KernelWork work = lowered(op, {});
    return catalog_device(kind)->with_library(library)->stand_ins({&work, 1});
  };
  const Operator plain = gemm_operator(4096, 4096);
  const Operator blocks = gemm_operator(4096, 4096, DataType::fp8_block, DataType::fp8_block);
  CHECK(said("h100_sxm", "vllm", plain) == "");
  CHECK(said("h100_sxm", "vllm", blocks) == "gemm_fp8_block of hopper_trtllm");
  CHECK(said("h100_sxm", "trtllm", blocks) == "");
  CHECK(said("h100_sxm", "trtllm", gemm_operator(4096, 4096, DataType::int4, DataType::bf16)) ==
        "gemm_16bit for 4bit_weights");
  CHECK(said("b200_sxm", "sglang", attention_operator(32, 8)) ==
        "prefill_attention of blackwell_vllm, decode_attention of blackwell_vllm");
  CHECK(said("b200_sxm", "sglang", {.name = "act_fn", .kernel = Elementwise{Bytes(1)}}) ==
        "elementwise of hopper");
}

TEST_CASE("kernel libraries: numbers of four bits are as fast as their peak and their bytes", "[gpu]") {
  const auto b200 = catalog_device("b200_sxm");
  const auto time = [&](DataType weights, DataType activations, std::int64_t rows) {
    const Operator op = gemm_operator(8192, 8192, weights, activations);
    return priced(*b200, op, decode_batch(rows, 1)).time;
  };
  CHECK(time(DataType::fp4, DataType::fp4, 8192) < 0.8 * time(DataType::fp8, DataType::fp8, 8192));
  CHECK(time(DataType::fp4, DataType::fp4, 1) < time(DataType::fp8, DataType::fp8, 1));
  CHECK(time(DataType::fp4, DataType::bf16, 1) < time(DataType::bf16, DataType::bf16, 1));
  // Weights alone calculate at the 16-bit peak.
  CHECK(time(DataType::fp4, DataType::bf16, 8192) > 2 * time(DataType::fp4, DataType::fp4, 8192));
}

TEST_CASE("kernel libraries: every pair of weights and activations has one kind of matrix", "[gpu]") {
  using enum DataType;
  const auto kind = [](DataType weights, DataType activations) {
    return std::string(name_of(matrix_kind({.weights = weights, .activations = activations})));
  };
  for (const DataType weights : all_data_types) {
    INFO(to_string(weights));
    const bool four = weights == int4 || weights == fp4 || weights == mxfp4;
    for (const DataType activations : {fp32, bf16, fp16})
      CHECK(kind(weights, activations) == (four ? "4bit_weights" : "16bit"));
    for (const DataType activations : {fp8, int8})
      CHECK(kind(weights, activations) == (four ? "4bit_by_8bit" : "8bit"));
    CHECK(kind(weights, fp8_block) == "fp8_block");
    for (const DataType activations : {int4, fp4, mxfp4}) CHECK(kind(weights, activations) == "fp4");
  }
}

TEST_CASE(
    "kernel libraries: experts take their own kernels, then matrices of their kind, then what stands in",
    "[gpu]") {
  KernelEfficiencies kernels = kernels_of("hopper", shape).front();
  kernels.gemms = {}, kernels.experts = {};
  const GemmEfficiency any = *kernels_of("hopper", shape).front().gemms[0];
  const auto set = [&](MatrixEfficiencies& all, MatrixKind kind) {
    all[static_cast<std::size_t>(kind)] = any;
  };
  const auto chosen = [&](bool grouped) {
    return matrix_choice(kernels, MatrixKind::four_by_eight_bit, grouped).key;
  };
  set(kernels.gemms, MatrixKind::eight_bit);
  CHECK(chosen(true) == "gemm_8bit");
  set(kernels.experts, MatrixKind::eight_bit);
  CHECK(chosen(true) == "experts_8bit");
  CHECK(chosen(false) == "gemm_8bit");
  set(kernels.gemms, MatrixKind::four_by_eight_bit);
  CHECK(chosen(true) == "gemm_4bit_by_8bit");
  CHECK(chosen(false) == "gemm_4bit_by_8bit");
  set(kernels.experts, MatrixKind::four_by_eight_bit);
  CHECK(chosen(true) == "experts_4bit_by_8bit");
  CHECK(chosen(false) == "gemm_4bit_by_8bit");
}
