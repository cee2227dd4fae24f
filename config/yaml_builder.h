#pragma once
// Builds nodes from the parser's events: duplicate keys, merge keys, aliases. Seen only by
// yaml_reader.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/tree.h"
#include "config/yaml_text.h"
#include "core/base/faults.h"

namespace tpuest::config {

// Takes the events in document order; every offset is a byte of the text. Duplicate keys and
// similar mistakes become faults; throws Error kUsage, with its place, for a document that is too
// large or too deep and for quotes that never close.
class YamlBuilder {
 public:
  YamlBuilder(const YamlText& text, Origin origin, Faults& faults)
      : text_(text), origin_(std::move(origin)), faults_(faults) {}

  // A value without children. anchor: yaml-cpp's number of it, 0 for none.
  void Null(size_t offset, size_t anchor);
  void Scalar(size_t offset, size_t anchor, std::string value, bool quoted);
  // Begins a list or map; the events until its Close are its children.
  void Open(size_t offset, size_t anchor, Node::Kind kind);
  void Close();
  // Puts a copy of the anchored node here.
  void Alias(size_t offset, size_t anchor);

  [[nodiscard]] Node TakeRoot() { return std::move(root_); }

 private:
  // An open list or map.
  struct Level {
    Node node;
    size_t anchor = 0;
    std::optional<Node> key;   // of a map, while its value is expected
    std::vector<Node> merges;  // maps that `<<` names; the first takes precedence
    bool merged = false;       // `<<` has occurred here
  };
  // A node that aliases may refer to, with its size, because each use counts.
  struct Anchored {
    Node node;
    size_t nodes = 0;
    size_t depth = 0;
  };

  [[nodiscard]] Node NodeAt(size_t offset, Node::Kind kind) const;
  void Finish(Node node, size_t anchor);
  void Attach(Node node);
  void TakeKey(Level& level, Node node);
  void TakeValue(Level& level, Node node);
  void TakeMerge(Level& level, const Node& key, Node node);
  void CheckSize(size_t offset, size_t more_nodes, size_t more_depth);
  void Report(const Place& place, int width, std::string message, std::string hint);

  const YamlText& text_;
  Origin origin_;
  Faults& faults_;
  std::vector<Level> levels_;
  std::map<size_t, Anchored> anchors_;
  size_t nodes_ = 0;
  Node root_;
};

}  // namespace tpuest::config
