#pragma once
// A serving engine's additions to the kernels of a step: time of its host, rows that fill up a CUDA graph,
// launches that no graph holds, small kernels that no operator stands for. Read from a scenario's `engine`
// (sim/plan/engine_presets.cpp); StepModel asks, every step. Pure.
#include <string>

#include "models/machine/batch_shape.h"
#include "sim/core/units.h"

namespace weir {

// Steps that an engine captured before it served. The others launch kernel after kernel.
struct CudaGraphs {
  enum class Sizes {
    every,   // a graph for any number of rows: launches cost nothing, nothing is padded
    padded,  // for 1, 2, 4 and each multiple of 8 rows, up to `most_rows`; a batch takes the next larger one
    none
  };
  Sizes sizes = Sizes::every;
  std::int64_t most_rows = 0;
  bool prompts = true;  // steps with prompts have one as well

  bool hold(const BatchShape& batch) const;
  std::int64_t padding(const BatchShape& batch) const;  // rows of no request
};

struct EngineOverhead {
  // How the workers of a replica are told of a step: all at once, each by another in log2 rounds, or one
  // after another.
  enum class Messages { once, tree, each };

  std::string kind, version = {};  // in force; no version of an engine that has none
  Seconds per_step;
  Seconds per_sequence;  // not paid on a profiled device, whose tables time the sampler
  Seconds per_prompt{};  // of a chunk of it, in the step that computes it
  // The host does what requests need while the step before runs: that is a floor of a step, not added to it.
  bool overlapped = false;
  // Workers in processes of their own, which a replica of several devices has, cost this on top: a step for
  // each round of messages.
  Seconds workers_per_step{}, workers_per_sequence{};
  Messages messages = Messages::once;
  CudaGraphs graphs = {};
  // A step outside of graphs takes its host so long, during which the kernels run: the longer one counts.
  Seconds eager_step{}, launch{};  // a step, and each of its kernels
  Seconds small_kernels{};         // of a layer: its cache's writes, say
  std::string library = {};        // of its kernels; "": the device's own
  std::string collectives = {};    // the library of its collectives; "": plain rings
  bool pipelined_chunks = true;    // a prompt's next chunk may follow the one before into the pipeline

  // As of a replica of so many devices.
  EngineOverhead on(int devices) const;
  // Time of the host that its kernels wait for.
  Seconds host_time(const BatchShape& batch) const;
  // The kernels of a step do not end earlier.
  Seconds floor(const BatchShape& batch, double kernels) const;

 private:
  Seconds of_requests(const BatchShape& batch) const;
};

}  // namespace weir
