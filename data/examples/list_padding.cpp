#include "data/examples/list_padding.h"

#include <algorithm>

#include "core/base/text.h"
#include "data/literal.h"

namespace tpuest::data {
namespace {

void CheckName(const std::string& name, const std::set<std::string>& names,
               const std::string& key) {
  if (names.contains(name)) return;
  const std::vector<std::string> known(names.begin(), names.end());
  throw Error(Code::kUsage,
              fmt::format("no column of lists is named '{}'{}", name,
                          known.empty() ? "" : fmt::format("; there are {}", Join(known, ", "))))
      .Key(key);
}

// The FixedLenSequenceFeature with that name; nullptr if there is none.
const FixedLenSequenceFeature* StepsOf(const InputFnOptions& options, const std::string& name) {
  const auto in = [&](const auto& features) -> const FixedLenSequenceFeature* {
    const auto found = features.find(name);
    return found == features.end() ? nullptr : std::get_if<FixedLenSequenceFeature>(&found->second);
  };
  if (const auto* const steps = in(options.parse_example)) return steps;
  if (!options.parse_sequence_example) return nullptr;
  if (const auto* const steps = in(options.parse_sequence_example->sequence_features)) return steps;
  return in(options.parse_sequence_example->context_features);
}

ColumnPlan::Padding PaddingOf(const FixedLenSequenceFeature& steps, const ColumnPlan& column) {
  const DType dtype = column.spec.dtype;
  const std::string key = column.spec.key + ".default_value";
  Tensor value = dtype == DType::kString ? Tensor::Strings({}, {""}) : Tensor(dtype, {});
  if (steps.default_value) {
    const Literal literal = ParseLiteral(*steps.default_value, key);
    if (literal.shape().rank() != 0) throw Error(Code::kUsage, "expected one value").Key(key);
    value = literal.As(column.input_dtype, key);
    if (dtype != column.input_dtype) value = value.Cast(dtype);
  }
  return {.value = std::move(value), .key = column.spec.key};
}

}  // namespace

// The padding value of a column's rows: a scalar of its type.
Tensor PaddingValueOf(const PaddingOptions& padding, const TensorSpec& column,
                      const std::string& key) {
  const auto found = padding.padding_values.find(column.name);
  if (found == padding.padding_values.end()) {
    return column.dtype == DType::kString ? Tensor::Strings({}, {""}) : Tensor(column.dtype, {});
  }
  const std::string place = fmt::format("{}.padding_values.{}", key, column.name);
  const Literal literal = ParseLiteral(found->second, place);
  if (literal.shape().rank() != 0) throw Error(Code::kUsage, "expected one value").Key(place);
  const bool is_direct = column.dtype == DType::kString || column.dtype == DType::kInt64 ||
                         column.dtype == DType::kBool;
  if (is_direct) return literal.As(column.dtype, place);
  return literal.As(IsFloating(column.dtype) ? DType::kFloat : DType::kInt64, place)
      .Cast(column.dtype);
}

ListPadder::ListPadder(const InputFnOptions& options, const std::string& key) : options_(options) {
  if (options.stages.empty()) return;
  const StageOptions& last = options.stages.back();
  const std::string place = fmt::format("{}.stages[{}]", key, options.stages.size() - 1);
  if (last.padded_batch) {
    padding_ = &*last.padded_batch;
    key_ = place + ".padded_batch";
  } else if (const auto& bucket = last.bucket_by_sequence_length; bucket && !bucket->no_padding) {
    padding_ = &*bucket;
    key_ = place + ".bucket_by_sequence_length";
  }
  has_windows_ = std::any_of(options.stages.begin(), options.stages.end(),
                             [](const StageOptions& stage) { return stage.window.has_value(); });
}

void ListPadder::CheckNames(const std::set<std::string>& lists,
                            const std::set<std::string>& columns) const {
  if (padding_ == nullptr) return;
  for (const auto& [name, shape] : padding_->padded_shapes) {
    CheckName(name, lists, key_ + ".padded_shapes");
    if (shape.size() == 1 && shape[0] >= kUnknownDim) continue;
    throw Error(Code::kUsage, "a list's padded shape is one number: [20], or [-1]")
        .Key(fmt::format("{}.padded_shapes.{}", key_, name));
  }
  for (const auto& [name, value] : padding_->padding_values) {
    CheckName(name, has_windows_ ? columns : lists, key_ + ".padding_values");
  }
}

void ListPadder::Pad(ColumnPlan& column) const {
  if (!column.is_list()) return;
  if (padding_ == nullptr) {
    if (const auto* const steps = StepsOf(options_, column.input_name)) {
      column.padding = PaddingOf(*steps, column);
    }
    return;
  }
  ColumnPlan::Padding padding{.value = PaddingValueOf(*padding_, column.spec, key_), .key = key_};
  const auto shape = padding_->padded_shapes.find(column.spec.name);
  if (shape != padding_->padded_shapes.end()) {
    padding.length = shape->second[0];
    std::vector<int64_t> dims = column.spec.shape.dims();
    dims.front() = padding.length;
    column.spec.shape = Shape(std::move(dims));
  }
  column.padding = std::move(padding);
}

}  // namespace tpuest::data
