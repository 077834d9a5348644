#pragma once
// A batch as kernel times depend on it: prompts, decodes, contexts. Made by the engine from a
// batch, read by models/ and devices/. A prompt is prefill until all of it is computed, even when one token
// is left.
#include <cstdint>
#include <span>

namespace weir {

struct PrefillChunk {
  std::int64_t tokens;   // new tokens of one prompt in this iteration, >= 1
  std::int64_t context;  // tokens of that prompt already in the KV cache
  int channel = 0;       // that its KV cache lies in, as of DecodeContext
};

// Where decodes are attended to, for devices that keep each request's KV cache in one of several channels.
struct DecodeContext {
  std::int64_t tokens;  // attended to, its own new one included
  int channel;
};

struct DecodeContexts {  // BatchShape::decode_context_...
  std::int64_t sum = 0, max = 0;
};

class SideLoads;  // side_loads.h

// Where attention is data-parallel, ranks in lockstep have a batch each: then this is what the fullest of
// them runs, which all others wait for, and `ranks` has every one's.
struct BatchShape {
  std::span<const PrefillChunk> prefill;
  std::int64_t prefill_tokens = 0;          // sum over prefill
  std::int64_t decodes = 0;                 // requests that generate, each in one sequence of rows
  std::int64_t decode_rows = 1;             // of each: its next token, and drafts behind it to be verified
  std::int64_t decode_context_sum = 0;      // KV tokens they attend to, their own rows included, summed
  std::int64_t decode_context_max = 0;      // and the longest of them
  std::span<const DecodeContext> contexts;  // one a decode; empty unless there are several channels
  const SideLoads* side = nullptr;          // what rows do not say; null: nothing
  std::int64_t sequences = 0;  // that yield tokens: decodes plus prompts that end in this iteration
  std::int64_t padding = 0;    // rows of no request, which fill up what the engine runs
  std::span<const BatchShape> ranks = {};  // empty: there is one
  std::int64_t routed = 0;                 // tokens of all of them, dummies included; 0: there is one
  bool beside_another = false;             // a half of two that run side by side

  std::int64_t tokens() const { return prefill_tokens + decodes * decode_rows; }
  // Rows of the LM head: every row of a decode, the last one of a prompt that ends.
  std::int64_t sampled() const { return sequences + decodes * (decode_rows - 1); }
  std::int64_t rows() const { return tokens() + padding; }  // of every GEMM of a block
  std::int64_t routed_rows() const { return ranks.empty() ? rows() : routed; }

  // All that operators depend on which follow no contexts.
  struct Counts {
    std::int64_t rows = -1, sequences = -1, sampled = -1, routed = -1;
    bool operator==(const Counts&) const = default;
  };
  Counts counts() const { return {rows(), sequences, sampled(), routed_rows()}; }
};

// The step of ranks in lockstep, as all of them wait for the fullest: decodes alone are filled up to it on
// every rank, under CUDA graphs that are as wide on each; of prompts there are those that there are. Valid as
// long as `ranks`, of which there are one or more.
BatchShape in_lockstep(std::span<const BatchShape> ranks);

}  // namespace weir
