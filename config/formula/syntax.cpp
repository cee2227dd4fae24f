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

[[noreturn]] void Fail(std::string message, std::string hint, size_t at, size_t width = 1) {
  throw FormulaError{std::move(message), std::move(hint), at, width};
}

// Cuts a formula's text into signs, words, numbers and quoted texts.
class FormulaText {
 public:
  explicit FormulaText(std::string_view text) : text_(text) {}

  [[nodiscard]] size_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  // The next byte; not at the end.
  [[nodiscard]] char front() const { return text_[at_]; }
  [[nodiscard]] std::string front_text() const { return std::string(text_.substr(at_, 1)); }

  // Skips spaces. Returns the position of the next sign or word.
  size_t Next() {
    while (!at_end() && (front() == ' ' || front() == '\t' || front() == '\n')) ++at_;
    return at_;
  }

  bool Stands(std::string_view sign) { return text_.substr(Next()).starts_with(sign); }
  [[nodiscard]] bool StandsNumber() const {
    return IsDigit(front()) ||
           (front() == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]));
  }

  // Takes the word or the sign if it is next.
  bool Take(std::string_view sign) {
    if (!Stands(sign)) return false;
    const size_t end = at_ + sign.size();
    const bool is_word = IsLetter(sign.front());
    if (is_word && end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]))) {
      return false;
    }
    at_ = end;
    return true;
  }
  // Takes the first of these signs that is next; "" if none is.
  template <size_t n>
  std::string_view TakeOne(const std::array<std::string_view, n>& signs) {
    for (const std::string_view sign : signs) {
      if (Take(sign)) return sign;
    }
    return {};
  }
  void Expect(std::string_view sign) {
    if (Take(sign)) return;
    Fail(at_end() ? fmt::format("expected '{}' before the end", sign)
                  : fmt::format("expected '{}', found '{}'", sign, front_text()),
         "", at_);
  }

  // Takes the sign of a comparison; "" if none is next.
  std::string TakeComparison() {
    constexpr std::array<std::string_view, 7> kSigns = {"==", "!=", "<=", ">=", "<", ">", "in"};
    std::string op(TakeOne(kSigns));
    const size_t before = at_;
    if (op.empty() && Take("not")) {
      if (Take("in")) return "not in";
      at_ = before;
    }
    return op;
  }

  // Takes a word, or words with dots between them.
  std::string_view Word() {
    const size_t begin = at_;
    while (!at_end()) {
      const char c = front();
      const bool goes_on = c == '.' && at_ + 1 < text_.size() && IsLetter(text_[at_ + 1]);
      if (!goes_on && !IsLetter(c) && !IsDigit(c)) break;
      ++at_;
    }
    constexpr size_t kLongestName = 256;
    if (at_ - begin > kLongestName) Fail("a name has at most 256 bytes", "", begin, kLongestName);
    return text_.substr(begin, at_ - begin);
  }

  // Takes NAME= of an argument NAME=VALUE and returns NAME; "" for an argument without a name.
  std::string Keyword() {
    const size_t before = Next();
    if (!at_end() && IsLetter(front())) {
      const std::string_view word = Word();
      if (!Stands("==") && Take("=")) return std::string(word);
    }
    at_ = before;
    return "";
  }

  // Takes a text in quotes, whose first quote is next.
  Expression Quoted() {
    const size_t begin = at_ + 1;
    const size_t end = text_.find(front(), begin);
    if (end == std::string_view::npos) Fail("the closing quote is missing", "", at_);
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
    if (any.ec != std::errc()) Fail("this is not a valid number", "", at_);
    const bool is_integer = whole.ec == std::errc() && whole.ptr == any.ptr;
    Expression number{.at = at_, .width = static_cast<size_t>(any.ptr - begin)};
    if (is_integer) {
      number.literal.value = integer;
    } else {
      number.literal.value = real;
    }
    at_ += number.width;
    if (!at_end() && IsLetter(front())) {
      Fail(fmt::format("unexpected '{}' after a number", front_text()), "write * to multiply", at_);
    }
    return number;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// Reads a formula, the loosest operator first.
class FormulaReader {
 public:
  explicit FormulaReader(std::string_view text) : text_(text) {}

  Expression Run() {
    Expression result = Conditional();
    const size_t at = text_.Next();
    if (text_.at_end()) return result;
    Fail(fmt::format("unexpected '{}' in the formula", text_.front_text()),
         text_.front() == '=' ? "write == to compare" : "", at);
  }

 private:
  class Deeper {
   public:
    explicit Deeper(FormulaReader& reader) : reader_(reader) {
      if (++reader_.depth_ > kDeepestFormula) Fail("nested too deeply", "", reader_.text_.at());
    }
    ~Deeper() { --reader_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    FormulaReader& reader_;
  };

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
    const size_t at = text_.Next();
    if (!text_.Take("if")) return value;
    Expression choice = Node(Kind::kConditional, "if", at, 2);
    choice.parts.push_back(std::move(value));
    choice.parts.push_back(Or());
    text_.Expect("else");
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
    const size_t at = text_.Next();
    if (!text_.Take("not")) return Comparison();
    Expression sign = Node(Kind::kSign, "not", at, 3);
    sign.parts.push_back(Not());
    return sign;
  }

  Expression Comparison() {
    Expression first = Bits();
    const size_t at = text_.Next();
    std::string op = text_.TakeComparison();
    if (op.empty()) return first;
    Expression compared = Node(Kind::kCompare, op, at, op.size());
    compared.parts.push_back(std::move(first));
    for (; !op.empty(); op = text_.TakeComparison()) {
      compared.words.push_back(std::move(op));
      compared.parts.push_back(Bits());
    }
    return compared;
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
      const size_t at = text_.Next();
      const std::string_view op = text_.TakeOne(signs);
      if (op.empty()) return a;
      a = Pair(kind, op, at, std::move(a), next());
    }
  }

  Expression Sign() {
    const Deeper deeper(*this);
    const size_t at = text_.Next();
    const std::string_view op = text_.TakeOne(std::array<std::string_view, 3>{"-", "+", "~"});
    if (op.empty()) return Power();
    Expression sign = Node(Kind::kSign, op, at, 1);
    sign.parts.push_back(Sign());
    return sign;
  }
  Expression Power() {
    Expression base = Indexed();
    const size_t at = text_.Next();
    if (!text_.Take("**")) return base;
    return Pair(Kind::kBinary, "**", at, std::move(base), Sign());
  }

  Expression Indexed() {
    Expression value = Primary();
    for (;;) {
      const size_t at = text_.Next();
      if (!text_.Take("[")) return value;
      if (++links_ > kLongestChain) Fail("a formula has at most 200 operators", "", at);
      Expression index = Node(Kind::kIndex, "[", at, 1);
      index.parts.push_back(std::move(value));
      do index.parts.push_back(Position());
      while (text_.Take(",") && !text_.Stands("]"));
      text_.Expect("]");
      value = std::move(index);
    }
  }
  // One position between brackets: a value, begin:end:stride, or ....
  Expression Position() {
    const size_t at = text_.Next();
    if (text_.Take("...")) return Node(Kind::kEllipsis, "...", at, 3);
    if (text_.Stands("]") || text_.Stands(",")) Fail("a position is missing here", "", at);
    Expression begin = Bound(at);
    if (!text_.Stands(":")) return begin;
    Expression slice = Node(Kind::kSlice, ":", at, 1);
    slice.parts.push_back(std::move(begin));
    for (int i = 0; i < 2; ++i) {
      const bool more = text_.Take(":");
      slice.parts.push_back(more ? Bound(text_.at()) : Expression{.at = text_.at()});
    }
    slice.width = text_.at() - at;
    return slice;
  }
  Expression Bound(size_t at) {
    if (text_.Stands(":") || text_.Stands("]") || text_.Stands(",")) return {.at = at};
    return Conditional();
  }

  Expression Primary() {
    const size_t at = text_.Next();
    if (text_.at_end()) Fail("a value is missing at the end", "", at);
    const char c = text_.front();
    if (text_.Take("(")) return Parenthesis(at);
    if (text_.Take("[")) {
      Expression list = Node(Kind::kList, "[", at, 1);
      Items(list, "]");
      return list;
    }
    if (c == '\'' || c == '"') return text_.Quoted();
    if (text_.StandsNumber()) return text_.Number();
    if (IsLetter(c)) return Name();
    Fail(fmt::format("a value cannot start with '{}'", text_.front_text()), "", at);
  }

  // A value in parentheses, or a list that Python calls a tuple.
  Expression Parenthesis(size_t at) {
    Expression tuple = Node(Kind::kList, "(", at, 1);
    if (text_.Take(")")) return tuple;
    Expression value = Conditional();
    if (!text_.Take(",")) {
      text_.Expect(")");
      return value;
    }
    tuple.parts.push_back(std::move(value));
    Items(tuple, ")");
    return tuple;
  }

  // The values up to the closing sign, parted by commas.
  void Items(Expression& list, std::string_view end) {
    bool first = true;
    while (!text_.Take(end)) {
      if (!first) {
        text_.Expect(",");
        if (text_.Take(end)) break;
      }
      first = false;
      list.parts.push_back(Conditional());
    }
  }

  Expression Name() {
    const size_t at = text_.at();
    const std::string_view name = text_.Word();
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
      Fail(fmt::format("'{}' is not allowed in a formula", name),
           name == "lambda" ? "write only the expression after the colon" : "", at, name.size());
    }
    if (text_.Take("(")) Arguments(word);
    return word;
  }

  // The arguments of a call, those without a name first.
  void Arguments(Expression& call) {
    call.kind = Kind::kCall;
    while (!text_.Take(")")) {
      if (!call.parts.empty()) {
        text_.Expect(",");
        if (text_.Take(")")) break;
      }
      call.words.push_back(text_.Keyword());
      if (call.words.back().empty() && call.words.size() > 1 &&
          !call.words[call.words.size() - 2].empty()) {
        Fail("a positional argument follows one with a name", "", text_.at());
      }
      call.parts.push_back(Conditional());
    }
  }
  static constexpr int kLongestChain = 200;

  FormulaText text_;
  int depth_ = 0;
  int links_ = 0;
};

}  // namespace

Expression ParseFormula(std::string_view text) {
  if (text.size() > kLongestFormula) Fail("a formula has at most 4096 bytes", "", 0);
  return FormulaReader(text).Run();
}

}  // namespace tpuest::config
