#include "tests/file_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "core/base/text.h"

namespace tpuest {
namespace {

// They make every name below a model_dir.
const std::set<std::string, std::less<>> kMakers = {"core/estimator/model_dir/model_dir.cpp",
                                                    "core/estimator/model_dir/model_dir.h",
                                                    "core/estimator/export/export_folder.cpp",
                                                    "core/io/bundle.h",
                                                    "core/io/checkpoint_state.h",
                                                    "core/io/events/event.h",
                                                    "core/io/saved_model_folder.cpp",
                                                    "core/io/saved_model_folder.h"};

struct Literal {
  std::string path;
  size_t line = 0;
  std::string text;
  bool in_join = false;             // an argument of JoinPath
  bool is_below_model_dir = false;  // one that follows a model_dir
};

// Finds the literals of a C++ source, without those of comments and #include.
class LiteralReader {
 public:
  explicit LiteralReader(const Source& source) : source_(source), rest_(source.text) {}

  std::vector<Literal> Read() {
    while (!rest_.empty()) {
      if (!Skip()) TakeOne();
    }
    return std::move(literals_);
  }

 private:
  struct Join {
    int depth = 0;  // of parentheses around it
    bool has_model_dir = false;
  };

  void Advance(size_t count) {
    count = std::min(count, rest_.size());
    line_ += static_cast<size_t>(std::ranges::count(rest_.substr(0, count), '\n'));
    rest_.remove_prefix(count);
  }

  // Passes over a comment, a line of the preprocessor, a raw literal or a character.
  bool Skip() {
    if (rest_.starts_with("//") || rest_.starts_with("#")) {
      Advance(rest_.find('\n'));
    } else if (rest_.starts_with("R\"(")) {
      Advance(rest_.find(")\""));
      Advance(2);
    } else if (rest_.starts_with("'") && rest_.size() > 2) {
      Advance(rest_[1] == '\\' ? 4 : rest_[2] == '\'' ? 3 : 1);
    } else {
      return false;
    }
    return true;
  }

  void TakeOne() {
    const char c = rest_.front();
    if (c == '"') return TakeLiteral();
    if (rest_.starts_with("JoinPath(")) {
      joins_.push_back({depth_});
      Advance(8);
      return;
    }
    if (!joins_.empty() && rest_.starts_with("model_dir")) joins_.back().has_model_dir = true;
    if (c == '(') ++depth_;
    if (c == ')') --depth_;
    while (c == ')' && !joins_.empty() && depth_ <= joins_.back().depth) joins_.pop_back();
    Advance(1);
  }

  void TakeLiteral() {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    literals_.push_back({source_.path, line_, std::string(rest_.substr(1, end - 1)),
                         !joins_.empty(), !joins_.empty() && joins_.back().has_model_dir});
    Advance(end + 1);
  }

  const Source& source_;
  std::string_view rest_;
  size_t line_ = 1;
  int depth_ = 0;
  std::vector<Join> joins_;  // that are open
  std::vector<Literal> literals_;
};

bool IsText(std::string_view literal) { return literal.find(' ') != std::string_view::npos; }

// "model.ckpt" and "lock" are names; "{}-{}" and "\n" are none.
bool IsName(std::string_view literal) {
  return literal.size() > 2 && std::ranges::all_of(literal, [](unsigned char c) {
           return std::isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

// A word that stands for other things, too, is a name only where a path is put together.
bool IsPlainWord(std::string_view name) {
  return name.find_first_of(".-") == std::string_view::npos;
}

bool Spells(const Literal& literal, std::string_view name) {
  if (literal.text.find(fmt::format("{{}}/{}", name)) != std::string::npos) return true;
  if (IsText(literal.text)) return false;
  if (IsPlainWord(name)) return literal.in_join && literal.text == name;
  const size_t at = literal.text.find(name);
  // An ending stands at the beginning, or behind what is put in; elsewhere it is of a job's key.
  return at != std::string::npos && (name.front() != '.' || at == 0 || literal.text[at - 1] == '}');
}

bool IsProgram(std::string_view path) {
  return (path.ends_with(".cpp") || path.ends_with(".h")) && !path.starts_with("tests/");
}

std::string At(const Literal& literal) { return fmt::format("{}:{}", literal.path, literal.line); }

}  // namespace

std::vector<std::string> FileNameFaults(const std::vector<Source>& tree) {
  std::vector<Literal> names;
  std::vector<Literal> others;
  for (const Source& source : tree) {
    if (!IsProgram(source.path)) continue;
    for (Literal& literal : LiteralReader(source).Read()) {
      const bool is_made = kMakers.contains(source.path) && IsName(literal.text);
      (is_made ? names : others).push_back(std::move(literal));
    }
  }
  std::vector<std::string> faults;
  for (const Literal& other : others) {
    if (!other.is_below_model_dir) continue;
    faults.push_back(fmt::format("{}: makes '{}' below a model_dir", At(other), other.text));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto fault = [&](const Literal& other) {
      faults.push_back(
          fmt::format("{}: spells '{}', which {} makes", At(other), names[i].text, At(names[i])));
    };
    for (size_t k = i + 1; k < names.size(); ++k) {
      if (names[k].text == names[i].text) fault(names[k]);
    }
    for (const Literal& other : others) {
      if (Spells(other, names[i].text)) fault(other);
    }
  }
  return faults;
}

}  // namespace tpuest
