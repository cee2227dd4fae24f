#include "data/pipeline/record_plans.h"

#include <utility>
#include <variant>

#include "core/base/error.h"
#include "core/nn/formula/formula.h"

namespace tpuest::data {
namespace {

void CheckMap(const std::vector<MapOptions>& map) {
  for (const MapOptions& step : map) {
    if (const auto* const expr = std::get_if<ExprMap>(&step)) nn::CheckFormula(expr->value);
  }
}

bool HasFormula(const StageOptions& stage) {
  return !stage.filter.empty() || !stage.take_while.empty();
}

}  // namespace

RecordPlans::RecordPlans(const InputSettings& settings) : settings_(settings) {
  EmplaceParser(settings.options(), parser_);
  EmplaceParser(settings.original(), original_parser_);
}

std::string RecordPlans::ParseKey() const {
  return settings_.key() + (settings_.original().parse_sequence_example ? ".parse_sequence_example"
                                                                        : ".parse_example");
}

void RecordPlans::EmplaceParser(const InputFnOptions& options,
                                std::optional<ExampleParser>& parser) const {
  if (!options.parse_sequence_example) {
    if (!options.parse_example.empty()) parser.emplace(options.parse_example, ParseKey());
    return;
  }
  if (!options.parse_example.empty()) {
    throw Error(Code::kUsage,
                "parse_example and parse_sequence_example exclude each other: remove one")
        .Key(ParseKey());
  }
  parser.emplace(*options.parse_sequence_example, ParseKey());
}

void RecordPlans::CheckFormulas() const {
  const InputFnOptions& original = settings_.original();
  CheckMap(original.map);
  for (const StageOptions& stage : original.stages) CheckMap(stage.map);
  if (!original.filter.empty()) nn::CheckFormula(original.filter);
  for (const StageOptions& stage : original.stages) {
    if (!stage.filter.empty()) nn::CheckFormula(stage.filter);
    if (!stage.take_while.empty()) nn::CheckFormula(stage.take_while);
  }
}

void RecordPlans::CheckFilters(const std::vector<TensorSpec>& columns) const {
  const InputFnOptions& original = settings_.original();
  if (!original.filter.empty()) (void)FilterOf(columns, 1);
  for (size_t i = 0; i < original.stages.size(); ++i) {
    if (HasFormula(original.stages[i])) (void)FilterOf(columns, 1, i);
  }
  if (!original.stages.empty() && original.stages.back().bucket_by_sequence_length) {
    (void)LengthOf(columns, 1);
  }
}

// The only column of a TFRecordDataset, and of a source that `wrap` makes, is a string [].
InputPlan RecordPlans::PlanOf(const std::vector<TensorSpec>& source_columns) const {
  if (!parser_) return PlanColumns(settings_.options(), source_columns, settings_.key());
  if (source_columns.size() != 1 || source_columns[0].dtype != DType::kString ||
      source_columns[0].shape.rank() != 0) {
    throw Error(Code::kUsage,
                "parse_example needs a source of tf.Examples, such as "
                "TFRecordDataset; this one has columns already")
        .Key(ParseKey());
  }
  return PlanColumns(settings_.options(), parser_->columns(), settings_.key());
}

FilterContext RecordPlans::ContextOf(InputPlan plan, int workers, std::string key) const {
  return {.plan = std::move(plan),
          .parser = original_parser_ ? &*original_parser_ : nullptr,
          .workers = workers,
          .key = std::move(key)};
}

FilterContext RecordPlans::FilterOf(const std::vector<TensorSpec>& source_columns, int workers,
                                    std::optional<size_t> stage) const {
  const std::string& key = settings_.key();
  return ContextOf(PlanFilter(settings_.original(), OriginalColumns(source_columns), key, stage),
                   workers, key + ".filter");
}

FilterContext RecordPlans::LengthOf(const std::vector<TensorSpec>& source_columns,
                                    int workers) const {
  const size_t stage = settings_.original().stages.size() - 1;
  const std::string& key = settings_.key();
  return ContextOf(PlanLengths(settings_.original(), OriginalColumns(source_columns), key, stage),
                   workers, fmt::format("{}.stages[{}]", key, stage));
}

StageAnswers RecordPlans::AnswersOf(const IndexedSource& source,
                                    const std::vector<TensorSpec>& columns, int workers) const {
  const std::vector<StageOptions>& stages = settings_.original().stages;
  StageAnswers answers;
  answers.truths.resize(stages.size());
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!HasFormula(stages[i])) continue;
    answers.truths[i] =
        std::make_shared<const Truths>(TruthsOf(source, FilterOf(columns, workers, i)));
  }
  if (!stages.empty() && stages.back().bucket_by_sequence_length) {
    answers.lengths =
        std::make_shared<const std::vector<int64_t>>(LengthsOf(source, LengthOf(columns, workers)));
  }
  return answers;
}

}  // namespace tpuest::data
