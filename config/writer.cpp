#include "config/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "config/scalars.h"
#include "config/substitute.h"
#include "core/base/text.h"

namespace tpuest::config {
namespace {

using Kind = Type::Kind;

// Comments start at this column, if the value leaves room.
constexpr size_t kCommentColumn = 40;

struct Line {
  std::string text;
  std::string comment;
};

// How a value must be written to be read back as the same alternative of its variant.
struct Context {
  bool beside_integers = false;  // a whole double needs its ".0"
  bool beside_sections = false;  // a string needs its quotes
  bool input_path = false;
};

Context ContextOf(const Type& variant, Context context) {
  for (const Type* const type : variant.alternatives) {
    if (type->kind == Kind::kInteger) context.beside_integers = true;
    if (!type->name.empty()) context.beside_sections = true;
  }
  return context;
}

std::string DoubleText(double value, const Context& context) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  std::string text = NumberText(value);
  const bool whole = text.find_first_of(".e") == std::string::npos;
  if (whole && context.beside_integers) text += ".0";
  return text;
}

std::string InputPath(const std::string& path) {
  if (path.empty() || path == "-") return path;
  return std::filesystem::absolute(path).lexically_normal().string();
}

std::string WordText(const std::string& word, const Context& context) {
  const std::string escaped = EscapeVariables(context.input_path ? InputPath(word) : word);
  return context.beside_sections ? QuotedText(escaped) : StringText(escaped);
}

std::string Flow(const Value& value, const Context& context);

std::string FlowItems(const Value& value, const Context& context) {
  std::vector<std::string> parts;
  const bool map = value.type->kind == Kind::kMap;
  for (const Item& item : ItemsOf(value)) {
    parts.push_back((map ? StringText(item.key) + ": " : "") + Flow(item.value, context));
  }
  return map ? "{" + Join(parts, ", ") + "}" : "[" + Join(parts, ", ") + "]";
}

std::string FlowSection(const Value& section, bool with_type) {
  std::vector<std::string> parts;
  if (with_type) parts.push_back(fmt::format("{}: {}", section.type->type_key, section.type->name));
  for (const Member& member : MembersOf(section)) {
    parts.push_back(fmt::format("{}: {}", member.name,
                                Flow(member.value, {.input_path = member.field.input_path})));
  }
  return "{" + Join(parts, ", ") + "}";
}

// Returns the value that a variant holds.
Value Chosen(const Value& variant) {
  const Type& type = *variant.type;
  return {type.alternatives[type.index(variant.at)], type.chosen(variant.at)};
}

std::string Flow(const Value& value, const Context& context) {
  switch (value.type->kind) {
    case Kind::kBool:
      return *static_cast<const bool*>(value.at) ? "true" : "false";
    case Kind::kInteger:
      return value.type->integer_text(value.at);
    case Kind::kNumber:
      return DoubleText(*static_cast<const double*>(value.at), context);
    case Kind::kString:
      return WordText(*static_cast<const std::string*>(value.at), context);
    case Kind::kPeriod:
      return PeriodText(*static_cast<const Period*>(value.at));
    case Kind::kRaw: {
      const std::string& text = static_cast<const Raw*>(value.at)->text;
      return text.empty() ? "null" : EscapeVariables(text);
    }
    case Kind::kOptional: {
      const std::vector<Item> items = ItemsOf(value);
      return items.empty() ? "null" : Flow(items.front().value, context);
    }
    case Kind::kList:
    case Kind::kMap:
      return FlowItems(value, context);
    case Kind::kSection:
      return FlowSection(value, false);
    case Kind::kVariant:
      break;
  }
  const Value chosen = Chosen(value);
  if (!chosen.type->name.empty()) return FlowSection(chosen, true);
  return Flow(chosen, ContextOf(*value.type, context));
}

// A Raw without text and a Given without a value or null are absent: null would be a value.
bool IsAbsent(const Value& value) {
  if (!WasGiven(value)) return true;
  return value.type->kind == Kind::kRaw && static_cast<const Raw*>(value.at)->text.empty();
}

// Two values are the same if a job would have the same text for them; NaN is then itself.
bool Same(const Value& a, const Value& b) {
  return IsAbsent(a) == IsAbsent(b) && Flow(a, {}) == Flow(b, {});
}

class Writer {
 public:
  explicit Writer(const WriteOptions& options) : options_(options) {}

  // Returns the lines of a section's keys; empty if nothing has to be written.
  std::vector<Line> Section(const Value& section, const Node* node, bool with_type) const {
    std::vector<Line> lines;
    if (with_type) {
      const Node* const type = node == nullptr ? nullptr : node->Find(section.type->type_key);
      const bool bare = type == nullptr && node != nullptr && node->kind == Node::Kind::kScalar;
      lines.push_back({fmt::format("{}: {}", section.type->type_key, section.type->name),
                       OriginOf(bare ? node : type)});
    }
    const Fresh fresh = section.type->make();
    const std::vector<Member> defaults = MembersOf({section.type, fresh.get()});
    const std::vector<Member> members = MembersOf(section);
    for (size_t i = 0; i < members.size(); ++i) {
      const Member& member = members[i];
      const Node* const child = node == nullptr ? nullptr : node->Find(member.name);
      if (child == nullptr && (!options_.defaults || IsAbsent(member.value))) continue;
      const bool is_default = !member.field.required && Same(member.value, defaults[i].value);
      if (is_default && !options_.unchanged) continue;
      const Context context{.input_path = member.field.input_path};
      Entry(std::string(member.name), member.value, child, context, lines);
    }
    return lines;
  }

 private:
  [[nodiscard]] std::string OriginOf(const Node* node) const {
    if (!options_.origins) return "";
    if (node == nullptr) return "default";
    return OriginText(*node);
  }

  // The lines of a value that does not fit one line; empty if it does.
  std::vector<Line> Block(const Value& value, const Node* node, const Context& context) const {
    switch (value.type->kind) {
      case Kind::kOptional: {
        const std::vector<Item> items = ItemsOf(value);
        return items.empty() ? std::vector<Line>() : Block(items.front().value, node, context);
      }
      case Kind::kVariant: {
        const Value chosen = Chosen(value);
        if (!chosen.type->name.empty()) return Section(chosen, node, true);
        return Block(chosen, node, ContextOf(*value.type, context));
      }
      case Kind::kSection:
        return Section(value, node, false);
      case Kind::kMap:
        return Entries(value, node, context);
      case Kind::kList:
        return Items(value, node, context);
      default:
        return {};
    }
  }

  std::vector<Line> Entries(const Value& map, const Node* node, const Context& context) const {
    std::vector<Line> lines;
    for (const Item& item : ItemsOf(map)) {
      const Node* const child = node == nullptr ? nullptr : node->Find(item.key);
      Entry(StringText(item.key), item.value, child, context, lines);
    }
    return lines;
  }

  // A list in block style, if an item needs it.
  std::vector<Line> Items(const Value& list, const Node* node, const Context& context) const {
    std::vector<std::vector<Line>> blocks;
    const std::vector<Item> items = ItemsOf(list);
    for (size_t i = 0; i < items.size(); ++i) {
      const bool there =
          node != nullptr && node->kind == Node::Kind::kList && i < node->children.size();
      const Node* const child = there ? &node->children[i] : nullptr;
      std::vector<Line> block = Block(items[i].value, child, context);
      if (block.empty()) block = {{Inline(items[i].value, context), OriginOf(child)}};
      blocks.push_back(std::move(block));
    }
    const bool simple = std::all_of(items.begin(), items.end(),
                                    [](const Item& item) { return !NeedsBlock(item.value); });
    if (simple) return {};
    std::vector<Line> lines;
    for (std::vector<Line>& block : blocks) {
      for (size_t i = 0; i < block.size(); ++i) {
        lines.push_back({(i == 0 ? "- " : "  ") + block[i].text, block[i].comment});
      }
    }
    return lines;
  }

  static bool NeedsBlock(const Value& value) {
    switch (value.type->kind) {
      case Kind::kSection:
      case Kind::kMap:
        return true;
      case Kind::kVariant:
        return NeedsBlock(Chosen(value));
      case Kind::kOptional:
      case Kind::kList: {
        const std::vector<Item> items = ItemsOf(value);
        return std::any_of(items.begin(), items.end(),
                           [](const Item& item) { return NeedsBlock(item.value); });
      }
      default:
        return false;
    }
  }

  // In a section without lines all keys have their defaults.
  static std::string Inline(const Value& value, const Context& context) {
    if (value.type->kind == Kind::kSection) return "{}";
    if (value.type->kind == Kind::kVariant && value.type->index != nullptr) {
      const Value chosen = Chosen(value);
      if (chosen.type->kind == Kind::kSection && chosen.type->name.empty()) return "{}";
    }
    if (value.type->kind == Kind::kOptional) {
      const std::vector<Item> items = ItemsOf(value);
      if (!items.empty()) return Inline(items.front().value, context);
    }
    return Flow(value, context);
  }

  void Entry(const std::string& key, const Value& value, const Node* node, const Context& context,
             std::vector<Line>& lines) const {
    std::vector<Line> block = Block(value, node, context);
    if (block.empty()) {
      lines.push_back({key + ": " + Inline(value, context), OriginOf(node)});
      return;
    }
    lines.push_back({key + ":", ""});
    for (Line& line : block) lines.push_back({"  " + line.text, std::move(line.comment)});
  }

  const WriteOptions& options_;
};

}  // namespace

std::string WriteValue(const Value& section, const Tree& tree, const WriteOptions& options) {
  std::string text;
  for (const Line& line : Writer(options).Section(section, &tree.root, false)) {
    text += line.text;
    if (!line.comment.empty()) {
      text.append(std::max<size_t>(2, kCommentColumn - std::min(kCommentColumn, line.text.size())),
                  ' ');
      text += "# " + line.comment;
    }
    text += '\n';
  }
  return text;
}

std::string FlowText(const Value& value) { return Flow(value, {}); }

}  // namespace tpuest::config
