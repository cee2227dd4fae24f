#pragma once
// Tells by its graph what a model is made of and what a training step of it costs.

#include <cstdint>
#include <string>
#include <vector>

#include "core/estimator/step/model_builder.h"

namespace tpuest::cli {

struct LayerRow {
  std::string name;
  std::string type;
  Shape output;            // shape on one replica
  int64_t parameters = 0;  // numbers that are trained
  int64_t flops = 0;       // operations of the way forward on one replica (core/graph/flops.h)
  Place place;             // place in the job; line 0: unknown
};

struct ModelCost {
  std::vector<LayerRow> layers;
  int64_t parameters = 0;       // numbers that are trained
  int64_t parameter_bytes = 0;  // bytes of those numbers
  int64_t bytes = 0;  // bytes of all variables that are saved: with averages, slots and steps
  int64_t flops = 0;  // operations of a training step on one replica: forward, back, update
};

// `model` is built for TRAIN. A variable that layers share counts with the first of them, one that
// is no layer's in the sums alone. Error kUsage where the graph cannot be cut (core/graph/cut.h).
[[nodiscard]] ModelCost CostOf(const BuiltModel& model);

}  // namespace tpuest::cli
