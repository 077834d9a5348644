// Batches of attention worked out by hand: every constant above its neutral value, and cases at each bound.
#include <catch2/catch.hpp>
#include <vector>

#include "models/latency/attention.h"
#include "test/models/llm/decode_shape.h"

namespace weir::test::attention_by_hand {

namespace {

const Bytes no_l2(0);

// 6 query heads on 2 KV heads of 64 elements: 512 B a token, 256 B of them a KV head; 1536 flops a pair.
AttentionShape six_on_two() {
  return {.query_heads = 6, .kv_heads = 2, .head_dim = 64, .kv_bytes = 2};
}

double microseconds(const AttentionEfficiency& e, const Roof& roof, const BatchShape& batch) {
  return 1e6 * attention_cost(e, roof, no_l2, six_on_two(), batch).time.value();
}

AttentionEfficiency decoding() {
  AttentionEfficiency e;
  e.decode.memory = 0.5;
  e.decode.launch = Seconds(1e-6);
  e.decode.wave = Seconds(4e-6);
  e.decode.overlapped_wave = Seconds(2e-6);
  e.decode.split = Seconds(5e-6);
  e.decode.split_tokens = 600;
  e.decode.split_waves = 0.8;
  e.decode.skew = 0.5;
  return e;
}

const Roof ten{FlopsPerSecond(1e18), BytesPerSecond(1e12), 10};

}  // namespace

// 3 requests x 2 KV heads are 6 tiles, 0.6 waves. Their mean is 500 and the longest 800: 650 count. A token
// more takes 6 x 256 B / 0.5 TB/s = 3.072 ns, 650 of them 1.9968 us.
TEST_CASE("decode attention by hand: waves, the split, the skew and the launch") {
  const BatchShape batch = decodes_of(3, 1500, 800);
  AttentionEfficiency e = decoding();
  CHECK(microseconds(e, ten, batch) == Approx(1 + 5 + 1.2 + 1.9968));
  e.decode.split_tokens = 650;  // no context beyond it
  CHECK(microseconds(e, ten, batch) == Approx(1 + 1.2 + 1.9968));
  e.decode.split_tokens = 649;
  e.decode.split_waves = 0.6;  // tiles are as many as that
  CHECK(microseconds(e, ten, batch) == Approx(1 + 1.2 + 1.9968));
  e.decode.split_waves = 0.61;
  CHECK(microseconds(e, ten, batch) == Approx(1 + 5 + 1.2 + 1.9968));
  e.decode.wave = Seconds(10e-6);  // 6 us a wave of 0.6 hide all reads
  CHECK(microseconds(e, ten, batch) == Approx(1 + 5 + 6));
}

TEST_CASE("decode attention by hand: first reads cost a half more, up to their limit") {
  const BatchShape batch = decodes_of(3, 1500, 800);
  AttentionEfficiency e = decoding();
  e.decode.first_reads = 0.5;
  e.decode.first_reads_most = Seconds(2e-6);
  CHECK(microseconds(e, ten, batch) == Approx(1 + 5 + 1.2 + 1.9968 + 0.9984));
  e.decode.first_reads_most = Seconds(0.3e-6);
  CHECK(microseconds(e, ten, batch) == Approx(1 + 5 + 1.2 + 1.9968 + 0.3));
}

// 2 KV heads: 12, 15, 16 and 20 requests are 24, 30, 32 and 40 tiles on 10 SMs. What fills whole pairs of
// tiles an SM reads at 0.5 TB/s; the rest waits for one tile's own rate, 20 or, beside another, 25 GB/s.
TEST_CASE("decode attention by hand: tiles without a partner draw what one tile draws") {
  AttentionEfficiency e;
  e.decode.memory = 0.5;
  e.decode.tile_alone = BytesPerSecond(20e9);
  e.decode.tile_paired = BytesPerSecond(25e9);
  const auto nanoseconds = [&](std::int64_t requests) {  // a thousand tokens take, for each
    return microseconds(e, ten, decodes_of(requests, requests * 1000, 1000));
  };
  CHECK(nanoseconds(12) == Approx(256 * (20 / 500. + 1 / 20.)));  // 4 left over
  CHECK(nanoseconds(15) == Approx(256 * (20 / 500. + 1 / 20.)));  // 10, each alone on its SM
  CHECK(nanoseconds(16) == Approx(256 * (20 / 500. + 1 / 25.)));  // 12
  CHECK(nanoseconds(20) == Approx(256 * 40 / 500.));              // none
  // 4 tiles, exactly 0.4 of a wave, are not split and wait; with one tile fewer than the limit they do not.
  e.decode.split_waves = 0.4;
  CHECK(nanoseconds(2) == Approx(256 / 20.));
  e.decode.split_waves = 0.5;
  CHECK(nanoseconds(2) == Approx(256 * 4 / 500.));
  e.decode.tile_alone = e.decode.tile_paired =
      BytesPerSecond(500e9);  // then the memory is what they wait for
  CHECK(nanoseconds(12) == Approx(256 * 24 / 500.));
}

// 3 requests of 3 rows: 9 rows x 1536 flops a token, half as much again for exponents, at 0.25 of 1 TFLOP/s:
// 0.082944 us a token in every context, of which 500 count.
TEST_CASE("decode attention by hand: arithmetic is that of all rows, at its share of the peak") {
  AttentionEfficiency e;
  e.prefill.context = 0.25;
  e.prefill.causal = 0.125;  // prompts alone have it
  e.prefill.softmax_elements = 32;
  const Roof weak{FlopsPerSecond(1e12), BytesPerSecond(1e12), 10};
  const BatchShape batch = decodes_of(3, 1500, 800, 3);
  CHECK(microseconds(e, weak, batch) == Approx(500 * 0.082944));
  const KernelCost cost = attention_cost(e, weak, no_l2, six_on_two(), batch);
  CHECK(cost.compute.value() == Approx(500 * 0.082944e-6));
  CHECK(cost.traffic.value() == Approx(1500 * 512 / 1e12));
  CHECK(cost.flops.value() == 3. * 1500 * 1536);
}

TEST_CASE("decode attention by hand: a line holds as long as it is one") {
  AttentionEfficiency e;
  const auto steps = [&](std::int64_t mean, std::int64_t longest) {
    return decode_attention_cost(e, ten, six_on_two(), decodes_of(3, 3 * mean, longest)).steps;
  };
  e.decode.split_tokens = 128;
  CHECK(steps(100, 100) == 28);
  e.decode.skew = 0.5;
  CHECK(steps(100, 120) == 18);  // 110 count
  CHECK(steps(128, 128) == 1);
  CHECK(steps(129, 129) > 1'000'000'000);
  // Reads of 1.536 ns a token: half as much again for the first 150 ns, which 195.3 tokens take.
  e.decode = {};
  e.decode.split_tokens = 0;
  e.decode.first_reads = 0.5;
  e.decode.first_reads_most = Seconds(150e-9);
  CHECK(steps(100, 100) == 96);
  // Tiles take 0.6 of 1 us, and reads 0.6 us with 390.6 tokens.
  e.decode = {};
  e.decode.split_tokens = 0;
  e.decode.wave = Seconds(1e-6);
  CHECK(steps(100, 100) == 291);
  CHECK(decode_attention_cost(e, ten, six_on_two(), decodes_of(3, 300, 100)).slope.time == Seconds(0));
}

// 150 tokens behind 300: 45,000 pairs before and 11,250 of its own. 1536 flops, and half as many for
// exponents.
TEST_CASE("prefill attention by hand: rows in whole tiles, padding, loads and both shares of the peak") {
  AttentionEfficiency e;
  e.grid = AttentionGrid::persistent;
  e.prefill = {.context = 0.5,
               .causal = 0.25,
               .tile_rows = 128,
               .softmax_elements = 32,
               .tile_tokens = 10,
               .padding_tokens = 12,
               .launch = Seconds(3e-6)};
  const PrefillChunk chunk{150, 300};
  BatchShape batch;
  batch.prefill = {&chunk, 1};
  const Roof two{FlopsPerSecond(1e12), BytesPerSecond(1e15), 2};
  const double pair = 1.5 * 1536 / 1e6;  // us
  // Two tiles of 128 rows, and 12.
  CHECK(microseconds(e, two, batch) == Approx(3 + pair * (268 * 300 / 0.5 + (11250 + 10 * 268) / 0.25)));
  e.prefill.packed_heads = true;  // 450 rows of three heads: four tiles, 512 / 3 rows of each head
  const double rows = 512 / 3. + 12;
  CHECK(microseconds(e, two, batch) == Approx(3 + pair * (rows * 300 / 0.5 + (11250 + 10 * rows) / 0.25)));
  // On 100 SMs the longest tile counts: 128 rows with 300 keys, 150 of its own and 10 more, on one of them.
  const Roof hundred{FlopsPerSecond(1e12), BytesPerSecond(1e15), 100};
  const double tile = 4. * (64 + 32) * 128 * 100 / 1e6;
  CHECK(microseconds(e, hundred, batch) == Approx(3 + tile * (300 / 0.5 + 160 / 0.25)));
  // A slow memory: (300 + 150) x 512 B.
  e.decode.memory = 0.5;
  const Roof slow{FlopsPerSecond(1e15), BytesPerSecond(1e9), 2};
  CHECK(microseconds(e, slow, batch) == Approx(3 + 450 * 512 / 0.5e9 * 1e6));
}

TEST_CASE("attention by hand: one kernel for prompts and decodes starts once, two start twice") {
  AttentionEfficiency e = decoding();
  e.prefill.launch = Seconds(3e-6);
  const PrefillChunk chunk{150, 300};
  BatchShape prompts, both = decodes_of(3, 1500, 800);
  both.prefill = prompts.prefill = {&chunk, 1};
  const double decodes = microseconds(e, ten, decodes_of(3, 1500, 800));
  const auto beside = [&] { return microseconds(e, ten, both) - microseconds(e, ten, prompts); };
  CHECK(beside() == Approx(decodes));
  e.grid = AttentionGrid::persistent;
  CHECK(beside() == Approx(decodes - 1));  // the shorter start
  e.decode.launch = Seconds(7e-6);
  CHECK(beside() == Approx(decodes + 6 - 3));
}

// FlashAttention 2's kernel: 8 decodes of 1,000 tokens in all, and a prompt of 10. A KV head's keys and
// values are 256 B a token, 256 kB; 8 decodes x 3 heads of a group are 24 blocks, two on each of 12 SMs.
TEST_CASE("attention in waves by hand: heads of a group read again once neither L2 nor SMs hold them") {
  AttentionEfficiency e;
  e.grid = AttentionGrid::waves;
  const PrefillChunk chunk{10, 0};
  const auto moved = [&](double l2, double multiprocessors, std::int64_t decodes) {
    BatchShape batch = decodes_of(decodes, 1000, 1000);
    batch.prefill = {&chunk, 1};
    const Roof roof{FlopsPerSecond(1e15), BytesPerSecond(1e9), multiprocessors};
    const KernelCost cost = attention_cost(e, roof, Bytes(l2), six_on_two(), batch);
    CHECK(cost.time.value() == Approx(cost.moved[own_memory].value() / 1e9));
    return cost.moved[own_memory].value();
  };
  CHECK(moved(255999, 12, 9) == 10 * 512 + 3 * 1000 * 512);
  CHECK(moved(256000, 12, 9) == 10 * 512 + 1000 * 512);  // it just fits
  CHECK(moved(255999, 12, 8) == 10 * 512 + 1000 * 512);  // all are there at once
  CHECK(moved(255999, 11, 8) == 10 * 512 + 3 * 1000 * 512);
}

// 64 rows a tile, on 16 SMs. A prompt of 65 behind 100: 2 tiles in each of 6 heads; 3 decodes of 1,000
// tokens: one in each of 6. Of 30 tiles on 16 SMs the last wave is a whole one.
TEST_CASE("attention in waves by hand: a decode is a tile of rows in every query head") {
  AttentionEfficiency e;
  e.grid = AttentionGrid::waves;
  e.prefill = {.context = 0.5, .causal = 0.25, .tile_rows = 64, .tile_tokens = 10, .launch = Seconds(2e-6)};
  const PrefillChunk chunk{65, 100};
  BatchShape batch = decodes_of(3, 1000, 400);
  batch.prefill = {&chunk, 1};
  const Roof roof{FlopsPerSecond(1e12), BytesPerSecond(1e15), 16};
  const double prompt = 128 * 100 / 0.5 + (65. * 65 / 2 + 10 * 128) / 0.25,
               decodes = 64 * (1000 / 0.5 + 3 * 10 / 0.25);
  CHECK(microseconds(e, roof, batch) == Approx(2 + 1536e-6 * (prompt + decodes) * 32 / 30));
  // On 200 SMs all are there at once, and the longest decode is what a batch waits for.
  const Roof wide{FlopsPerSecond(1e12), BytesPerSecond(1e15), 200};
  CHECK(microseconds(e, wide, batch) == Approx(2 + 4. * 64 * 64 * 200 / 1e6 * (400 / 0.5 + 10 / 0.25)));
}

}  // namespace weir::test::attention_by_hand
