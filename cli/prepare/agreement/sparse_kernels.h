#pragma once
// Ops of an old Estimator's graph on sparse tensors and tables. Their results have sizes that
// follow from values, so the graphs that train here have none of them: feature columns are built in
// another way. A sparse tensor is three: indices int64 [n, rank], values [n], shape int64 [rank].

#include <functional>
#include <string_view>
#include <vector>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

using SparseKernel =
    std::function<std::vector<Tensor>(const SeenNode& node, const std::vector<Tensor>& inputs)>;

// The kernel of an op; nullptr: none is known here. Kernels throw Error kData for inputs that do
// not fit.
[[nodiscard]] const SparseKernel* FindSparseKernel(std::string_view op);

// The rows of `tensor` along axis 0 that `rows` names. Error kData for one that is not there.
[[nodiscard]] Tensor TakeRows(const Tensor& tensor, const std::vector<int64_t>& rows);

// The places of `keys` among `words`, both string or int64; `otherwise` for a key that is no word.
[[nodiscard]] Tensor LookUp(const Tensor& words, const Tensor& places, const Tensor& keys,
                            const Tensor& otherwise);

}  // namespace tpuest::cli
