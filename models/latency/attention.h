#pragma once
// FlashAttention kernels of one rank: prefill chunks against their context, decodes, and batches of both.
// Called by devices/ for each batch; pure, about 100 ns. Fitted by docs/calibration/fit.py;
// docs/calibration/README.md says what each constant stands for.
#include <span>

#include "models/machine/batch_shape.h"
#include "models/machine/kernel_cost.h"

namespace weir {

struct AttentionShape {
  double query_heads = 0, kv_heads = 0, head_dim = 0;
  double kv_bytes = 2;  // an element of the KV cache
  // Elements of a key and a value that a query multiplies with, and that are read of a token and KV head; 0:
  // two heads' width, as where nothing is latent.
  double met = 0, read = 0;
  double window = 0;  // a token attends to so many at most; 0: to all

  double width() const { return met > 0 ? met / 2 : head_dim; }        // mean of a key and a value
  double flops_per_pair() const { return 4 * query_heads * width(); }  // of one query and one key token
  double bytes_per_token() const { return kv_heads * (read > 0 ? read : 2 * head_dim) * kv_bytes; }
};

// How a kernel spreads its query tiles over the SMs.
enum class AttentionGrid {
  separate,    // prefills and decodes are kernels of their own, split over the context where tiles are few;
               // a prefill's last wave is partly filled
  persistent,  // one kernel for both that balances its work (FlashAttention 3): the longest tile bounds it
               // below
  waves,  // one kernel for both, a tile an SM at a time (FlashAttention 2): a last wave costs a whole one,
          // and a decode costs a whole tile of query rows in every query head
};

struct PrefillEfficiency {
  double context = 1, causal = 1;  // of the peak: keys before the chunk, keys of the chunk
  double tile_rows = 128;          // query rows of a tile; a chunk is rounded up to whole tiles
  double softmax_elements = 0;     // a pair costs as many elements of its head more
  double tile_tokens = 0;          // each query row costs as many keys more (loads, masks, epilogue)
  double padding_tokens = 0;       // each chunk costs as many rows more
  double wave_share = 0;           // `separate`: so much of what a last wave leaves idle is lost
  bool packed_heads = false;       // query heads of one KV head share a tile
  Seconds launch;
};

struct DecodeEfficiency {
  double memory = 1;  // of the bandwidth
  Seconds launch;
  Seconds wave,
      overlapped_wave;  // a wave of tiles (requests x KV heads over SMs): alone; beside the memory traffic
  Seconds split;        // combining the parts of a context that is cut in parts ...
  double split_tokens = 128;  // ... longer contexts are, ...
  double split_waves = 0.8;   // ... while there are fewer tiles than this share of the SMs
  // The first reads cost so many times their traffic more (TensorRT-LLM), up to this much time in all.
  double first_reads = 0;
  Seconds first_reads_most;
  // FlashAttention 2 without a split: what one tile can draw, alone on its SM and beside another. 0: enough.
  BytesPerSecond tile_alone, tile_paired;
  double skew = 0;  // unequal contexts cost their mean plus this share of the way to the longest
};

struct AttentionEfficiency {
  AttentionGrid grid = AttentionGrid::separate;
  PrefillEfficiency prefill;
  DecodeEfficiency decode;
};

// `l2` is the device's second-level cache: a `waves` grid reads a KV head again for each of its query heads
// once the decodes' keys no longer fit.
KernelCost attention_cost(const AttentionEfficiency& efficiency, const Roof& roof, Bytes l2,
                          const AttentionShape& shape, const BatchShape& batch);

// Costs a batch of decodes alone, while each context grows by a token a step.
AffineKernelCost decode_attention_cost(const AttentionEfficiency& efficiency, const Roof& roof,
                                       const AttentionShape& shape, const BatchShape& batch);

}  // namespace weir
