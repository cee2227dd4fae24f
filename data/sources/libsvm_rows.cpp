#include "data/sources/libsvm_rows.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "core/base/whole_number.h"

namespace tpuest::data {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr size_t kShown = 40;
constexpr double kExact = 9007199254740992.0;  // doubles represent all integers up to 2^53

std::string Quoted(std::string_view word) {
  return fmt::format("'{}{}'", word.substr(0, kShown), word.size() > kShown ? "..." : "");
}

template <class T>
std::optional<T> Finite(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = fast_float::from_chars(text.data(), end, value);
  if (text.empty() || rest != end || !std::isfinite(value)) return std::nullopt;
  if (error != std::errc() && error != std::errc::result_out_of_range) return std::nullopt;
  return value;
}

std::optional<int64_t> Whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (const auto whole = WholeNumber<int64_t>(text)) return whole;
  const std::optional<double> number = Finite<double>(text);
  if (!number || std::trunc(*number) != *number || std::abs(*number) > kExact) return std::nullopt;
  return static_cast<int64_t>(*number);
}

// The next word from `at` on; moves `at` past it. Empty at the end of the row.
std::string_view NextWord(std::string_view line, size_t& at) {
  at = std::min(line.find_first_not_of(kBlanks, at), line.size());
  const size_t begin = at;
  at = std::min(line.find_first_of(kBlanks, at), line.size());
  return line.substr(begin, at - begin);
}

std::string_view WithoutComment(std::string_view line) { return line.substr(0, line.find('#')); }

}  // namespace

// row.columns point into it.
struct LibsvmRows::State final : Row::State {
  int64_t whole_label = 0;
  float label = 0;
  float weight = 1;
  std::vector<int64_t> index;
  std::vector<float> value;
};

std::optional<float> LibsvmNumber(std::string_view text) { return Finite<float>(text); }

DType LibsvmLabelType(std::string_view line) {
  size_t at = 0;
  const std::string_view word = NextWord(WithoutComment(line), at);
  if (Whole(word)) return DType::kInt64;
  return LibsvmNumber(word) ? DType::kFloat : DType::kInvalid;
}

LibsvmRows::LibsvmRows(const LibsvmSource& options, DType label, bool has_weight)
    : base_(options.base), size_(options.size), label_(label), has_weight_(has_weight) {}

std::vector<TensorSpec> LibsvmRows::Specs(const std::string& key) const {
  std::vector<TensorSpec> specs = {{"label", label_, Shape(), key},
                                   {"index", DType::kInt64, Shape({kUnknownDim}), key},
                                   {"value", DType::kFloat, Shape({kUnknownDim}), key}};
  if (has_weight_) specs.push_back({"weight", DType::kFloat, Shape(), key});
  return specs;
}

std::optional<LibsvmFault> LibsvmRows::ReadLabel(std::string_view word, State& state) const {
  if (word.find(':') != std::string_view::npos) {
    return LibsvmFault{fmt::format("expected a label, found {}", Quoted(word)),
                       "a row begins with its label: 1 3:0.5"};
  }
  if (label_ == DType::kInt64) {
    const std::optional<int64_t> whole = Whole(word);
    if (whole) {
      state.whole_label = *whole;
      return std::nullopt;
    }
    const bool is_number = LibsvmNumber(word).has_value();
    return LibsvmFault{fmt::format("label: expected a whole number, found {}", Quoted(word)),
                       is_number ? "label_dtype: float32 reads other numbers" : ""};
  }
  const std::optional<float> number = LibsvmNumber(word);
  if (!number) {
    return LibsvmFault{fmt::format("label: expected a number, found {}", Quoted(word)), ""};
  }
  state.label = *number;
  return std::nullopt;
}

std::optional<LibsvmFault> LibsvmRows::ReadPair(std::string_view word, State& state) const {
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos) {
    return LibsvmFault{fmt::format("expected index:value, found {}", Quoted(word)), ""};
  }
  const std::optional<int64_t> index = WholeNumber<int64_t>(word.substr(0, colon));
  if (!index) {
    return LibsvmFault{
        fmt::format("index: expected a whole number, found {}", Quoted(word.substr(0, colon))),
        word.starts_with("qid:") ? "query ids (qid) are not supported; remove them" : ""};
  }
  if (*index < base_) {
    return LibsvmFault{fmt::format("index {} is below base, {}", *index, base_),
                       *index == 0 ? "base: 0 counts from 0" : ""};
  }
  const int64_t place = *index - base_;
  if (size_ && place >= *size_) {
    return LibsvmFault{fmt::format("index {} is above {}, the last of size: {}", *index,
                                   base_ + *size_ - 1, *size_),
                       *index == *size_ && base_ == 0 ? "base: 1 counts from 1" : ""};
  }
  if (!state.index.empty() && place <= state.index.back()) {
    return LibsvmFault{fmt::format("index {} follows {}; expected increasing indices", *index,
                                   state.index.back() + base_),
                       ""};
  }
  const std::string_view text = word.substr(colon + 1);
  const std::optional<float> value = LibsvmNumber(text);
  if (!value) {
    return LibsvmFault{
        fmt::format("value of index {}: expected a number, found {}", *index, Quoted(text)), "",
        colon + 1};
  }
  state.index.push_back(place);
  state.value.push_back(*value);
  return std::nullopt;
}

std::optional<LibsvmFault> LibsvmRows::Read(std::string_view line, float weight, Row& row) const {
  if (!row.state) row.state = std::make_unique<State>();
  auto& state = static_cast<State&>(*row.state);
  state.index.clear();
  state.value.clear();
  state.weight = weight;
  line = WithoutComment(line);
  size_t at = 0;
  bool is_label = true;
  for (std::string_view word = NextWord(line, at); is_label || !word.empty();
       word = NextWord(line, at)) {
    std::optional<LibsvmFault> fault = is_label ? ReadLabel(word, state) : ReadPair(word, state);
    if (fault) {
      fault->offset += at - word.size();
      return fault;
    }
    is_label = false;
  }
  const auto count = static_cast<int64_t>(state.index.size());
  const void* const label =
      label_ == DType::kInt64 ? static_cast<const void*>(&state.whole_label) : &state.label;
  row.columns = {{label, 1}, {state.index.data(), count}, {state.value.data(), count}};
  if (has_weight_) row.columns.push_back({&state.weight, 1});
  return std::nullopt;
}

}  // namespace tpuest::data
