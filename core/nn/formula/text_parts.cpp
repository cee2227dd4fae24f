// tf.strings.split: the parts of each text, of which there are as many as it has. That is no tensor
// here, but one part is, and so are the first few: "" where a text has fewer, as RaggedTensor's
// to_tensor fills them up. They are cut out by regular expressions, so that they are rows of the
// graph.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/nn/formula/call.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/texts.h"

namespace tpuest::nn {
namespace {

constexpr int64_t kMostParts = 1000;   // as often as RE2 repeats
constexpr int64_t kMostOfSlice = 256;  // some nodes each

// Escapes a string so that the regular expression matches only that string.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       (static_cast<unsigned char>(c) & 0x80U) != 0;
    if (!plain) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// True if the separator ends as it begins, so that two of them may lie over each other.
bool Overlaps(std::string_view separator) {
  for (size_t n = 1; n < separator.size(); ++n) {
    if (separator.starts_with(separator.substr(separator.size() - n))) return true;
  }
  return false;
}

// The texts and what separates their parts; spaces around and between them become one.
struct Separated {
  Value x;
  std::string separator;
};
Separated SeparatedOf(const Parts& parts) {
  const Value x = parts.x.value;
  if (!parts.separator.empty()) return {x, parts.separator};
  const Value stripped = x.graph().Add("StringStrip", {x});
  return {ops::RegexReplace(stripped, "[ \\t\\n\\v\\f\\r]+", " "), " "};
}

Value TextConstant(Graph& graph, const std::string& text) {
  return graph.Constant(Tensor::Strings({}, {text}));
}

// The expression of texts that have part i, which is what its parenthesis matches. "\C" is a byte.
std::string PatternOf(const Expression& e, const Parts& parts, std::string_view separator,
                      int64_t i) {
  const std::string s = Escaped(separator);
  if (i >= kMostParts || i < -kMostParts) {
    FailAt(e, fmt::format("the largest index of a part is {}, found {}", kMostParts - 1, i));
  }
  if (i >= 0) {
    const bool rest = i == parts.most_splits;
    return fmt::format("^(?:\\C*?{}){{{}}}{}$", s, i,
                       rest ? "(\\C*)" : fmt::format("(\\C*?)(?:{}\\C*)?", s));
  }
  if (parts.most_splits >= 0) {
    FailAt(e, "parts cannot be counted from the end if 'maxsplit' leaves a rest",
           fmt::format("[{}] is the rest", parts.most_splits));
  }
  if (Overlaps(separator)) {
    FailAt(e, fmt::format(
                  "parts cannot be counted from the end if the separator {} can overlap itself",
                  Quoted(separator)));
  }
  return fmt::format("^(?:\\C*{0})?(\\C*?)(?:{0}\\C*?){{{1}}}$", s, -i - 1);
}

Value PartAt(const Expression& e, const Parts& parts, int64_t i) {
  Graph& graph = parts.x.value.graph();
  const Separated of = SeparatedOf(parts);
  const std::string pattern = PatternOf(e, parts, of.separator, i);
  const Value part = ops::RegexReplace(of.x, pattern, "\\1", false);
  if (i == 0) return part;
  const Value none = TextConstant(graph, "");
  if (parts.most_splits >= 0 && i > parts.most_splits) {
    return ops::SelectV2(ops::Equal(of.x, of.x), none, none);
  }
  return ops::SelectV2(ops::RegexFullMatch(of.x, pattern), part, none);
}

// Returns parts begin to end: each is cut from the rest after the previous ones, which is "" after
// the last part.
std::vector<Value> PartsBetween(const Parts& parts, int64_t begin, int64_t end) {
  const Separated of = SeparatedOf(parts);
  const std::string s = Escaped(of.separator);
  const Value none = TextConstant(of.x.graph(), "");
  Value rest = of.x;
  std::vector<Value> several;
  for (int64_t i = 0; i < end; ++i) {
    const bool is_rest = i == parts.most_splits;
    if (i >= begin) {
      several.push_back(is_rest ? rest
                                : ops::RegexReplace(rest, fmt::format("{}\\C*", s), "", false));
    }
    const Value goes_on = is_rest ? ops::NotEqual(rest, rest)
                                  : ops::RegexFullMatch(rest, fmt::format("\\C*{}\\C*", s));
    const Value behind = ops::RegexReplace(rest, fmt::format("^\\C*?{}", s), "", false);
    rest = ops::SelectV2(goes_on, behind, none);
  }
  return several;
}

std::optional<int64_t> WholeNumber(const Operand& operand) {
  const Literal* const literal = operand.literal();
  const auto* const integer = literal == nullptr ? nullptr : std::get_if<int64_t>(&literal->value);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

// True for an ellipsis, or for ":" once an axis of the texts.
bool KeepsTexts(const std::vector<IndexPosition>& positions, int64_t axes) {
  const auto whole = [](const IndexPosition& position) {
    return position.e->kind == Expression::Kind::kSlice &&
           std::all_of(position.values.begin(), position.values.end(),
                       [](const Operand& bound) { return bound.none(); });
  };
  if (positions.size() == 2 && positions[0].e->kind == Expression::Kind::kEllipsis) return true;
  return static_cast<int64_t>(positions.size()) == axes + 1 &&
         std::all_of(positions.begin(), positions.end() - 1, whole);
}

}  // namespace

std::string WayOutOfParts(const Parts& parts) {
  const std::string_view before = parts.x.rows ? "" : ":, ";
  return fmt::format(
      "split(x, sep)[{0}2] is one part and split(x, sep)[{0}:3] the first three; missing parts are "
      "''",
      before);
}

Operand BuildSplit(const Arguments& a) {
  const Tensored x = a.Tensor(0, DType::kString);
  if (x.value.dtype() != DType::kString) {
    a.Fail(0, fmt::format("'input' must be texts, found {}", Described(a.at(0))),
           "tf.split(value, num_or_size_splits, axis) cuts tensors");
  }
  Parts parts{.x = x, .separator = "", .most_splits = std::max<int64_t>(a.Integer(2, -1), -1)};
  if (a.Has(1)) {
    const Literal* const literal = a.at(1).literal();
    const auto* const text =
        literal == nullptr ? nullptr : std::get_if<std::string>(&literal->value);
    if (text == nullptr)
      a.Fail(1, fmt::format("'sep' must be a text, found {}", Described(a.at(1))));
    parts.separator = *text;
  }
  if (parts.separator.empty() && parts.most_splits >= 0) {
    a.Fail(2, "'maxsplit' needs a separator: splitting at spaces leaves no rest");
  }
  return {parts};
}

Operand PartsIndexed(const Expression& e, const Parts& parts,
                     const std::vector<IndexPosition>& positions) {
  const Shape& shape = parts.x.value.shape();
  const int64_t axes = shape.known_rank() ? shape.rank() - (parts.x.rows ? 1 : 0) : -1;
  if (!KeepsTexts(positions, axes)) {
    FailAt(e, "the index of a part comes after the indices of the texts", WayOutOfParts(parts));
  }
  const IndexPosition& last = positions.back();
  if (last.e->kind != Expression::Kind::kSlice) {
    const std::optional<int64_t> at = WholeNumber(last.values[0]);
    if (!at) {
      FailAt(*last.e,
             fmt::format("the index of a part must be an integer, found {}",
                         Described(last.values[0])),
             WayOutOfParts(parts));
    }
    return BuiltAt(*last.e, [&]() -> Operand {
      return {Tensored{PartAt(*last.e, parts, *at), parts.x.rows}};
    });
  }
  const int64_t begin = last.values[0].none() ? 0 : WholeNumber(last.values[0]).value_or(-1);
  const int64_t end = WholeNumber(last.values[1]).value_or(-1);
  if (begin < 0 || end <= begin || !last.values[2].none()) {
    FailAt(*last.e, "a slice of parts needs two integers and no stride", WayOutOfParts(parts));
  }
  if (end > kMostOfSlice) {
    FailAt(*last.e,
           fmt::format("a slice of parts can end at most at {}, found {}", kMostOfSlice, end));
  }
  return BuiltAt(*last.e, [&]() -> Operand {
    const std::vector<Value> several = PartsBetween(parts, begin, end);
    return {Tensored{ops::Pack(several, shape.known_rank() ? shape.rank() : -1), parts.x.rows}};
  });
}

Tensored CountOfParts(const Parts& parts) {
  const Separated of = SeparatedOf(parts);
  Graph& graph = of.x.graph();
  const auto number = [&](int64_t n) {
    return graph.ScalarOf(DType::kInt32, static_cast<double>(n));
  };
  const Value without = ops::RegexReplace(of.x, Escaped(of.separator), "");
  const Value removed = ops::Sub(ops::StringLength(of.x), ops::StringLength(without));
  Value count = ops::AddV2(
      ops::FloorDiv(removed, number(static_cast<int64_t>(of.separator.size()))), number(1));
  if (parts.separator.empty()) {
    count = ops::SelectV2(ops::Equal(of.x, TextConstant(graph, "")), number(0), count);
  }
  const bool bounded =
      parts.most_splits >= 0 && parts.most_splits < std::numeric_limits<int32_t>::max();
  if (bounded) count = ops::Minimum(count, number(parts.most_splits + 1));
  return {count, parts.x.rows};
}

}  // namespace tpuest::nn
