#include "data/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/utf8.h"

namespace tpuest::data {
namespace {

// The error has no key yet: ParseLiteral adds it.
[[noreturn]] void Refuse(const std::string& message) { throw Error(Code::kUsage, message); }

// Reads YAML's flow form: nested [..], and 'single', "double" quoted and plain scalars. The first
// list of an axis sets dims_[axis], and every later list must be as long. The first scalar, or
// empty list, sets depth_, the number of axes, and every later scalar must be as deep.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Literal Parse() {
    Value(0);
    Blanks();
    if (at_ != text_.size()) Refuse(fmt::format("'{}' follows the value", text_.substr(at_)));
    // An empty list ends the shape.
    dims_.resize(static_cast<size_t>(std::max(depth_, 0)));
    return {Shape(dims_), std::move(scalars_)};
  }

 private:
  void Value(int depth) {
    Blanks();
    if (Take('[')) {
      List(depth);
      return;
    }
    // A scalar next to a list: [[1], 2].
    if (depth_ >= 0 && depth != depth_) Refuse("lists of different depths in one value");
    depth_ = depth;
    scalars_.push_back(Scalar());
  }

  void List(int depth) {
    const auto axis = static_cast<size_t>(depth);
    // A list next to a scalar: [1, [2]].
    if (depth_ >= 0 && depth >= depth_) Refuse("lists of different depths in one value");
    int64_t items = 0;
    for (Blanks(); !Take(']'); Blanks()) {
      Value(depth + 1);
      ++items;
      Blanks();
      // A comma before the closing bracket is allowed, as in YAML.
      if (!Take(',') && (at_ == text_.size() || text_[at_] != ']')) {
        Refuse(fmt::format("',' or ']' expected at '{}'", text_.substr(at_)));
      }
    }
    // An empty list counts as a list of scalars: [[], []] has shape [2, 0].
    if (items == 0) depth_ = std::max(depth_, depth + 1);
    if (dims_.size() <= axis) dims_.resize(axis + 1, kUnknownDim);
    if (dims_[axis] != kUnknownDim && dims_[axis] != items) {
      Refuse(fmt::format("lists of {} and {} items at the same level", dims_[axis], items));
    }
    dims_[axis] = items;
  }

  Literal::Scalar Scalar() {
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) return Quoted();
    const size_t begin = at_;
    // A plain scalar may contain blanks ("two words"), but not at its ends.
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ']') ++at_;
    size_t end = at_;
    while (end > begin && IsBlank(text_[end - 1])) --end;
    if (end == begin) Refuse("expected a value");
    return {std::string(text_.substr(begin, end - begin)), false};
  }

  Literal::Scalar Quoted() {
    const char quote = text_[at_++];
    std::string text;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      const bool last = at_ + 1 == text_.size();
      if (c == quote) {
        if (quote == '"' || last || text_[at_ + 1] != quote) {
          ++at_;
          return {text, true};
        }
        ++at_;  // '' is a quote inside single quotes
      } else if (c == '\\' && quote == '"' && !last) {
        ++at_;
        Escaped(text);
        continue;
      }
      text.push_back(c);
    }
    Refuse(fmt::format("{} is never closed", quote));
  }

  // Appends the character for the escape at text_[at_] and leaves at_ on the escape's last
  // character. YAML's escapes \x1b, \u2028 and \U0001f600 are code points.
  void Escaped(std::string& text) {
    constexpr std::string_view kShort = "0abtnvfre";
    constexpr std::string_view kMeant("\0\a\b\t\n\v\f\r\x1b", 9);
    const char c = text_[at_];
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      const size_t found = kShort.find(c);
      text.push_back(found == std::string_view::npos ? c : kMeant[found]);
      return;
    }
    const std::string_view hex = text_.substr(at_ + 1, digits);
    uint32_t point = 0;
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), point, 16);
    if (hex.size() < digits || error != std::errc() || end != hex.data() + digits) {
      Refuse(fmt::format("\\{} needs {} hexadecimal digits", c, digits));
    }
    AppendUtf8(point, text);
    at_ += digits;
  }

  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void Blanks() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }
  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = -1;  // of the scalars, once one was read; otherwise -1
  std::vector<int64_t> dims_;
  std::vector<Literal::Scalar> scalars_;
};

template <class T>
// from_chars does not accept a leading '+', and does not depend on the locale, unlike strtod.
std::optional<T> Number(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// "010" may mean 8 (YAML 1.1) or 10 (YAML 1.2), so it is refused.
bool LeadingZero(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

std::optional<int64_t> WholeNumber(const Literal::Scalar& scalar) {
  if (scalar.quoted || LeadingZero(scalar.text)) return std::nullopt;
  return Number<int64_t>(scalar.text);
}

// Also reads ".inf", ".nan" and rationals such as 1/255, so that a scale is as exact as a division.
std::optional<double> RealNumber(const Literal::Scalar& scalar) {
  if (scalar.quoted || LeadingZero(scalar.text)) return std::nullopt;
  const std::string_view text = scalar.text;
  if (text == ".nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == ".inf" || text == "+.inf") return std::numeric_limits<double>::infinity();
  if (text == "-.inf") return -std::numeric_limits<double>::infinity();
  // The quotient is rounded once, in double.
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::optional<double> above = Number<double>(text.substr(0, slash));
    const std::optional<double> below = Number<double>(text.substr(slash + 1));
    if (!above || !below || *below == 0) return std::nullopt;
    return *above / *below;
  }
  return Number<double>(text);
}

std::optional<bool> Truth(const Literal::Scalar& scalar) {
  if (scalar.quoted) return std::nullopt;
  if (scalar.text == "true" || scalar.text == "True") return true;
  if (scalar.text == "false" || scalar.text == "False") return false;
  return std::nullopt;
}

template <class T, class Read>
Tensor Fill(const Shape& shape, const std::vector<Literal::Scalar>& scalars, Read read,
            const std::string& key) {
  Tensor tensor(kDTypeOf<T>, shape);
  for (size_t i = 0; i < scalars.size(); ++i) {
    const auto value = read(scalars[i]);
    if (!value) {
      throw Error(Code::kUsage,
                  fmt::format("expected {}, found '{}'", NameOf(kDTypeOf<T>), scalars[i].text))
          .Key(key);
    }
    tensor.data<T>()[i] = static_cast<T>(*value);
  }
  return tensor;
}

std::optional<int64_t> Int32Number(const Literal::Scalar& scalar) {
  const std::optional<int64_t> value = WholeNumber(scalar);
  if (!value || *value != static_cast<int32_t>(*value)) return std::nullopt;
  return value;
}

}  // namespace

Tensor Literal::As(DType dtype, const std::string& key) const {
  switch (dtype) {
    case DType::kString: {
      std::vector<std::string> texts;
      for (const Scalar& scalar : scalars_) texts.push_back(scalar.text);
      return Tensor::Strings(shape_, texts);
    }
    case DType::kInt64:
      return Fill<int64_t>(shape_, scalars_, WholeNumber, key);
    case DType::kInt32:
      return Fill<int32_t>(shape_, scalars_, Int32Number, key);
    case DType::kFloat:
      return Fill<float>(shape_, scalars_, RealNumber, key);
    case DType::kBool:
      return Fill<bool>(shape_, scalars_, Truth, key);
    default:
      Check(false, "no literal of {}", NameOf(dtype));
  }
  return {};
}

Tensor Literal::Infer(const std::string& key) const {
  const auto all = [&](auto reads) {
    return std::all_of(scalars_.begin(), scalars_.end(),
                       [&](const Scalar& scalar) { return reads(scalar).has_value(); });
  };
  // tf.constant([]) is float32.
  if (scalars_.empty()) return As(DType::kFloat, key);
  // Tries the narrowest type first: integers are also real numbers, bools are neither.
  if (all(Truth)) return As(DType::kBool, key);
  if (all(Int32Number)) return As(DType::kInt32, key);
  if (all(WholeNumber)) return As(DType::kInt64, key);
  if (all(RealNumber)) return As(DType::kFloat, key);
  // The values are strings or mixed; the error names the first string among numbers.
  const auto is_text = [](const Scalar& s) { return !RealNumber(s) && !Truth(s); };
  const bool texts = std::all_of(scalars_.begin(), scalars_.end(), is_text);
  if (texts) return As(DType::kString, key);
  const auto text = std::find_if(scalars_.begin(), scalars_.end(), is_text);
  throw Error(Code::kUsage,
              text == scalars_.end()
                  ? "numbers and booleans are mixed"
                  : fmt::format("numbers and text are mixed: '{}' is not a number", text->text),
              "quote the numbers that are text")
      .Key(key);
}

Literal ParseLiteral(const Raw& raw, const std::string& key) {
  try {
    return Parser(raw.text).Parse();
  } catch (Error& error) {
    throw std::move(error).Key(key);
  }
}

}  // namespace tpuest::data
