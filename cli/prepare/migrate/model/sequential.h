#pragma once
// Finds the Sequential model that an old model_fn made of layers is.

#include <optional>
#include <string>

#include "cli/prepare/migrate/model/model.h"
#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

struct MigratedSequential {
  std::optional<MigratedModel> model;
  std::string obstacle;  // the reason why there is none
};

// Goes from the loss back through the layers to the input.
[[nodiscard]] MigratedSequential FindSequential(const SeenGraph& graph,
                                                const BundleReader& variables);

}  // namespace tpuest::cli
