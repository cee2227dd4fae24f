#pragma once
// Plans the columns of a batch and how each is computed, from names, types and shapes, before any
// record is read.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/ops/all_ops.h"
#include "data/examples/map_step.h"

namespace tpuest::data {

// A column of the batch: a chain of steps on a column of the source (or of parse_example), or a
// value of the plan's graph.
struct ColumnPlan {
  struct Stage {
    std::shared_ptr<const MapStep> step;
    size_t out_width = 0;  // bytes of a value
  };
  // One op on images, or a step on an image's values.
  struct ImageStage {
    std::shared_ptr<const ImageOp> op;  // or
    Stage stage;
    DType dtype = DType::kInvalid;  // after the stage
  };
  // The padding of a list of any length to a row of a dense column, as in Dataset.padded_batch.
  struct Padding {
    int64_t length = kUnknownDim;  // unknown: the length of the batch's longest list
    Tensor value;                  // a scalar of the column's type
    std::string key;               // key of the job, for errors
  };
  TensorSpec spec;   // of the result; shape [?] for lists of any length
  size_t input = 0;  // index of the column that is read
  std::string input_name;
  DType input_dtype = DType::kInvalid;
  std::optional<RawDecoder> decoder;  // before the stages
  std::vector<Stage> stages;
  // Follow the stages, beginning with the first op on images, which reads `image_input`.
  std::vector<ImageStage> images;
  TensorSpec image_input;
  // The result of a formula in InputPlan::graph, [?, ...]. If it is valid, there is no chain.
  Value computed = {};
  bool is_drawn = false;  // depends on a random op
  std::optional<Padding> padding;

  // True for lists of any length: another tensor marks which values are not padding.
  [[nodiscard]] bool is_list() const { return has_any_length() && !padding; }
  [[nodiscard]] bool has_any_length() const {
    return images.empty() && !computed.valid() && (padding || !spec.shape.fully_known());
  }
};

// Columns that formulas compute, and the columns that they read.
struct ColumnGraph {
  OpRegistry registry{ops::AllOps()};
  Graph graph{registry};
  std::vector<ColumnPlan> inputs;   // chains
  std::vector<Value> placeholders;  // of the inputs, [?, ...]
  // bool [?]: the places of a window that hold records; set if windows may be short.
  Value window_places;
  std::mutex mutex;  // held while the graph is compiled
};

struct InputPlan {
  std::shared_ptr<ColumnGraph> graph;  // nullptr: all columns are chains
  std::vector<ColumnPlan> features;    // sorted by name
  nn::Labels<ColumnPlan> labels;
  std::vector<ColumnPlan> forwarded;  // the id and other columns that are passed through
  int64_t window = 1;                 // records per row; above 1 the graph computes all columns

  [[nodiscard]] StreamSpec spec() const;
};

// The columns of the labels, by head: `labels`, or the source's own (a CSV source's label_name,
// libsvm's `label`); empty without either.
[[nodiscard]] nn::Labels<std::string> LabelsOf(const InputFnOptions& options);

// Plans the batch whose only feature is the result of the filter, or of a stage's formula, bool
// [rows]. Throws the errors of PlanColumns, and kUsage for a formula that is not a bool or depends
// on random numbers.
[[nodiscard]] InputPlan PlanFilter(const InputFnOptions& options,
                                   const std::vector<TensorSpec>& columns, const std::string& key,
                                   std::optional<size_t> stage = std::nullopt);

// Plans the batch whose only feature gives the length of each example for stage number `stage`, a
// bucket_by_sequence_length: a column of lists, or integers [rows].
[[nodiscard]] InputPlan PlanLengths(const InputFnOptions& options,
                                    const std::vector<TensorSpec>& columns, const std::string& key,
                                    size_t stage);

// Plans the batch. `columns` are those of the source or of parse_example; `key` is the input_fn's
// key path. Throws kUsage, at the job's keys, for an unknown column and for ops that do not fit.
[[nodiscard]] InputPlan PlanColumns(const InputFnOptions& options,
                                    const std::vector<TensorSpec>& columns, const std::string& key);

}  // namespace tpuest::data
