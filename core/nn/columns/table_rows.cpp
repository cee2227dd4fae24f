#include "core/nn/columns/table_rows.h"

#include <optional>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/row_initial.h"
#include "core/ops/sorted_search.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

std::string KeysName(const std::string& table) { return table + "-keys"; }
std::string SeedName(const std::string& table) { return table + "-seed"; }

Tensor DimsOf(const Shape& shape) {
  std::vector<int32_t> dims;
  for (const int64_t dim : shape.dims()) dims.push_back(static_cast<int32_t>(dim));
  return Tensor::Of(Shape({shape.rank()}), dims);
}

// Rows [m, D] of the table as it begins, as nodes of the graph of `ids` [m].
Value StartingRows(const Variable& table, const TableStart& start, Value ids) {
  const Node* const seed = ids.graph().FindNode(SeedName(table.name));
  Check(seed != nullptr, "{} has materialized rows but no seed", table.name);
  Graph whole(ids.graph().registry());
  std::optional<NameScope> scope;
  if (!start.scope.empty()) scope.emplace(whole, start.scope);
  const Value initial =
      InitialValue(whole, table.name, DType::kFloat, start.shape, start.initializer);
  const std::optional<Value> rows =
      ops::DrawnRows(initial, static_cast<uint64_t>(*seed->Attr<Tensor>("value").data<int64_t>()),
                     ids, start.shape.dim(1));
  if (rows) return *rows;
  throw Error(Code::kUsage,
              fmt::format("the initial value of \"{}\", {}, cannot be computed row by row",
                          table.name, start.shape.Text()),
              "use initializer: {type: truncated_normal}, random_normal, random_uniform, a "
              "variance_scaling or a constant")
      .At(table.handle.node->origin());
}

}  // namespace

void AddWrittenRows(Graph& graph, const std::string& table, int64_t n, int64_t width,
                    uint64_t seed) {
  const auto add = [&](const std::string& name, DType dtype, const Shape& shape) {
    const NameScope scope(graph, name + "/Initializer");
    const Value zeros =
        ops::Fill(graph.Constant(DimsOf(shape), "dims"), graph.ScalarOf(dtype, 0), "zeros");
    return graph.AddVariable(name, dtype, shape, zeros, {.trainable = false});
  };
  add(table, DType::kFloat, Shape({n, width}));
  add(KeysName(table), DType::kInt64, Shape({n}));
  (void)graph.NamedConstant(Tensor::Scalar<int64_t>(static_cast<int64_t>(seed)), SeedName(table),
                            {});
}

Value TableRows(const Variable& table, const TableStart& start, Value ids) {
  Graph& graph = ids.graph();
  const Variable* const keys = graph.FindVariable(KeysName(table.name));
  if (keys == nullptr) return ops::ResourceGather(table.handle, ids);
  const NameScope scope(graph, "rows");
  const Value asked = ops::Reshape(ids, Shape{kUnknownDim});
  const Value place = ops::Reshape(
      ops::LowerBound(ops::ExpandDims(keys->value, 0), ops::ExpandDims(asked, 0), DType::kInt64),
      Shape{kUnknownDim});
  const Value last = graph.Scalar<int64_t>(table.shape.dim(0) - 1);
  const Value there = ops::Minimum(place, last);
  const Value is_written = ops::Equal(ops::GatherV2(keys->value, there), asked);
  const Value rows =
      ops::SelectV2(ops::ExpandDims(is_written, -1), ops::GatherV2(table.value, there),
                    StartingRows(table, start, asked));
  const Value width = graph.Constant(DimsOf(Shape({start.shape.dim(1)})));
  return ops::Reshape(rows, ops::ConcatV2({ops::ShapeOf(ids), width}, 0));
}

}  // namespace tpuest::nn
