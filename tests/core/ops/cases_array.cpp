// Sources, identities, shapes, joins, layouts.

#include <limits>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

std::vector<OpCase> SourceCases() {
  return {
      {.op = "Const",
       .build =
           [](Graph& graph, const In&) {
             return Built{{graph.Constant(Floats({2}, {1, 2}))}, {}};
           },
       .expected = {Floats({2}, {1, 2})}},
      {.op = "Placeholder",
       .inputs = {Ints({2}, {4, 5})},
       .build =
           [](Graph&, const In& in) {
             return Built{{in[0]}, {}};
           },
       .expected = {Ints({2}, {4, 5})},
       .batch = {0}},
      {.op = "Fill",
       .inputs = {Floats({}, {1.5F})},
       .build =
           [](Graph& graph, const In& in) {
             return Built{{ops::Fill(ops::Int32s(graph, {2, 3}), in[0])}, {}};
           },
       .expected = {Floats({2, 3}, {1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F})}},
      {.op = "Fill",
       .claim = "as many rows as the batch",
       .inputs = {Wave({2, 3}), Floats({}, {1.5F})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Mul(ops::Fill(ops::ShapeOf(in[0]), in[1]), in[0])}, {}};
           },
       .batch = {0}},
      {.op = "ZerosLike",
       .inputs = {Wave({2, 3})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::ZerosLike(in[0])}, {}};
           },
       .expected = {Floats({2, 3}, {0, 0, 0, 0, 0, 0})},
       .batch = {0}},
      {.op = "OnesLike",
       .inputs = {Wave({2, 2})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::OnesLike(in[0])}, {}};
           },
       .expected = {Floats({2, 2}, {1, 1, 1, 1})},
       .batch = {0}},
      {.op = "Range",
       .build =
           [](Graph& graph, const In&) {
             return Built{{ops::Range(graph.Scalar(1.0F), graph.Scalar(2.0F), graph.Scalar(0.3F)),
                           ops::Range(graph.Scalar(10), graph.Scalar(0), graph.Scalar(-3)),
                           ops::Range(graph.Scalar(3), graph.Scalar(3), graph.Scalar(1))},
                          {}};
           },
       .expected = {Floats({4}, {1, 1.3F, 1.6F, 1.9F}), Ints({4}, {10, 7, 4, 1}), Ints({0}, {})}},
  };
}

std::vector<OpCase> IdentityCases() {
  return {
      {.op = "Identity",
       .inputs = {Wave({2, 3})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Identity(in[0])}, {}};
           },
       .expected = {Wave({2, 3})},
       .batch = {0}},
      {.op = "StopGradient",
       .inputs = {Wave({2, 3})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::StopGradient(in[0])}, {}};
           },
       .expected = {Wave({2, 3})},
       .batch = {0}},
      {.op = "PreventGradient",
       .inputs = {Ints({2}, {1, 2})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::PreventGradient(in[0], "not this way")}, {}};
           },
       .expected = {Ints({2}, {1, 2})},
       .batch = {0}},
      {.op = "NoOp",
       .build =
           [](Graph& graph, const In&) {
             return Built{{}, {ops::NoOp(graph, {})}};
           }},
  };
}

std::vector<OpCase> ShapeCases() {
  return {
      {.op = "Reshape",
       .inputs = {Wave({2, 6})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Reshape(in[0], Shape({kUnknownDim, 3, 2}))}, {}};
           },
       .batch = {0}},
      {.op = "Reshape",
       .claim = "to a shape made of parts",
       .inputs = {Wave({2, 6})},
       .build =
           [](Graph& graph, const In& in) {
             const Value rows = ops::StridedSlice(
                 ops::ShapeOf(in[0]), {.begin = {0}, .end = {1}, .shrink_axis_mask = 1});
             const Value shape = ops::Pack({rows, graph.Scalar(2), graph.Scalar(-1)});
             return Built{{ops::Reshape(in[0], shape)}, {}};
           },
       .batch = {0}},
      {.op = "Shape",
       .inputs = {Wave({2, 3})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::ShapeOf(in[0]), ops::ShapeOf(in[0], DType::kInt64)}, {}};
           },
       .expected = {Ints({2}, {2, 3}), Longs({2}, {2, 3})},
       .batch = {0}},
      {.op = "Size",
       .inputs = {Wave({2, 3})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Size(in[0])}, {}};
           },
       .expected = {Ints({}, {6})},
       .batch = {0}},
      {.op = "Rank",
       .inputs = {Wave({2, 3})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Rank(in[0])}, {}};
           },
       .expected = {Ints({}, {2})},
       .batch = {0}},
      {.op = "ExpandDims",
       .inputs = {Wave({2, 3})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::ExpandDims(in[0], -1), ops::ExpandDims(in[0], 1)}, {}};
           },
       .expected = {Wave({2, 3, 1}), Wave({2, 1, 3})},
       .batch = {0}},
      {.op = "ExpandDims",
       .claim = "in front",
       .inputs = {Wave({2, 3})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::ExpandDims(in[0], 0)}, {}};
           },
       .expected = {Wave({1, 2, 3})},
       .batch = {0}},
      {.op = "Squeeze",
       .inputs = {Wave({2, 1, 3, 1})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Squeeze(in[0]), ops::Squeeze(in[0], {-1})}, {}};
           },
       .expected = {Wave({2, 3}), Wave({2, 1, 3})},
       .batch = {0}},
  };
}

std::vector<OpCase> JoinCases() {
  const Tensor a = Floats({2, 2}, {1, 2, 3, 4});
  const Tensor b = Floats({2, 1}, {5, 6});
  return {
      {.op = "ConcatV2",
       .inputs = {a, b},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::ConcatV2({in[0], in[1], in[0]}, -1)}, {}};
           },
       .expected = {Floats({2, 5}, {1, 2, 5, 1, 2, 3, 4, 6, 3, 4})},
       .batch = {0, 1}},
      {.op = "ConcatV2",
       .claim = "of rows",
       .inputs = {a, Floats({1, 2}, {7, 8})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::ConcatV2({in[0], in[1]}, 0)}, {}};
           },
       .expected = {Floats({3, 2}, {1, 2, 3, 4, 7, 8})},
       .batch = {0}},
      {.op = "Pack",
       .inputs = {a, Floats({2, 2}, {5, 6, 7, 8})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Pack({in[0], in[1]}, 1)}, {}};
           },
       .expected = {Floats({2, 2, 2}, {1, 2, 5, 6, 3, 4, 7, 8})},
       .batch = {0, 1}},
      {.op = "Pack",
       .claim = "in front",
       .inputs = {a, Floats({2, 2}, {5, 6, 7, 8})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Pack({in[0], in[1]})}, {}};
           },
       .expected = {Floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
       .batch = {0, 1}},
      {.op = "Unpack",
       .inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})},
       .build =
           [](Graph&, const In& in) {
             const std::vector<Value> parts = ops::Unpack(in[0], 1);
             return Built{{parts[0], parts[2]}, {}};
           },
       .expected = {Floats({2}, {1, 4}), Floats({2}, {3, 6})},
       .batch = {0}},
  };
}

std::vector<OpCase> LayoutCases() {
  return {
      {.op = "Transpose",
       .inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Transpose(in[0], {1, 0})}, {}};
           },
       .expected = {Floats({3, 2}, {1, 4, 2, 5, 3, 6})},
       .batch = {0}},
      {.op = "Transpose",
       .claim = "behind the rows",
       .inputs = {Wave({2, 3, 4, 5})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Transpose(in[0], {0, 3, 1, 2})}, {}};
           },
       .batch = {0}},
      {.op = "Tile",
       .inputs = {Floats({2, 2}, {1, 2, 3, 4})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Tile(in[0], {2, 3})}, {}};
           },
       .expected = {Floats(
           {4, 6}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4})}},
      {.op = "Tile",
       .claim = "along the columns",
       .inputs = {Floats({2, 2}, {1, 2, 3, 4})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Tile(in[0], {1, 2})}, {}};
           },
       .expected = {Floats({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})},
       .batch = {0}},
      {.op = "BroadcastTo",
       .inputs = {Floats({2, 1}, {1, 2})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::BroadcastTo(in[0], Shape({3, 2, 2}))}, {}};
           },
       .expected = {Floats({3, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2})}},
      {.op = "BroadcastTo",
       .claim = "to the rows of the batch",
       .inputs = {Wave({2, 3}), Floats({3}, {1, 2, 3})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Mul(in[0], ops::BroadcastTo(in[1], ops::ShapeOf(in[0])))}, {}};
           },
       .batch = {0}},
      {.op = "BroadcastArgs",
       .inputs = {Ints({2}, {3, 1}), Ints({1}, {4})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::BroadcastArgs(in[0], in[1])}, {}};
           },
       .expected = {Ints({2}, {3, 4})}},
  };
}

}  // namespace

std::vector<OpCase> ArrayCases() {
  std::vector<OpCase> all;
  for (const auto cases : {SourceCases, IdentityCases, ShapeCases, JoinCases, LayoutCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
