#pragma once
// A TpuInference says what of an inference graph runs on a TPU, in the terms of TPUEstimator's
// exports.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/visit.h"
#include "core/graph/graph.h"

namespace tpuest {

// tf.compat.v1.estimator.tpu.BatchConfig: how a server gathers requests before it calls the TPU.
struct BatchConfig {
  int64_t num_batch_threads = 1;
  int64_t max_batch_size = 0;  // 0: requests are not gathered
  int64_t batch_timeout_micros = 0;
  std::vector<int64_t> allowed_batch_sizes;  // rising, the last is max_batch_size; empty: any
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

// The computation begins at `inputs` and gives `results`. Between them everything goes to the TPU
// but host ops (strings, tables) and what an AfterScope holds: such a node runs outside of the call
// where nothing on the TPU needs it, else within it as an outside compilation.
struct TpuInference {
  // The form of the call. 1: as TPUEstimator wraps a whole model_fn, inputs captured where they are
  // read. 2: as inference_on_tpu does, inputs passed as arguments.
  int api_version = 1;
  std::vector<Value> inputs;  // [batch, ...] each
  // In the order of the call's outputs; one may come twice. Those that do not run on the TPU are
  // left out, and what is wanted beside them is added.
  std::vector<Value> results;
  std::optional<BatchConfig> batch_config;
};

}  // namespace tpuest
