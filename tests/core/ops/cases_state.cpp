// Variables: reading, writing, gathering, scattering.

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

const Tensor& Table() {
  static const Tensor table = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  return table;
}

Variable* AddTable(Graph& graph) {
  return graph.AddVariable("table", DType::kFloat, {3, 2}, graph.Constant(Table()));
}

using WriteBuilder = Node* (*)(Value, Value, std::string_view);

OpCase Writes(std::string op, WriteBuilder write, Tensor after) {
  return {.op = std::move(op),
          .inputs = {Floats({3, 2}, {10, 20, 30, 40, 50, 60})},
          .build =
              [write](Graph& graph, const In& in) {
                return Built{{}, {write(AddTable(graph)->handle, in[0], "")}};
              },
          .variables = {{"table", Table()}},
          .updated = {{"table", std::move(after)}}};
}

using ScatterBuilder = Node* (*)(Value, Value, Value, std::string_view);

OpCase Scatters(std::string op, ScatterBuilder scatter, Tensor after,
                const std::vector<int32_t>& rows = {2, 0, -1, 2}) {
  return {.op = std::move(op),
          .claim = "duplicates add up, -1 is no row",
          .inputs = {Ints({4}, rows), Floats({4, 2}, {1, 1, 10, 20, 7, 7, 100, 100})},
          .build =
              [scatter](Graph& graph, const In& in) {
                return Built{{}, {scatter(AddTable(graph)->handle, in[0], in[1], "")}};
              },
          .variables = {{"table", Table()}},
          .updated = {{"table", std::move(after)}},
          .in_double = false,
          .in_bfloat16 = false};
}

OpCase FloatOnly(OpCase op_case) {
  op_case.in_double = false;
  op_case.in_bfloat16 = false;
  return op_case;
}

}  // namespace

std::vector<OpCase> StateCases() {
  return {
      {.op = "VarHandleOp",
       .build =
           [](Graph& graph, const In&) {
             return Built{{AddTable(graph)->value}, {}};
           },
       .expected = {Table()},
       .variables = {{"table", Table()}}},
      {.op = "ReadVariableOp",
       .claim = "after an update sees it, before it does not",
       .inputs = {Floats({3, 2}, {10, 20, 30, 40, 50, 60})},
       .build =
           [](Graph& graph, const In& in) {
             Variable* const table = AddTable(graph);
             Node* const assign = ops::AssignVariableOp(table->handle, in[0]);
             const Value after = ops::ReadVariableOp(table->handle);
             after.node->AddControlInput(assign);
             return Built{{ops::Identity(table->value), ops::Identity(after)}, {assign}};
           },
       .expected = {Table(), Floats({3, 2}, {10, 20, 30, 40, 50, 60})},
       .variables = {{"table", Table()}},
       .updated = {{"table", Floats({3, 2}, {10, 20, 30, 40, 50, 60})}},
       .numeric_gradient = false,
       .in_double = false,
       .in_bfloat16 = false},
      FloatOnly(Writes("AssignVariableOp", ops::AssignVariableOp,
                       Floats({3, 2}, {10, 20, 30, 40, 50, 60}))),
      FloatOnly(Writes("AssignAddVariableOp", ops::AssignAddVariableOp,
                       Floats({3, 2}, {11, 22, 33, 44, 55, 66}))),
      FloatOnly(Writes("AssignSubVariableOp", ops::AssignSubVariableOp,
                       Floats({3, 2}, {-9, -18, -27, -36, -45, -54}))),
      {.op = "VarIsInitializedOp",
       .build =
           [](Graph& graph, const In&) {
             return Built{{ops::VarIsInitializedOp(AddTable(graph)->handle)}, {}};
           },
       .expected = {Bools({}, {1})},
       .variables = {{"table", Table()}}},
      {.op = "ResourceGather",
       .inputs = {Ints({2, 2}, {2, 0, 2, 1})},
       .build =
           [](Graph& graph, const In& in) {
             return Built{{ops::ResourceGather(AddTable(graph)->handle, in[0])}, {}};
           },
       .expected = {Floats({2, 2, 2}, {5, 6, 1, 2, 5, 6, 3, 4})},
       .variables = {{"table", Table()}},
       .batch = {0}},
      Scatters("ResourceScatterAdd", ops::ResourceScatterAdd,
               Floats({3, 2}, {11, 22, 3, 4, 106, 107})),
      Scatters("ResourceScatterSub", ops::ResourceScatterSub,
               Floats({3, 2}, {-9, -18, 3, 4, -96, -95})),
      Scatters("ResourceScatterUpdate", ops::ResourceScatterUpdate,
               Floats({3, 2}, {10, 20, 3, 4, 1, 1}), {2, 0, -1, -1}),
  };
}

}  // namespace tpuest
