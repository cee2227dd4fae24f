#pragma once
// The parsing of an input_fn's records, and the formulas of its filter and its stages.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "data/examples/example_parser.h"
#include "data/pipeline/filter.h"
#include "data/pipeline/input_settings.h"
#include "data/pipeline/stages.h"
#include "data/source.h"

namespace tpuest::data {

// The results of the stages' formulas for each record of the opened source.
struct StageAnswers {
  std::vector<std::shared_ptr<const Truths>> truths;    // by stage; nullptr without a formula
  std::shared_ptr<const std::vector<int64_t>> lengths;  // of a bucket_by_sequence_length
};

// Makes the plans for a source's columns.
class RecordPlans {
 public:
  // Keeps a reference to the settings. Throws Error kUsage for features that the parser does not
  // support.
  explicit RecordPlans(const InputSettings& settings);

  // Refuse invalid formulas: CheckFilters knows the columns of the source, CheckFormulas does not.
  void CheckFilters(const std::vector<TensorSpec>& columns) const;
  void CheckFormulas() const;

  // nullptr if the stream has the source's columns.
  [[nodiscard]] const ExampleParser* parser() const { return parser_ ? &*parser_ : nullptr; }
  // Plans the stream's columns.
  [[nodiscard]] InputPlan PlanOf(const std::vector<TensorSpec>& source_columns) const;
  // The filter of the input_fn or of a stage.
  [[nodiscard]] FilterContext FilterOf(const std::vector<TensorSpec>& source_columns, int workers,
                                       std::optional<size_t> stage = std::nullopt) const;
  // Reads the records for the formulas, in one pass per formula.
  [[nodiscard]] StageAnswers AnswersOf(const IndexedSource& source,
                                       const std::vector<TensorSpec>& columns, int workers) const;

 private:
  [[nodiscard]] std::string ParseKey() const;
  void EmplaceParser(const InputFnOptions& options, std::optional<ExampleParser>& parser) const;
  [[nodiscard]] FilterContext ContextOf(InputPlan plan, int workers, std::string key) const;
  [[nodiscard]] FilterContext LengthOf(const std::vector<TensorSpec>& source_columns,
                                       int workers) const;
  // The columns that formulas may use.
  [[nodiscard]] const std::vector<TensorSpec>& OriginalColumns(
      const std::vector<TensorSpec>& source_columns) const {
    return original_parser_ ? original_parser_->columns() : source_columns;
  }

  const InputSettings& settings_;
  std::optional<ExampleParser> parser_;
  std::optional<ExampleParser> original_parser_;
};

}  // namespace tpuest::data
