#pragma once
// What stands in for a node once shapes are bound: see OpDef::bind.

#include <string_view>

#include "core/graph/attr.h"

namespace tpuest {

struct BoundOp {
  std::string_view op;
  Attrs attrs;
};

}  // namespace tpuest
