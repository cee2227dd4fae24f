#include "config/substitute.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/base/text.h"

namespace tpuest::config {
namespace {

// Maximum depth of variables that refer to variables: enough for any job, and small enough to
// detect a cycle. The bytes limit the growth of nested variables.
constexpr int kMaxReferences = 16;
constexpr size_t kMaxBytes = 1 << 20;

struct Problem {
  std::string message;
  std::string hint;
};

// The brace that closes the one at `open`, or npos; a default may hold variables of its own.
size_t ClosingBrace(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

class Expander {
 public:
  explicit Expander(const Tree& tree) : tree_(tree) {}

  std::string Expand(std::string_view text, int depth) {
    if (depth > kMaxReferences) throw Problem{"its variables refer to each other in a cycle", ""};
    std::string result;
    for (size_t at = 0; at < text.size();) {
      const std::string_view rest = text.substr(at);
      if (rest.starts_with("$${")) {
        result += "${";
        at += 3;
      } else if (rest.starts_with("${")) {
        const size_t close = ClosingBrace(text, at + 1);
        if (close == std::string_view::npos) {
          throw Problem{"'${' lacks its '}'", "write $${ for a literal ${"};
        }
        result += Lookup(text.substr(at + 2, close - at - 2), depth);
        changed_ = true;
        at = close + 1;
      } else {
        result += text[at++];
      }
      // Limits the work as well as the text: a variable may expand to nothing many times.
      if ((bytes_ += 1) > kMaxBytes || result.size() > kMaxBytes) {
        throw Problem{"its variables expand to more than 1 MiB", ""};
      }
    }
    return result;
  }

  [[nodiscard]] bool changed() const { return changed_; }

 private:
  std::string Lookup(std::string_view inside, int depth) {
    const size_t split = inside.find(":-");
    const std::string name(inside.substr(0, split));
    std::optional<std::string> value = Find(name, depth);
    // ":-" also replaces an empty value, as in a shell.
    if (split != std::string_view::npos && (!value || value->empty())) {
      return Expand(inside.substr(split + 2), depth + 1);
    }
    if (!value) throw Unknown(name);
    return *std::move(value);
  }

  std::optional<std::string> Find(const std::string& name, int depth) {
    const Node* node = tree_.root.Find(name);
    if (StartsWith(name, "params.")) {
      const Node* const params = tree_.root.Find("params");
      node = params == nullptr ? nullptr : params->Find(name.substr(7));
      if (node == nullptr) return std::nullopt;
    }
    if (node != nullptr && node->kind == Node::Kind::kScalar) return Expand(node->text, depth + 1);
    if (node != nullptr && node->kind != Node::Kind::kNull) {
      throw Problem{fmt::format("'{}' is not a scalar", name), ""};
    }
    const auto given = tree_.names.find(name);
    if (given != tree_.names.end()) return given->second;
    return tree_.environment ? tree_.environment(name) : std::nullopt;
  }

  [[nodiscard]] Problem Unknown(const std::string& name) const {
    const bool param = StartsWith(name, "params.");
    std::vector<std::string> known;
    const Node* const section = param ? tree_.root.Find("params") : &tree_.root;
    for (const Node& child : section == nullptr ? std::vector<Node>() : section->children) {
      const bool scalar = child.kind == Node::Kind::kScalar;
      if (scalar) known.push_back((param ? "params." : "") + child.key);
    }
    std::string hint =
        param ? fmt::format("add {} to 'params:'", name.substr(7))
              : fmt::format("set it in the environment, or write ${{{}:-default}}", name);
    if (const std::optional<std::string> near = Nearest(name, known)) {
      hint = fmt::format("did you mean '${{{}}}'?", *near);
    }
    return {fmt::format("unknown variable '{}'", name), hint};
  }

  const Tree& tree_;
  bool changed_ = false;
  size_t bytes_ = 0;
};

}  // namespace

Substituted Substitute(const Tree& tree, std::string_view text) {
  Substituted result;
  result.text = text;
  if (text.find("${") == std::string_view::npos) return result;
  Expander expander(tree);
  try {
    result.text = expander.Expand(text, 0);
    result.changed = expander.changed();
  } catch (const Problem& problem) {
    result.fault = problem.message;
    result.hint = problem.hint;
  }
  return result;
}

std::string EscapeVariables(std::string_view text) {
  std::string escaped;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with("${")) escaped += '$';
    escaped += text[at];
  }
  return escaped;
}

}  // namespace tpuest::config
