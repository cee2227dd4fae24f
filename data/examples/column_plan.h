#pragma once
// Plans which columns a batch has and how each is made, from names, types and shapes, before any
// record is read.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/examples/map_step.h"

namespace tpuest {

// A column of the batch as a chain of steps on a column of the source (or of parse_example).
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
  TensorSpec spec;   // of the result; shape [?] for lists of any length
  size_t input = 0;  // index of the column that is read
  std::string input_name;
  DType input_dtype = DType::kInvalid;
  std::optional<RawDecoder> decoder;  // before the stages
  std::vector<Stage> stages;
  // Behind the stages, from the first op on images on; `image_input` is what that op reads.
  std::vector<ImageStage> images;
  TensorSpec image_input;

  // True for lists of any length: their values are told from fillers by a tensor beside them.
  [[nodiscard]] bool is_list() const { return images.empty() && !spec.shape.fully_known(); }
};

struct InputPlan {
  std::vector<ColumnPlan> features;  // sorted by name
  nn::Labels<ColumnPlan> labels;
  std::optional<ColumnPlan> id;

  [[nodiscard]] StreamSpec spec() const;
};

// The columns of the labels, by head: `labels`, or what a CSV source's label_name says; none
// without either.
[[nodiscard]] nn::Labels<std::string> LabelsOf(const InputFnOptions& options);

// Plans the batch. `columns` are those of the source or of parse_example; `key` is the input_fn's
// key path. Throws Error kUsage, at the job's keys, for a name that no column has and for ops that
// do not fit.
[[nodiscard]] InputPlan PlanColumns(const InputFnOptions& options,
                                    const std::vector<TensorSpec>& columns, const std::string& key);

}  // namespace tpuest
