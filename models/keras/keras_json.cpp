#include "models/keras/keras_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace tpuest {
namespace {

constexpr int kMostNested = 200;
// An object's keys are looked up one after the other.
constexpr size_t kMostKeys = 1000;

class Parser {
 public:
  Parser(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  KerasJson Whole() {
    KerasJson value = Value(0);
    SkipSpace();
    if (at_ != text_.size()) Fault("text follows after its end");
    return value;
  }

 private:
  [[noreturn]] void Fault(const std::string& message) const {
    throw Error(Code::kData, fmt::format("{}: character {}: {}", place_, at_ + 1, message));
  }

  void SkipSpace() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string::npos) {
      ++at_;
    }
  }

  [[nodiscard]] char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool TakeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  KerasJson Value(int depth) {
    if (depth > kMostNested) Fault(fmt::format("nested more than {} deep", kMostNested));
    SkipSpace();
    if (at_ == text_.size()) Fault("it ends where a value is expected");
    switch (Peek()) {
      case '{':
        return Object(depth);
      case '[':
        return Array(depth);
      case '"':
        return String();
      default:
        break;
    }
    if (TakeWord("null")) return nullptr;
    if (TakeWord("true")) return true;
    if (TakeWord("false")) return false;
    if (TakeWord("NaN")) return std::numeric_limits<double>::quiet_NaN();
    if (TakeWord("Infinity")) return std::numeric_limits<double>::infinity();
    if (TakeWord("-Infinity")) return -std::numeric_limits<double>::infinity();
    return Number();
  }

  // Moves from one element to the next; returns false at the end.
  bool More(char end) {
    SkipSpace();
    if (Peek() == end) {
      ++at_;
      return false;
    }
    if (Peek() != ',') Fault(fmt::format("a comma or '{}' is expected", end));
    ++at_;
    return true;
  }

  bool TakeEmpty(char end) {
    ++at_;
    SkipSpace();
    if (Peek() != end) return false;
    ++at_;
    return true;
  }

  KerasJson Array(int depth) {
    KerasJson array = KerasJson::array();
    if (TakeEmpty(']')) return array;
    do {
      array.push_back(Value(depth + 1));
    } while (More(']'));
    return array;
  }

  KerasJson Object(int depth) {
    KerasJson object = KerasJson::object();
    if (TakeEmpty('}')) return object;
    do {
      SkipSpace();
      if (Peek() != '"') Fault("a key in quotes is expected");
      std::string key = String();
      SkipSpace();
      if (Peek() != ':') Fault("a colon is expected");
      ++at_;
      if (object.contains(key)) Fault("a key occurs twice");
      if (object.size() == kMostKeys)
        Fault(fmt::format("an object with more than {} keys", kMostKeys));
      object.emplace(std::move(key), Value(depth + 1));
    } while (More('}'));
    return object;
  }

  std::string String() {
    ++at_;
    std::string out;
    for (;;) {
      if (at_ == text_.size()) Fault("it ends within a string");
      const char c = text_[at_];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20) Fault("a string contains a control character");
      ++at_;
      if (c == '\\') {
        Escape(out);
      } else {
        out += c;
      }
    }
    ++at_;
    return out;
  }

  void Escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = Peek();
    ++at_;
    if (const size_t letter = kLetters.find(c); c != '\0' && letter != std::string_view::npos) {
      out += kMeanings[letter];
      return;
    }
    if (c != 'u') Fault("a string contains an invalid escape");
    uint32_t code = Hex();
    if (code >= 0xD800 && code < 0xDC00) {  // the first half of a pair
      if (!TakeWord("\\u")) Fault("an incomplete surrogate pair");
      const uint32_t low = Hex();
      if (low < 0xDC00 || low > 0xDFFF) Fault("an incomplete surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      Fault("an incomplete surrogate pair");
    }
    AppendUtf8(code, out);
  }

  uint32_t Hex() {
    uint32_t value = 0;
    const char* const begin = text_.data() + at_;
    const char* const end = begin + std::min<size_t>(4, text_.size() - std::min(at_, text_.size()));
    const auto [stop, error] = std::from_chars(begin, end, value, 16);
    if (error != std::errc() || stop != begin + 4) Fault("four hexadecimal digits are expected");
    at_ += 4;
    return value;
  }

  // Whole numbers stay whole; others, and those beyond 64 bits, are doubles.
  KerasJson Number() {
    const size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
    const std::string_view digits = text_.substr(at_, end - at_);
    const char* const last = digits.data() + digits.size();
    if (digits.find_first_of(".eE") == std::string_view::npos) {
      int64_t whole = 0;
      const auto [stop, error] = std::from_chars(digits.data(), last, whole);
      if (error == std::errc() && stop == last) return Taken(end, whole);
    }
    double value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), last, value);
    const bool beyond = error == std::errc::result_out_of_range;
    if ((error != std::errc() && !beyond) || stop != last) Fault("a value is expected");
    if (beyond) value = digits.find("e-") != std::string_view::npos ? 0.0 : HUGE_VAL;
    if (beyond && value != 0 && digits.front() == '-') value = -value;
    return Taken(end, value);
  }

  template <class T>
  KerasJson Taken(size_t end, T value) {
    at_ = end;
    return value;
  }

  std::string_view text_;
  const std::string& place_;
  size_t at_ = 0;
};

}  // namespace

KerasJson ParseKerasJson(std::string_view text, const std::string& place) {
  return Parser(text, place).Whole();
}

}  // namespace tpuest
