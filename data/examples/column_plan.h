#pragma once
// Plans which columns a batch has and how each is made, from names, types and shapes, before any
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

// A column of the batch as a chain of steps on a column of the source (or of parse_example), or as
// a value of the plan's graph.
struct ColumnPlan {
  struct Stage {
    std::shared_ptr<const MapStep> step;
    size_t out_width = 0;  // bytes of a value
  };
  // One op on images, or a step on the values that an image has by then.
  struct ImageStage {
    std::shared_ptr<const ImageOp> op;  // or
    Stage stage;
    DType dtype = DType::kInvalid;  // behind the stage
  };
  // How a list of any length becomes a row of a dense column, as Dataset.padded_batch does it.
  struct Padding {
    int64_t length = kUnknownDim;  // unknown: that of the batch's longest
    Tensor value;                  // a scalar of the column's type
    std::string key;               // of the job, for errors
  };
  TensorSpec spec;   // of the result; shape [?] for lists of any length
  size_t input = 0;  // index of the column that is read
  std::string input_name;
  DType input_dtype = DType::kInvalid;
  std::optional<RawDecoder> decoder;  // before the stages
  std::vector<Stage> stages;
  // Behind the stages, from the first op on images on; `image_input` is what that op reads.
  std::vector<ImageStage> images;
  TensorSpec image_input;
  // Valid: what a formula made, [?, ...], in InputPlan::graph; there is no chain then.
  Value computed = {};
  bool is_drawn = false;  // it depends on a random op
  std::optional<Padding> padding;

  // True for lists of any length: their values are told from fillers by a tensor beside them.
  [[nodiscard]] bool is_list() const { return has_any_length() && !padding; }
  [[nodiscard]] bool has_any_length() const {
    return images.empty() && !computed.valid() && (padding || !spec.shape.fully_known());
  }
};

// Columns that formulas make, and what they read.
struct ColumnGraph {
  OpRegistry registry{ops::AllOps()};
  Graph graph{registry};
  std::vector<ColumnPlan> inputs;   // chains
  std::vector<Value> placeholders;  // of the inputs, [?, ...]
  Value window_places;              // of windows that may be short: bool [?], which are theirs
  std::mutex mutex;                 // of who compiles it
};

struct InputPlan {
  std::shared_ptr<ColumnGraph> graph;  // nullptr: all columns are chains
  std::vector<ColumnPlan> features;    // sorted by name
  nn::Labels<ColumnPlan> labels;
  std::vector<ColumnPlan> forwarded;  // the id and others that are carried along
  int64_t window = 1;                 // records of a row; above 1 all columns are the graph's

  [[nodiscard]] StreamSpec spec() const;
};

// The columns of the labels, by head: `labels`, or what the source says (a CSV source's label_name,
// libsvm's `label`); none without either.
[[nodiscard]] nn::Labels<std::string> LabelsOf(const InputFnOptions& options);

// Plans the batch that has the truth of the filter, or of a stage's formula, bool [rows], as its
// only feature. Throws as PlanColumns, for a formula that is no truth, and where it depends on what
// is drawn.
[[nodiscard]] InputPlan PlanFilter(const InputFnOptions& options,
                                   const std::vector<TensorSpec>& columns, const std::string& key,
                                   std::optional<size_t> stage = std::nullopt);

// Plans the batch that has the length of each example, by stage number `stage`, a
// bucket_by_sequence_length, as its only feature: a column of lists, or whole numbers [rows].
[[nodiscard]] InputPlan PlanLengths(const InputFnOptions& options,
                                    const std::vector<TensorSpec>& columns, const std::string& key,
                                    size_t stage);

// Plans the batch. `columns` are those of the source or of parse_example; `key` is the input_fn's
// key path. Throws Error kUsage, at the job's keys, for a name that no column has and for ops that
// do not fit.
[[nodiscard]] InputPlan PlanColumns(const InputFnOptions& options,
                                    const std::vector<TensorSpec>& columns, const std::string& key);

}  // namespace tpuest::data
