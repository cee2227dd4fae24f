#include "config/yaml_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tpuest::config {
namespace {

// No real job reaches these limits; aliases of aliases of aliases ("billion laughs") do.
constexpr size_t kMaxNesting = 64;
constexpr size_t kMaxNodes = 200'000;

size_t CountNodes(const Node& node) {
  size_t count = 1;
  for (const Node& child : node.children) count += CountNodes(child);
  return count;
}

size_t Depth(const Node& node) {
  size_t depth = 0;
  for (const Node& child : node.children) depth = std::max(depth, Depth(child));
  return depth + 1;
}

// Adds the merged maps' keys to the node: its own keys take precedence, then the earlier map's.
// Called at the end of the map, because a merge key may be anywhere in it.
void Merge(Node& node, std::vector<Node> merges) {
  for (Node& map : merges) {
    for (Node& child : map.children) {
      if (std::as_const(node).Find(child.key) == nullptr) node.children.push_back(std::move(child));
    }
  }
}

}  // namespace

Node YamlBuilder::NodeAt(size_t offset, Node::Kind kind) const {
  Node node;
  node.kind = kind;
  node.place = text_.PlaceOf(offset);
  node.origin = origin_;
  return node;
}

void YamlBuilder::Report(const Place& place, int width, std::string message, std::string hint) {
  faults_.Add({std::move(message), std::move(hint), "", place, width});
}

void YamlBuilder::CheckSize(size_t offset, size_t more_nodes, size_t more_depth) {
  nodes_ += more_nodes;
  if (levels_.size() + more_depth > kMaxNesting) {
    throw Error(Code::kUsage, fmt::format("sections nest deeper than {} levels", kMaxNesting))
        .At(text_.PlaceOf(offset));
  }
  if (nodes_ > kMaxNodes) {
    throw Error(Code::kUsage, fmt::format("the job has more than {} values", kMaxNodes),
                "move large data to a data file; every use of an alias counts")
        .At(text_.PlaceOf(offset));
  }
}

void YamlBuilder::Null(size_t offset, size_t anchor) {
  CheckSize(offset, 1, 0);
  const size_t value = text_.SkipAnchor(offset);
  Node node = NodeAt(value, Node::Kind::kNull);
  // An empty value has no text: its width stays 0.
  const std::string_view rest = std::string_view(text_.text()).substr(value);
  if (rest.starts_with('~')) node.width = 1;
  for (const std::string_view word : {"null", "Null", "NULL"}) {
    if (rest.starts_with(word)) node.width = 4;
  }
  Finish(std::move(node), anchor);
}

void YamlBuilder::Scalar(size_t offset, size_t anchor, std::string value, bool quoted) {
  CheckSize(offset, 1, 0);
  const size_t start = text_.SkipAnchor(offset);
  Node node = NodeAt(start, Node::Kind::kScalar);
  node.quoted = quoted;
  const std::string& text = text_.text();
  if (quoted && start < text.size() && (text[start] == '"' || text[start] == '\'')) {
    node.width = text_.QuotedWidth(start);
    if (node.width == 0) {
      throw Error(Code::kUsage, "the closing quote is missing").At(node.place);
    }
  } else {
    node.width = quoted ? 1 : text_.PlainWidth(start, value);
  }
  node.text = std::move(value);
  Finish(std::move(node), anchor);
}

void YamlBuilder::Open(size_t offset, size_t anchor, Node::Kind kind) {
  CheckSize(offset, 1, 1);
  Level level;
  level.node = NodeAt(text_.SkipAnchor(offset), kind);
  level.node.width = 1;
  level.anchor = anchor;
  levels_.push_back(std::move(level));
}

void YamlBuilder::Close() {
  Level level = std::move(levels_.back());
  levels_.pop_back();
  Merge(level.node, std::move(level.merges));
  Finish(std::move(level.node), level.anchor);
}

void YamlBuilder::Alias(size_t offset, size_t anchor) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) {
    throw Error(Code::kUsage, "an anchor cannot be used inside itself").At(text_.PlaceOf(offset));
  }
  CheckSize(offset, found->second.nodes, found->second.depth);
  Attach(found->second.node);
}

void YamlBuilder::Finish(Node node, size_t anchor) {
  // Registered only when complete: an alias inside it would recurse without end.
  if (anchor != 0) anchors_[anchor] = {node, CountNodes(node), Depth(node)};
  Attach(std::move(node));
}

void YamlBuilder::Attach(Node node) {
  if (levels_.empty()) {
    root_ = std::move(node);
    return;
  }
  Level& level = levels_.back();
  if (level.node.kind == Node::Kind::kList) {
    level.node.children.push_back(std::move(node));
  } else if (!level.key) {
    TakeKey(level, std::move(node));
  } else {
    TakeValue(level, std::move(node));
  }
}

void YamlBuilder::TakeKey(Level& level, Node node) {
  if (node.kind != Node::Kind::kScalar) {
    Report(node.place, std::max(node.width, 1), "a key must be a word",
           "quote it if it has special characters");
  }
  level.key = std::move(node);
}

void YamlBuilder::TakeValue(Level& level, Node node) {
  const Node key = std::move(*level.key);
  level.key.reset();
  if (key.kind != Node::Kind::kScalar) return;
  if (key.text == "<<" && !key.quoted) {
    TakeMerge(level, key, std::move(node));
    return;
  }
  if (const Node* const first = std::as_const(level.node).Find(key.text)) {
    Report(key.place, key.width, fmt::format("duplicate key '{}'", key.text),
           fmt::format("the first one is at {}:{}:{}", first->key_place.file, first->key_place.line,
                       first->key_place.column));
    return;
  }
  node.key = key.text;
  node.key_place = key.place;
  node.key_width = key.width;
  level.node.children.push_back(std::move(node));
}

void YamlBuilder::TakeMerge(Level& level, const Node& key, Node node) {
  std::vector<Node> maps;
  if (node.kind == Node::Kind::kList) {
    maps = std::move(node.children);
  } else {
    maps.push_back(std::move(node));
  }
  const bool all_maps = std::all_of(maps.begin(), maps.end(),
                                    [](const Node& map) { return map.kind == Node::Kind::kMap; });
  if (!all_maps) {
    Report(key.place, 2,
           "'<<' merges sections: expected an alias of a section, or a list of such aliases",
           "write '<<: *name'");
  } else if (level.merged) {
    Report(key.place, 2, "duplicate key '<<'", "write '<<: [*one, *other]'; the first wins");
  } else {
    level.merges = std::move(maps);
  }
  level.merged = true;
}

}  // namespace tpuest::config
