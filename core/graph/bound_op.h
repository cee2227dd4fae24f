#pragma once
// A BoundOp replaces a node once shapes are bound: see OpDef::bind.

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
  // If not empty: why the sizes of the results follow only from the values of the inputs. Then
  // there is no `op`, and the node is bound only if its inputs are constants.
  std::string sized_by_values = {};
  std::string hint = {};  // the way out if they are not constants
  // The inputs whose values determine the sizes of the results: if they are constants, the node
  // itself is bound with these sizes, instead of `op`. If empty and `sized_by_values` is set: all
  // inputs.
  std::vector<int> sizing_inputs = {};
};

// True if a node that fetches and targets need is sized by values: it can be compiled only for
// known feeds (FeedSpec::value). Throws Error kUsage as OpDef::bind does.
[[nodiscard]] bool IsSizedByValues(const std::vector<Value>& fetches,
                                   const std::vector<Node*>& targets = {});

}  // namespace tpuest
