#pragma once
// Finds layers that multiply by a variable in a model_fn's graph: dense, conv2d, depthwise_conv2d,
// separable_conv2d; and reads what they share with pooling.

#include <optional>
#include <string>

#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

struct MigratedProduct {
  std::string text;                 // "{type: dense, units: 10, name: dense}"
  std::string obstacle;             // the reason why it is no layer; empty: it is one
  const SeenNode* first = nullptr;  // the node that takes the layer's input, as its first
  int64_t outputs = 0;              // units, filters
  int64_t inputs = 0;               // width that a dense layer takes
};

// The layer whose last node this is: its activation, the sum with its bias, or the product.
// nullopt: none is.
[[nodiscard]] std::optional<MigratedProduct> FindProduct(const SeenGraph& graph,
                                                         const BundleReader& variables,
                                                         const SeenNode& node);

// The activation's name in a job, "relu" for Relu; nullptr: the op is no activation.
[[nodiscard]] const char* ActivationOf(const SeenNode& node);

// Height and width of an attribute [1, height, width, 1]: "2", "[2, 1]"; "1" if it is not there.
// nullopt: images have their channels first.
[[nodiscard]] std::optional<std::string> AreaOf(const SeenNode& node, const char* attribute);
// Returns the padding for a layer's text: ", padding: same", or "".
[[nodiscard]] std::string PaddingOf(const SeenNode& node);
// The obstacle of a node for which AreaOf gives nullopt.
[[nodiscard]] std::string ChannelsFirst(const SeenNode& node);

}  // namespace tpuest::cli
