#include "config/formula/syntax.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace tpuest::config {
namespace {

using Kind = Expression::Kind;

constexpr size_t kLongestFormula = 4096;
constexpr int kDeepestFormula = 64;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads a formula, the loosest operator first.
class FormulaReader {
 public:
  explicit FormulaReader(std::string_view text) : text_(text) {}

  Expression Run() {
    if (text_.size() > kLongestFormula) Fail("a formula has at most 4096 bytes", "", 0);
    Expression result = Conditional();
    SkipSpace();
    if (at_ < text_.size()) {
      const char c = text_[at_];
      Fail(fmt::format("'{}' does not go on a formula", text_.substr(at_, 1)),
           c == '=' ? "== compares" : "", at_);
    }
    return result;
  }

 private:
  class Deeper {
   public:
    explicit Deeper(FormulaReader& reader) : reader_(reader) {
      if (++reader_.depth_ > kDeepestFormula) reader_.Fail("nested too deeply", "", reader_.at_);
    }
    ~Deeper() { --reader_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    FormulaReader& reader_;
  };

  [[noreturn]] static void Fail(std::string message, std::string hint, size_t at,
                                size_t width = 1) {
    throw FormulaError{std::move(message), std::move(hint), at, width};
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }

  // True if the word or the sign stands next; it is then passed over.
  bool Take(std::string_view sign) {
    SkipSpace();
    if (!text_.substr(at_).starts_with(sign)) return false;
    const size_t end = at_ + sign.size();
    const bool is_word = IsLetter(sign.front());
    if (is_word && end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]))) {
      return false;
    }
    at_ = end;
    return true;
  }
  // The first of the signs that stands next.
  template <size_t n>
  std::string_view TakeOne(const std::array<std::string_view, n>& signs) {
    for (const std::string_view sign : signs) {
      if (Take(sign)) return sign;
    }
    return {};
  }
  void Expect(std::string_view sign) {
    if (Take(sign)) return;
    Fail(at_ < text_.size() ? fmt::format("expected '{}', found '{}'", sign, text_.substr(at_, 1))
                            : fmt::format("expected '{}' before the end", sign),
         "", at_);
  }

  static Expression Node(Kind kind, std::string_view text, size_t at, size_t width) {
    return {.kind = kind, .text = std::string(text), .at = at, .width = width};
  }
  // An operator on two operands. A long chain of them is a deep tree, which is walked by recursion.
  Expression Pair(Kind kind, std::string_view op, size_t at, Expression a, Expression b) {
    if (++links_ > kLongestChain) Fail("a formula has at most 200 operators", "", at, op.size());
    Expression pair = Node(kind, op, at, op.size());
    pair.parts.push_back(std::move(a));
    pair.parts.push_back(std::move(b));
    return pair;
  }

  Expression Conditional() {
    const Deeper deeper(*this);
    Expression value = Or();
    SkipSpace();
    const size_t at = at_;
    if (!Take("if")) return value;
    Expression choice = Node(Kind::kConditional, "if", at, 2);
    choice.parts.push_back(std::move(value));
    choice.parts.push_back(Or());
    Expect("else");
    choice.parts.push_back(Conditional());
    return choice;
  }

  Expression Or() {
    return Chain(Kind::kOr, std::array<std::string_view, 1>{"or"}, [&] { return And(); });
  }
  Expression And() {
    return Chain(Kind::kAnd, std::array<std::string_view, 1>{"and"}, [&] { return Not(); });
  }
  Expression Not() {
    const Deeper deeper(*this);
    SkipSpace();
    const size_t at = at_;
    if (!Take("not")) return Comparison();
    Expression sign = Node(Kind::kSign, "not", at, 3);
    sign.parts.push_back(Not());
    return sign;
  }

  Expression Comparison() {
    Expression first = Bits();
    SkipSpace();
    const size_t at = at_;
    std::string op = ComparisonSign();
    if (op.empty()) return first;
    Expression compared = Node(Kind::kCompare, op, at, op.size());
    compared.parts.push_back(std::move(first));
    for (; !op.empty(); op = ComparisonSign()) {
      compared.words.push_back(std::move(op));
      compared.parts.push_back(Bits());
    }
    return compared;
  }
  std::string ComparisonSign() {
    constexpr std::array<std::string_view, 7> kSigns = {"==", "!=", "<=", ">=", "<", ">", "in"};
    std::string op(TakeOne(kSigns));
    const size_t before = at_;
    if (op.empty() && Take("not")) {
      if (Take("in")) return "not in";
      at_ = before;
    }
    return op;
  }

  Expression Bits() {
    return Chain(Kind::kBinary, std::array<std::string_view, 1>{"|"}, [&] {
      return Chain(Kind::kBinary, std::array<std::string_view, 1>{"^"}, [&] {
        return Chain(Kind::kBinary, std::array<std::string_view, 1>{"&"}, [&] { return Sums(); });
      });
    });
  }
  Expression Sums() {
    return Chain(Kind::kBinary, std::array<std::string_view, 2>{"+", "-"},
                 [&] { return Products(); });
  }
  Expression Products() {
    return Chain(Kind::kBinary, std::array<std::string_view, 4>{"//", "/", "%", "*"},
                 [&] { return Sign(); });
  }
  template <size_t n, class Next>
  Expression Chain(Kind kind, const std::array<std::string_view, n>& signs, Next next) {
    Expression a = next();
    for (;;) {
      SkipSpace();
      const size_t at = at_;
      const std::string_view op = TakeOne(signs);
      if (op.empty()) return a;
      a = Pair(kind, op, at, std::move(a), next());
    }
  }

  Expression Sign() {
    const Deeper deeper(*this);
    SkipSpace();
    const size_t at = at_;
    const std::string_view op = TakeOne(std::array<std::string_view, 3>{"-", "+", "~"});
    if (op.empty()) return Power();
    Expression sign = Node(Kind::kSign, op, at, 1);
    sign.parts.push_back(Sign());
    return sign;
  }
  Expression Power() {
    Expression base = Indexed();
    SkipSpace();
    const size_t at = at_;
    if (!Take("**")) return base;
    return Pair(Kind::kBinary, "**", at, std::move(base), Sign());
  }

  Expression Indexed() {
    Expression value = Primary();
    for (;;) {
      SkipSpace();
      const size_t at = at_;
      if (!Take("[")) return value;
      if (++links_ > kLongestChain) Fail("a formula has at most 200 operators", "", at);
      Expression index = Node(Kind::kIndex, "[", at, 1);
      index.parts.push_back(std::move(value));
      do index.parts.push_back(Position());
      while (Take(",") && !Stands("]"));
      Expect("]");
      value = std::move(index);
    }
  }
  bool Stands(std::string_view sign) {
    SkipSpace();
    return text_.substr(at_).starts_with(sign);
  }
  // One position between brackets: a value, begin:end:stride, or ....
  Expression Position() {
    SkipSpace();
    const size_t at = at_;
    if (Take("...")) return Node(Kind::kEllipsis, "...", at, 3);
    if (Stands("]") || Stands(",")) Fail("a position is missing here", "", at);
    Expression begin = Bound(at);
    if (!Stands(":")) return begin;
    Expression slice = Node(Kind::kSlice, ":", at, 1);
    slice.parts.push_back(std::move(begin));
    for (int i = 0; i < 2; ++i) {
      const bool more = Take(":");
      slice.parts.push_back(more ? Bound(at_) : Expression{.at = at_});
    }
    slice.width = at_ - at;
    return slice;
  }
  Expression Bound(size_t at) {
    if (Stands(":") || Stands("]") || Stands(",")) return {.at = at};
    return Conditional();
  }

  Expression Primary() {
    SkipSpace();
    if (at_ >= text_.size()) Fail("a value is missing at the end", "", at_);
    const size_t at = at_;
    const char c = text_[at];
    if (Take("(")) return Parenthesis(at);
    if (Take("[")) {
      Expression list = Node(Kind::kList, "[", at, 1);
      Items(list, "]");
      return list;
    }
    if (c == '\'' || c == '"') return Text(c);
    if (IsDigit(c) || (c == '.' && at + 1 < text_.size() && IsDigit(text_[at + 1]))) {
      return Number();
    }
    if (IsLetter(c)) return Name();
    Fail(fmt::format("a value cannot start with '{}'", text_.substr(at, 1)), "", at);
  }

  // A value in parentheses, or a list that Python calls a tuple.
  Expression Parenthesis(size_t at) {
    Expression tuple = Node(Kind::kList, "(", at, 1);
    if (Take(")")) return tuple;
    Expression value = Conditional();
    if (!Take(",")) {
      Expect(")");
      return value;
    }
    tuple.parts.push_back(std::move(value));
    Items(tuple, ")");
    return tuple;
  }

  // The values up to the closing sign, parted by commas.
  void Items(Expression& list, std::string_view end) {
    bool first = true;
    while (!Take(end)) {
      if (!first) {
        Expect(",");
        if (Take(end)) break;
      }
      first = false;
      list.parts.push_back(Conditional());
    }
  }

  Expression Text(char quote) {
    const size_t begin = at_ + 1;
    const size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) Fail("the quote has no end", "", at_);
    Expression text{.at = at_, .width = end + 1 - at_};
    text.literal.value = std::string(text_.substr(begin, end - begin));
    at_ = end + 1;
    return text;
  }

  Expression Number() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    int64_t integer = 0;
    const auto whole = std::from_chars(begin, end, integer);
    double real = 0;
    const auto any = std::from_chars(begin, end, real);
    if (any.ec != std::errc()) Fail("this is no number", "", at_);
    const bool is_integer = whole.ec == std::errc() && whole.ptr == any.ptr;
    Expression number{.at = at_, .width = static_cast<size_t>(any.ptr - begin)};
    if (is_integer) {
      number.literal.value = integer;
    } else {
      number.literal.value = real;
    }
    at_ += number.width;
    if (at_ < text_.size() && IsLetter(text_[at_])) {
      Fail(fmt::format("'{}' does not go on a number", text_.substr(at_, 1)), "a product takes *",
           at_);
    }
    return number;
  }

  // A word, or words with dots between them.
  std::string_view Word() {
    const size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool goes_on = c == '.' && at_ + 1 < text_.size() && IsLetter(text_[at_ + 1]);
      if (!goes_on && !IsLetter(c) && !IsDigit(c)) break;
      ++at_;
    }
    constexpr size_t kLongestName = 256;
    if (at_ - begin > kLongestName) Fail("a name has at most 256 bytes", "", begin, kLongestName);
    return text_.substr(begin, at_ - begin);
  }

  Expression Name() {
    const size_t at = at_;
    const std::string_view name = Word();
    Expression word = Node(Kind::kName, name, at, name.size());
    const auto is = [&](auto... names) { return ((name == names) || ...); };
    if (is("true", "True", "false", "False", "none", "None", "null")) {
      word.kind = Kind::kLiteral;
      word.text.clear();
      if (is("true", "True", "false", "False")) word.literal.value = is("true", "True");
      return word;
    }
    if (is("and", "or", "not", "if", "else", "in")) {
      Fail(fmt::format("a value is missing before '{}'", name), "", at, name.size());
    }
    if (is("lambda", "for", "import", "def", "while", "return")) {
      Fail(fmt::format("'{}' is no part of a formula", name),
           name == "lambda" ? "write what follows the colon" : "", at, name.size());
    }
    if (Take("(")) Arguments(word);
    return word;
  }

  // The arguments of a call, those without a name first.
  void Arguments(Expression& call) {
    call.kind = Kind::kCall;
    while (!Take(")")) {
      if (!call.parts.empty()) {
        Expect(",");
        if (Take(")")) break;
      }
      call.words.push_back(Keyword());
      if (call.words.back().empty() && call.words.size() > 1 &&
          !call.words[call.words.size() - 2].empty()) {
        Fail("a positional argument follows one with a name", "", at_);
      }
      call.parts.push_back(Conditional());
    }
  }
  // The NAME of an argument NAME=VALUE, or "".
  std::string Keyword() {
    SkipSpace();
    const size_t before = at_;
    if (at_ < text_.size() && IsLetter(text_[at_])) {
      const std::string_view word = Word();
      if (!Stands("==") && Take("=")) return std::string(word);
    }
    at_ = before;
    return "";
  }

  static constexpr int kLongestChain = 200;

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  int links_ = 0;
};

}  // namespace

Expression ParseFormula(std::string_view text) { return FormulaReader(text).Run(); }

}  // namespace tpuest::config
