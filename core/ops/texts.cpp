#include "core/ops/texts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "core/base/text.h"
#include "core/base/text/letters.h"
#include "core/ops/elementwise.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value StringLength(Value x, std::string_view unit, std::string_view name) {
  return x.graph().Add("StringLength", {x}, {{"unit", std::string(unit)}}, name);
}

Value Substr(Value x, Value position, Value length, std::string_view unit, std::string_view name) {
  return x.graph().Add("Substr", {x, position, length}, {{"unit", std::string(unit)}}, name);
}

Value TextSlice(Value x, const int64_t* begin, const int64_t* end) {
  Graph& graph = x.graph();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto number = [&](int64_t n) {
    return graph.Constant(
        Tensor::Of<int32_t>({}, {static_cast<int32_t>(std::clamp<int64_t>(n, -kMost, kMost))}));
  };
  const bool from_start = begin == nullptr || *begin == 0;
  if (from_start && (end == nullptr || *end >= 0)) {
    return Substr(x, number(0), number(end == nullptr ? kMost : *end));
  }
  // The bound is inside each text, so Substr accepts it.
  const Value length = StringLength(x);
  const auto bound = [&](int64_t at) {
    if (at >= 0) return Minimum(length, number(at));
    return Maximum(AddV2(length, number(at)), number(0));
  };
  const Value position = bound(from_start ? 0 : *begin);
  const Value after = end == nullptr ? length : bound(*end);
  return Substr(x, position, Maximum(Sub(after, position), number(0)));
}

Value StringJoin(const std::vector<Value>& texts, std::string_view separator,
                 std::string_view name) {
  return texts[0].graph().Add("StringJoin", texts, {{"separator", std::string(separator)}}, name);
}

Value StringToNumber(Value x, DType out_type, std::string_view name) {
  return x.graph().Add("StringToNumber", {x}, {{"out_type", out_type}}, name);
}

namespace {

// True for the first byte of a UTF-8 character.
bool Begins(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

bool InCharacters(const Node& node) { return node.Attr<std::string>("unit") == "UTF8_CHAR"; }

int64_t LengthOf(std::string_view text, bool characters) {
  if (!characters) return static_cast<int64_t>(text.size());
  return std::count_if(text.begin(), text.end(), Begins);
}

void PlanLength(PlanContext& context) {
  const bool characters = InCharacters(context.node());
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t length = LengthOf(task.At<std::string_view>(x)[i], characters);
      task.At<int32_t>(y)[i] = static_cast<int32_t>(length);
    }
  });
}

// ---- case and spaces ----------------------------------------------------------------------------

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lowered;
}
std::string Raised(std::string_view text) {
  std::string raised(text);
  for (char& c : raised) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return raised;
}

std::string_view WithoutSpaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}
std::string Stripped(std::string_view text) { return std::string(WithoutSpaces(text)); }

using ChangeFn = std::string (*)(std::string_view);

void PlanChanged(PlanContext& context, ChangeFn change) {
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i) {
      task.At<std::string_view>(y)[i] = task.Keep(change(task.At<std::string_view>(x)[i]));
    }
  });
}

template <ChangeFn ascii, ChangeFn utf8>
void PlanLetters(PlanContext& context) {
  PlanChanged(context, context.Attr<std::string>("encoding").empty() ? ascii : utf8);
}

void PlanStrip(PlanContext& context) { PlanChanged(context, Stripped); }

// ---- parts --------------------------------------------------------------------------------------

void SubstrShape(ShapeContext& context) {
  const Shape& x = context.Input(0);
  const Shape& position = context.Input(1);
  const Shape& length = context.Input(2);
  if (!Compatible(position, length)) {
    context.Fail(fmt::format("pos is {}, but len is {}", position.Text(), length.Text()));
  }
  const bool known = position.known_rank() && x.known_rank();
  if (known && position.rank() != 0 && !Compatible(position, x)) {
    context.Fail(fmt::format("pos is {}, but the strings are {}", position.Text(), x.Text()));
  }
  context.Output(0, x);
}

// The byte offset of a position; a negative position counts from the end. nullopt if it is outside
// the text.
std::optional<size_t> ByteOf(std::string_view text, int64_t position, bool characters) {
  const int64_t length = LengthOf(text, characters);
  if (position < -length || position > length) return std::nullopt;
  const int64_t at = position < 0 ? position + length : position;
  if (!characters) return static_cast<size_t>(at);
  size_t byte = 0;
  for (int64_t skipped = -1; byte < text.size(); ++byte) {
    if (Begins(text[byte]) && ++skipped == at) break;
  }
  return byte;
}

// `length` units from a byte on; all remaining units if it is negative.
std::string_view PartFrom(std::string_view text, size_t byte, int64_t length, bool characters) {
  const std::string_view rest = text.substr(byte);
  if (length < 0) return characters ? std::string_view() : rest;
  if (!characters) return rest.substr(0, static_cast<size_t>(length));
  size_t end = 0;
  for (int64_t begun = 0; end < rest.size(); ++end) {
    if (Begins(rest[end]) && ++begun > length) break;
  }
  return length == 0 ? std::string_view() : rest.substr(0, end);
}

void PlanSubstr(PlanContext& context) {
  const Node* const node = &context.node();
  const bool characters = InCharacters(*node);
  const bool wide = context.InputDType(1) == DType::kInt64;
  const int64_t step = context.InputShape(1).rank() == 0 ? 0 : 1;
  const Buffer x = context.Input(0);
  const Buffer position = context.Input(1);
  const Buffer length = context.Input(2);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    const auto number = [&](const Buffer& from, int64_t i) -> int64_t {
      return wide ? task.At<int64_t>(from)[i * step] : task.At<int32_t>(from)[i * step];
    };
    for (int64_t i = 0; i < n; ++i) {
      const std::string_view text = task.At<std::string_view>(x)[i];
      const std::optional<size_t> byte = ByteOf(text, number(position, i), characters);
      if (!byte) {
        throw Error(Code::kData, fmt::format("Substr '{}': position {} is out of range for '{}'",
                                             node->name(), number(position, i), text))
            .At(node->origin());
      }
      const std::string_view part = PartFrom(text, *byte, number(length, i), characters);
      task.At<std::string_view>(y)[i] = task.Keep(std::string(part));
    }
  });
}

// ---- joining ------------------------------------------------------------------------------------

void StringJoinShape(ShapeContext& context) {
  Shape joined = {};
  for (int i = 0; i < context.inputs(); ++i) {
    const Shape& one = context.Input(i);
    if (one.known_rank() && one.rank() == 0) continue;
    if (joined.known_rank() && joined.rank() == 0) {
      joined = one;
      continue;
    }
    const std::optional<Shape> merged = MergeOf(joined, one);
    if (!merged) {
      context.Fail(fmt::format("strings {} and {} do not broadcast", joined.Text(), one.Text()));
    }
    joined = *merged;
  }
  context.Output(0, joined);
}

void PlanStringJoin(PlanContext& context) {
  struct Part {
    Buffer buffer;
    int64_t step;
  };
  std::vector<Part> parts;
  for (int i = 0; i < context.inputs(); ++i) {
    parts.push_back({context.Input(i), context.InputShape(i).rank() == 0 ? 0 : 1});
  }
  const auto separator = context.Attr<std::string>("separator");
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i) {
      std::string joined;
      for (size_t k = 0; k < parts.size(); ++k) {
        if (k != 0) joined += separator;
        joined += task.At<std::string_view>(parts[k].buffer)[i * parts[k].step];
      }
      task.At<std::string_view>(y)[i] = task.Keep(std::move(joined));
    }
  });
}

// ---- numbers ------------------------------------------------------------------------------------

// Parses "0x1f" after a sign.
std::optional<double> HexOf(std::string_view text) {
  if (text.size() < 3 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X')) return std::nullopt;
  double value = 0;
  for (const char c : text.substr(2)) {
    int digit = 0;
    const auto read = std::from_chars(&c, &c + 1, digit, 16);
    if (read.ec != std::errc()) return std::nullopt;
    value = value * 16 + digit;
  }
  return value;
}

// Parses a number as TensorFlow does: spaces around it, one sign, digits with a point and an
// exponent, integers in base 16, "inf" and "nan" in any case. Numbers that are too large are
// infinite.
template <class T>
std::optional<T> RealOf(std::string_view text) {
  text = WithoutSpaces(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::optional<T> value;
  const std::string word = Lowered(text);
  if (word == "inf") value = std::numeric_limits<T>::infinity();
  if (word == "nan") value = std::numeric_limits<T>::quiet_NaN();
  if (const auto hex = HexOf(text)) value = static_cast<T>(*hex);
  const bool begins = !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
  if (!value && begins) {
    T number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ptr != end || read.ec == std::errc::invalid_argument) return std::nullopt;
    // The number is too large or too small, which from_chars does not distinguish.
    if (read.ec != std::errc()) number = static_cast<T>(std::strtod(word.c_str(), nullptr));
    value = number;
  }
  if (value && negative) value = -*value;
  return value;
}

// Parses an integer: spaces around it, a minus sign, digits.
template <class T>
std::optional<T> WholeOf(std::string_view text) {
  text = WithoutSpaces(text);
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ptr != end || read.ec != std::errc()) return std::nullopt;
  return value;
}

template <class T>
void PlanNumbers(PlanContext& context) {
  const Node* const node = &context.node();
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i) {
      const std::string_view text = task.At<std::string_view>(x)[i];
      std::optional<T> number;
      if constexpr (std::is_floating_point_v<T>) {
        number = RealOf<T>(text);
      } else {
        number = WholeOf<T>(text);
      }
      if (!number) {
        throw Error(Code::kData,
                    fmt::format("StringToNumber '{}': '{}' is not a valid {}", node->name(), text,
                                NameOf(node->Attr<DType>("out_type"))))
            .At(node->origin());
      }
      task.At<T>(y)[i] = *number;
    }
  });
}

void PlanStringToNumber(PlanContext& context) {
  switch (context.OutputDType(0)) {
    case DType::kFloat:
      return PlanNumbers<float>(context);
    case DType::kDouble:
      return PlanNumbers<double>(context);
    case DType::kInt32:
      return PlanNumbers<int32_t>(context);
    default:
      return PlanNumbers<int64_t>(context);
  }
}

const OpDef kTextOps[] = {
    {.name = "StringLength",
     .signature = "input: string -> output: int32; unit: {'BYTE', 'UTF8_CHAR'} = BYTE",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanLength,
     .host = true},
    {.name = "StringLower",
     .signature = "input: string -> output: string; encoding: {'', 'utf-8'} = \"\"",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanLetters<Lowered, LowerUtf8>,
     .host = true},
    {.name = "StringUpper",
     .signature = "input: string -> output: string; encoding: {'', 'utf-8'} = \"\"",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanLetters<Raised, UpperUtf8>,
     .host = true},
    {.name = "StringStrip",
     .signature = "input: string -> output: string",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanStrip,
     .host = true},
    {.name = "Substr",
     .signature = "input: string, pos: T, len: T -> output: string; T: int32|int64; "
                  "unit: {'BYTE', 'UTF8_CHAR'} = BYTE",
     .shape = SubstrShape,
     .grad = NoGradient,
     .cpu = PlanSubstr,
     .host = true},
    {.name = "StringJoin",
     .signature = "inputs: N*string -> output: string; N: int >= 0; separator: string = \"\"",
     .shape = StringJoinShape,
     .grad = NoGradient,
     .cpu = PlanStringJoin,
     .host = true},
    {.name = "StringToNumber",
     .signature = "string_tensor: string -> output: out_type; out_type: float|double|int32|int64 = "
                  "float",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanStringToNumber,
     .host = true},
};

}  // namespace

OpFamily TextOps() { return kTextOps; }

}  // namespace tpuest::ops
