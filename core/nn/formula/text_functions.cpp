// Functions of tf.strings whose arguments are not their op's, and what is refused by name.

#include <fmt/format.h>

#include <array>

#include "core/nn/formula/call.h"
#include "core/ops/array.h"
#include "core/ops/strings.h"
#include "core/ops/texts.h"

namespace tpuest::nn {
namespace {

Tensored TextsOf(const Arguments& a) {
  const Tensored x = a.Tensor(0, DType::kString);
  if (x.value.dtype() != DType::kString) {
    a.Fail(0, fmt::format("'{}' must be texts, found {}", a.name(0), Described(a.at(0))),
           "as_string(x) makes texts");
  }
  return x;
}

std::string TextAt(const Arguments& a, size_t i) {
  const Literal* const literal = a.at(i).literal();
  const auto* const text = literal == nullptr ? nullptr : std::get_if<std::string>(&literal->value);
  if (text != nullptr) return *text;
  a.Fail(i, fmt::format("'{}' must be a text, found {}", a.name(i), Described(a.at(i))));
}

Operand BuildToNumber(const Arguments& a) {
  const DType dtype = a.Type(1, DType::kFloat);
  const Tensored x = TextsOf(a);
  const bool reads = dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kInt32 ||
                     dtype == DType::kInt64;
  if (!reads) a.Fail(1, fmt::format("texts cannot be parsed as {}", NameOf(dtype)));
  return {Tensored{ops::StringToNumber(x.value, dtype), x.rows}};
}

Operand BuildRegexReplace(const Arguments& a) {
  constexpr size_t kAll = 3;
  const Tensored x = TextsOf(a);
  const std::string pattern = TextAt(a, 1);
  return {Tensored{ops::RegexReplace(x.value, pattern, TextAt(a, 2), a.Truth(kAll, true)), x.rows}};
}

Operand BuildRegexFullMatch(const Arguments& a) {
  const Tensored x = TextsOf(a);
  return {Tensored{ops::RegexFullMatch(x.value, TextAt(a, 1)), x.rows}};
}

Operand BuildToHashBucket(const Arguments& a) {
  const Tensored x = TextsOf(a);
  return {Tensored{ops::StringToHashBucket(x.value, a.Integer(1)), x.rows}};
}

// Joins the strings along an axis; the axis may be omitted if there is only one.
Operand BuildReduceJoin(const Arguments& a) {
  constexpr size_t kKeep = 2;
  constexpr size_t kSeparator = 3;
  const Tensored x = TextsOf(a);
  const Shape& shape = x.value.shape();
  if (!a.Has(1) && shape.known_rank() && shape.rank() != (x.rows ? 2 : 1)) {
    a.Fail(1, fmt::format("texts {} can only be joined along one axis", shape.Text()),
           "reduce_join(x, axis=-1)");
  }
  const int axis = a.Axis(1, x, -1);
  if (shape.dim(axis) == kUnknownDim || shape.dim(axis) == 0) {
    a.Fail(0, "the number of texts to join is not known");
  }
  const std::string separator = a.Has(kSeparator) ? TextAt(a, kSeparator) : "";
  const Value joined = ops::StringJoin(ops::Unpack(x.value, axis), separator);
  return {Tensored{a.Truth(kKeep, false) ? ops::ExpandDims(joined, axis) : joined, x.rows}};
}

constexpr std::array kTexts = {
    FormulaRecord{"to_number", "input, out_type=float32", BuildToNumber},
    FormulaRecord{"regex_replace", "input, pattern, rewrite, replace_global=True",
                  BuildRegexReplace},
    FormulaRecord{"regex_full_match", "input, pattern", BuildRegexFullMatch},
    FormulaRecord{"to_hash_bucket", "input, num_buckets", BuildToHashBucket},
    FormulaRecord{"split", "input, sep=None, maxsplit=-1", BuildSplit},
    FormulaRecord{"reduce_join", "inputs, axis=None, keepdims=False, separator=''",
                  BuildReduceJoin},
};

struct Refused {
  std::string_view names;  // with a space before and behind each
  std::string_view why;
  std::string_view hint;
};
constexpr std::array kRefused = {
    Refused{" string_split bytes_split unicode_split ngrams unicode_decode ",
            "the number of its results varies with each text",
            "split(x, sep)[i] is one part, substr(x, i, 1, unit='UTF8_CHAR') is one character"},
    Refused{" format unicode_encode unicode_script unicode_transcode ",
            "formulas do not have this function",
            "join([a, b], separator) and as_string(x) make texts"},
};

}  // namespace

std::span<const FormulaRecord> TextFunctions() { return kTexts; }

void RefuseByName(const Expression& e, std::string_view name) {
  for (const Refused& refused : kRefused) {
    if (refused.names.find(fmt::format(" {} ", name)) == std::string_view::npos) continue;
    FailAt(e, fmt::format("{}: {}", name, refused.why), std::string(refused.hint));
  }
}

}  // namespace tpuest::nn
