#include "tests/type_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/text.h"

namespace tpuest {
namespace {

constexpr size_t kMostClassLines = 250;

// A word, a number or one character of punctuation. A literal is the token `"`.
struct Token {
  std::string_view text;
  size_t line = 0;
};

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool IsWord(std::string_view token) {
  return IsWordCharacter(token[0]) && !std::isdigit(static_cast<unsigned char>(token[0]));
}

// Reads the tokens of a C++ source, without comments and lines of the preprocessor.
class TokenReader {
 public:
  explicit TokenReader(std::string_view text) : text_(text) {}

  std::vector<Token> Read() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        ++line_;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//" || text_[at_] == '#') {
        SkipLine();
      } else if (text_.substr(at_, 2) == "/*") {
        SkipPast("*/", 2);
      } else {
        TakeToken();
      }
    }
    return std::move(tokens_);
  }

 private:
  // Skips to the newline; one after a backslash does not end the line.
  void SkipLine() {
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_.substr(at_, 2) == "\\\n") {
        ++line_;
        ++at_;
      }
    }
  }

  void SkipPast(std::string_view end, size_t offset) {
    const size_t found = text_.find(end, at_ + offset);
    const size_t next = found == std::string_view::npos ? text_.size() : found + end.size();
    line_ += static_cast<size_t>(std::ranges::count(text_.substr(at_, next - at_), '\n'));
    at_ = next;
  }

  void TakeToken() {
    const char c = text_[at_];
    size_t size = 1;
    if (IsWordCharacter(c)) {
      const bool is_number = std::isdigit(static_cast<unsigned char>(c)) != 0;
      while (at_ + size < text_.size() &&
             (IsWordCharacter(text_[at_ + size]) || (is_number && text_[at_ + size] == '\''))) {
        ++size;
      }
    }
    const std::string_view token = text_.substr(at_, size);
    const bool is_raw = token.ends_with('R') && text_.substr(at_ + size, 1) == "\"";
    if (is_raw) {
      tokens_.push_back({"\"", line_});
      at_ += size;
      const size_t open = std::min(text_.find('(', at_), text_.size() - 1);
      SkipPast(fmt::format("){}\"", text_.substr(at_ + 1, open - at_ - 1)), 1);
    } else if (c == '"' || c == '\'') {
      tokens_.push_back({"\"", line_});
      SkipLiteral(c);
    } else {
      tokens_.push_back({token, line_});
      at_ += size;
    }
  }

  void SkipLiteral(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
  std::vector<Token> tokens_;
};

struct TypeDefinition {
  std::string path;
  size_t line = 0;
  std::string space;  // the namespaces around it, "tpuest::nn"
  std::string name;
  size_t lines = 0;  // of a class, from its name to its closing brace
  // False inside a function, another type or an anonymous namespace, and for a type that completes
  // a declaration from outside, "struct tpuest::pjrt::Error".
  bool is_shared = false;
};

// Finds the types that a source defines, by its braces and by what is written before each.
class TypeReader {
 public:
  explicit TypeReader(const Source& source) : source_(source) {}

  std::vector<TypeDefinition> Read() {
    for (const Token& token : TokenReader(source_.text).Read()) {
      if (token.text == "{") {
        Open();
        statement_.clear();
      } else if (token.text == "}") {
        Close(token.line);
        statement_.clear();
      } else if (token.text == ";") {
        TakeAlias();
        statement_.clear();
      } else {
        statement_.push_back(token);
      }
    }
    return std::move(types_);
  }

 private:
  struct Scope {
    std::optional<std::string> space;  // of a namespace that has a name, or of extern "C": ""
    std::optional<size_t> type;        // of a class: its place in types_
  };

  [[nodiscard]] std::string_view At(size_t i) const {
    return i < statement_.size() ? statement_[i].text : std::string_view();
  }

  void Open() {
    const size_t first = At(0) == "inline" ? 1 : 0;
    Scope scope;
    if (At(first) == "namespace") {
      std::string name;
      for (size_t i = first + 1; i < statement_.size(); ++i) name += At(i);
      if (!name.empty()) scope.space = name;
    } else if (At(0) == "extern" && At(1) == "\"" && statement_.size() == 2) {
      scope.space = "";
    } else {
      scope.type = TakeType();
    }
    scopes_.push_back(std::move(scope));
  }

  void Close(size_t line) {
    if (scopes_.empty()) return;
    if (const std::optional<size_t> type = scopes_.back().type) {
      types_[*type].lines = line - types_[*type].line + 1;
    }
    scopes_.pop_back();
  }

  // The place of the first word of `words` that is outside of <> and (); the end without one.
  [[nodiscard]] size_t FindWord(std::initializer_list<std::string_view> words) const {
    int depth = 0;
    for (size_t i = 0; i < statement_.size(); ++i) {
      const std::string_view token = At(i);
      if (token == "<" || token == "(") ++depth;
      if ((token == ">" || token == ")") && depth > 0) --depth;
      if (depth == 0 && std::ranges::find(words, token) != words.end()) return i;
    }
    return statement_.size();
  }

  // Takes the type whose body begins after the statement. Returns the place of a class.
  std::optional<size_t> TakeType() {
    const size_t key = FindWord({"class", "struct", "union", "enum"});
    if (key == statement_.size()) return std::nullopt;
    const bool is_enum = At(key) == "enum";
    size_t i = key + 1;
    if (is_enum && (At(i) == "class" || At(i) == "struct")) ++i;
    while (At(i) == "[" || At(i) == "alignas") {  // attributes
      const std::string_view end = At(i) == "[" ? "]" : ")";
      while (i < statement_.size() && At(i) != end) ++i;
      while (At(i) == end) ++i;
    }
    std::string name;
    for (; i < statement_.size() && (IsWord(At(i)) || (At(i) == ":" && At(i + 1) == ":")); ++i) {
      if (IsWord(At(i)) && !name.empty() && !name.ends_with(':')) break;
      name += At(i);
      if (At(i) == ":") name += At(++i);
    }
    if (At(i) == "final") ++i;
    if (name.empty() || (i < statement_.size() && At(i) != ":")) return std::nullopt;
    Add(std::move(name), statement_[key].line);
    return is_enum ? std::nullopt : std::optional(types_.size() - 1);
  }

  void TakeAlias() {
    const size_t key = FindWord({"using"});
    if (At(key + 2) == "=") Add(std::string(At(key + 1)), statement_[key].line);
  }

  void Add(std::string name, size_t line) {
    TypeDefinition type{.path = source_.path, .line = line, .name = std::move(name)};
    type.is_shared =
        type.name.find(':') == std::string::npos &&
        std::ranges::all_of(scopes_, [](const Scope& scope) { return scope.space.has_value(); });
    std::vector<std::string> spaces;
    for (const Scope& scope : scopes_) {
      if (scope.space && !scope.space->empty()) spaces.push_back(*scope.space);
    }
    type.space = Join(spaces, "::");
    types_.push_back(std::move(type));
  }

  const Source& source_;
  std::vector<Token> statement_;  // since the last brace or semicolon
  std::vector<Scope> scopes_;
  std::vector<TypeDefinition> types_;
};

std::vector<TypeDefinition> TypesOf(const std::vector<Source>& tree) {
  std::vector<TypeDefinition> types;
  for (const Source& source : tree) {
    if (!EndsWith(source.path, ".cpp") && !EndsWith(source.path, ".h")) continue;
    std::ranges::move(TypeReader(source).Read(), std::back_inserter(types));
  }
  return types;
}

}  // namespace

std::vector<std::string> TypeNameFaults(const std::vector<Source>& tree) {
  std::vector<std::string> faults;
  const std::vector<TypeDefinition> types = TypesOf(tree);
  std::map<std::pair<std::string, std::string>, const TypeDefinition*> known;
  for (const TypeDefinition& type : types) {
    if (!type.is_shared) continue;
    const auto [entry, is_new] = known.try_emplace({type.space, type.name}, &type);
    const TypeDefinition& first = *entry->second;
    if (is_new || first.path == type.path) continue;
    faults.push_back(fmt::format("{}:{}: {} is also defined at {}:{}", type.path, type.line,
                                 type.space.empty() ? type.name : type.space + "::" + type.name,
                                 first.path, first.line));
  }
  return faults;
}

std::vector<std::string> LongClassFaults(const std::vector<Source>& tree,
                                         const std::set<std::string, std::less<>>& exceptions) {
  std::vector<std::string> faults;
  std::set<std::string, std::less<>> unused = exceptions;
  for (const TypeDefinition& type : TypesOf(tree)) {
    if (type.lines <= kMostClassLines) continue;
    if (unused.erase(type.path + " " + type.name) > 0) continue;
    faults.push_back(fmt::format("{}:{}: {} has {} lines, at most {}: does it have one subject?",
                                 type.path, type.line, type.name, type.lines, kMostClassLines));
  }
  for (const std::string& exception : unused) {
    faults.push_back(fmt::format("{} has at most {} lines: remove it from the exceptions",
                                 exception, kMostClassLines));
  }
  return faults;
}

}  // namespace tpuest
