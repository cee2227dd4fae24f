#pragma once
// A BoundOp stands in for a node once shapes are bound: see OpDef::bind.

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/attr.h"

namespace tpuest {

class Node;
struct Value;

struct BoundOp {
  std::string_view op;
  Attrs attrs;
  // Why the sizes of the results follow from the values of the inputs alone, if so: then there is
  // no `op`, and the node is bound only where its inputs are constants.
  std::string sized_by_values = {};
  std::string hint = {};  // the way out, where they are not
  // The inputs whose values give the results their sizes: where these are constants, the node
  // itself is bound, in those sizes, and not `op`. Empty: all, where `sized_by_values` says why.
  std::vector<int> sizing_inputs = {};
};

// Says whether one of the nodes that fetches and targets need is sized by values: it can be
// compiled only for feeds that are known (FeedSpec::value). Error kUsage as OpDef::bind.
[[nodiscard]] bool IsSizedByValues(const std::vector<Value>& fetches,
                                   const std::vector<Node*>& targets = {});

}  // namespace tpuest
