#pragma once
// An attribute of a node in a GraphDef; for .cpp files of core/graph.

#include <string>

#include "core/graph/attr.h"

namespace tpuest::pb {
class NodeDef;
}  // namespace tpuest::pb

namespace tpuest {

// The attribute by the type that the op's signature gives it ("type", "list(int)"). Error kData
// that names the node if the attribute is missing, of another type, or has a value that tpuest has
// no type for.
[[nodiscard]] AttrValue ReadAttr(const pb::NodeDef& node, const std::string& name,
                                 const std::string& type);

}  // namespace tpuest
