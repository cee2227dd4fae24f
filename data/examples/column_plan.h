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
  TensorSpec spec;   // of the result; shape [?] for lists of any length
  size_t input = 0;  // index of the column that is read
  std::string input_name;
  DType input_dtype = DType::kInvalid;
  std::optional<RawDecoder> decoder;  // before the stages
  std::vector<Stage> stages;

  // True for lists of any length: their values are told from fillers by a tensor beside them.
  [[nodiscard]] bool is_list() const { return !spec.shape.fully_known(); }
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
