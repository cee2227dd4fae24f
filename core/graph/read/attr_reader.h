#pragma once
// Reads an attribute of a node in a GraphDef; for .cpp files of core/graph.

#include <string>

#include "core/graph/attr.h"

namespace tpuest::pb {
class NodeDef;
}  // namespace tpuest::pb

namespace tpuest {

// Reads the attribute as the type in the op's signature ("type", "list(int)"). Throws Error kData,
// with the node, if the attribute is missing, has another type, or has a value that tpuest cannot
// represent.
[[nodiscard]] AttrValue ReadAttr(const pb::NodeDef& node, const std::string& name,
                                 const std::string& type);

}  // namespace tpuest
