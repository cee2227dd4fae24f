#include "config/flow_text.h"

#include <vector>

#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::config {

std::string FlowText(const Node& node) {
  std::vector<std::string> parts;
  for (const Node& child : node.children) {
    const std::string key = node.kind == Node::Kind::kMap ? StringText(child.key) + ": " : "";
    parts.push_back(key + FlowText(child));
  }
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kScalar:
      return !node.quoted && IsTypedText(node.text) ? node.text : StringText(node.text);
    case Node::Kind::kList:
      return "[" + Join(parts, ", ") + "]";
    case Node::Kind::kMap:
      break;
  }
  return "{" + Join(parts, ", ") + "}";
}

}  // namespace tpuest::config
