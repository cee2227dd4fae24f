#pragma once
// A TpuInference says which part of an inference graph runs on a TPU, in the terms of
// TPUEstimator's exports.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/visit.h"
#include "core/graph/graph.h"

namespace tpuest {

// tf.compat.v1.estimator.tpu.BatchConfig: how a server batches requests before it calls the TPU.
struct BatchConfig {
  int64_t num_batch_threads = 1;
  int64_t max_batch_size = 0;  // 0: requests are not batched
  int64_t batch_timeout_micros = 0;
  // in increasing order, the last is max_batch_size; empty: any
  std::vector<int64_t> allowed_batch_sizes;
  int64_t max_enqueued_batches = 100;

  template <class V>
  void Visit(V& v) {
    v("num_batch_threads", num_batch_threads,
      {.help = "number of batches that run at the same time", .required = true});
    v("max_batch_size", max_batch_size,
      {.help = "maximum examples in a batch; 0 disables batching of requests", .required = true});
    v("batch_timeout_micros", batch_timeout_micros,
      {.help = "microseconds to wait for a batch to fill", .required = true});
    v("allowed_batch_sizes", allowed_batch_sizes,
      {.help = "sizes to which batches are padded, in increasing order, ending with "
               "max_batch_size; [] allows any size"});
    v("max_enqueued_batches", max_enqueued_batches,
      {.help = "maximum number of batches that wait"});
  }
};

// The computation starts at `inputs` and gives `results`. Between them everything runs on the TPU
// except host ops (strings, tables) and nodes of an AfterScope. Such a node runs outside the call
// if no node on the TPU needs it, otherwise inside it as an outside compilation.
struct TpuInference {
  // The form of the call. 1: as TPUEstimator wraps a whole model_fn, inputs are captured where they
  // are read. 2: as inference_on_tpu does, inputs are passed as arguments.
  int api_version = 1;
  std::vector<Value> inputs;  // [batch, ...] each
  // In the order of the call's outputs; a result may occur twice. The call drops results that do
  // not run on the TPU, and adds further values that the graph needs.
  std::vector<Value> results;
  std::optional<BatchConfig> batch_config;
};

}  // namespace tpuest
