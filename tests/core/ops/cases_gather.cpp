// Lookups and rankings.

#include <limits>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

Tensor UpTo(const Shape& shape) {
  Tensor tensor(DType::kFloat, shape);
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

OpCase Gathers(std::string claim, Tensor params, Tensor indices, int axis, int batch_dims,
               Tensor expected) {
  return {.op = "GatherV2",
          .claim = std::move(claim),
          .inputs = {std::move(params), std::move(indices)},
          .build =
              [axis, batch_dims](Graph&, const In& in) {
                return Built{{ops::GatherV2(in[0], in[1], axis, batch_dims)}, {}};
              },
          .expected = {std::move(expected)}};
}

OpCase WithBatch(OpCase op_case, std::vector<int> batch) {
  op_case.batch = std::move(batch);
  return op_case;
}

std::vector<OpCase> LookupCases() {
  return {
      WithBatch(Gathers("rows, one of them twice", UpTo({3, 2}), Ints({2, 2}, {2, 0, 2, 1}), 0, 0,
                        Floats({2, 2, 2}, {4, 5, 0, 1, 4, 5, 2, 3})),
                {1}),
      WithBatch(
          Gathers("columns", UpTo({2, 3}), Longs({2}, {2, 1}), -1, 0, Floats({2, 2}, {2, 1, 5, 4})),
          {0}),
      {.op = "GatherV2",
       .claim = "known columns, each once at most",
       .inputs = {UpTo({2, 4})},
       .build =
           [](Graph& graph, const In& in) {
             return Built{{ops::GatherV2(in[0], ops::Int32s(graph, {3, 0, 2}), 1)}, {}};
           },
       .expected = {Floats({2, 3}, {3, 0, 2, 7, 4, 6})},
       .batch = {0}},
      {.op = "GatherV2",
       .claim = "known columns, one of them twice",
       .inputs = {UpTo({2, 3})},
       .build =
           [](Graph& graph, const In& in) {
             return Built{{ops::GatherV2(in[0], ops::Int32s(graph, {2, 0, 2}), 1)}, {}};
           },
       .expected = {Floats({2, 3}, {2, 0, 2, 5, 3, 5})}},
      Gathers("a middle axis by a table", UpTo({2, 3, 2}), Ints({1, 2}, {2, 0}), 1, 0,
              Floats({2, 1, 2, 2}, {4, 5, 0, 1, 10, 11, 6, 7})),
      WithBatch(Gathers("each row its own", UpTo({2, 3, 2}), Ints({2, 2}, {2, 0, 1, 1}), 1, 1,
                        Floats({2, 2, 2}, {4, 5, 0, 1, 8, 9, 8, 9})),
                {0, 1}),
      WithBatch(
          Gathers("one of each row", UpTo({2, 3}), Ints({2}, {2, 0}), 1, 1, Floats({2}, {2, 3})),
          {0, 1}),
      {.op = "OneHot",
       .inputs = {Ints({4}, {1, -1, 3, 0})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::OneHot(in[0], {.depth = 3})}, {}};
           },
       .expected = {Floats({4, 3}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0})},
       .batch = {0}},
      {.op = "OneHot",
       .claim = "along the first axis",
       .inputs = {Longs({4}, {1, -1, 3, 0})},
       .build =
           [](Graph&, const In& in) {
             return Built{
                 {ops::OneHot(in[0], {.depth = 3, .on_value = 5, .off_value = -1, .axis = 0})}, {}};
           },
       .expected = {Floats({3, 4}, {-1, -1, -1, 5, 5, -1, -1, -1, -1, -1, -1, -1})},
       .batch = {0}},
  };
}

std::vector<OpCase> RankingCases() {
  const Tensor x = Floats({2, 3}, {1, 3, 3, 2, 2, 1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const int64_t longest = std::numeric_limits<int64_t>::max();
  return {
      {.op = "ArgMax",
       .claim = "the first of equals",
       .inputs = {x},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::ArgMax(in[0], 1)}, {}};
           },
       .expected = {Longs({2}, {1, 0})},
       .batch = {0}},
      {.op = "ArgMin",
       .claim = "over the first axis",
       .inputs = {x},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::ArgMin(in[0], 0, DType::kInt32)}, {}};
           },
       .expected = {Ints({3}, {0, 1, 1})},
       .batch = {0}},
      {.op = "ArgMax",
       .claim = "nothing beats a NaN in front, one behind beats nothing",
       .inputs = {Floats({4, 3}, {nan, 1, 2, 1, nan, 3, -infinity, nan, nan, 2, nan, infinity})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::ArgMax(in[0], 1), ops::ArgMin(in[0], 1)}, {}};
           },
       .expected = {Longs({4}, {0, 2, 0, 2}), Longs({4}, {0, 0, 0, 0})},
       .batch = {0}},
      {.op = "ArgMin",
       .claim = "of the ends of 64 bits and of truths",
       .inputs = {Longs({2, 3}, {longest, -longest - 1, -longest - 1, 1, 0, longest})},
       .build =
           [](Graph& graph, const In& in) {
             const Value small = ops::Less(in[0], graph.Scalar<int64_t>(2));
             return Built{{ops::ArgMin(in[0], 1), ops::ArgMax(in[0], 1), ops::ArgMax(small, 1)},
                          {}};
           },
       .expected = {Longs({2}, {1, 1}), Longs({2}, {0, 2}), Longs({2}, {1, 0})}},
      {.op = "TopKV2",
       .claim = "of equals the one that stands first",
       .inputs = {Floats({1, 6}, {1, 3, 2, 3, -1, 2})},
       .build =
           [](Graph&, const In& in) {
             const ops::TopKResult top = ops::TopKV2(in[0], 4);
             return Built{{top.values, top.indices}, {}};
           },
       .expected = {Floats({1, 4}, {3, 3, 2, 2}), Ints({1, 4}, {1, 3, 2, 5})},
       .batch = {0},
       .numeric_gradient = false},
      {.op = "TopKV2",
       .inputs = {Wave({2, 5})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::TopKV2(in[0], 2).values}, {}};
           },
       .batch = {0}},
      {.op = "InTopKV2",
       .claim = "ties count for the target; what is not finite or out of range is not in",
       .inputs = {Floats({4, 3}, {0.1F, 0.9F, 0.5F, 0.5F, 0.5F, 0.2F, 0.3F, 0.2F, nan, 1, 2, 3}),
                  Ints({4}, {2, 1, 0, 5})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::InTopKV2(in[0], in[1], 2)}, {}};
           },
       .expected = {Bools({4}, {1, 1, 0, 0})},
       .batch = {0, 1},
       .in_double = false,
       .in_bfloat16 = false},
  };
}

OpCase Uniques(std::string claim, Tensor x, DType out_idx, Tensor y, Tensor idx) {
  return {.op = "Unique",
          .claim = std::move(claim),
          .inputs = {std::move(x)},
          .build =
              [out_idx](Graph&, const In& in) {
                const ops::UniqueResult unique = ops::Unique(in[0], out_idx);
                return Built{{unique.y, unique.idx}, {}};
              },
          .expected = {std::move(y), std::move(idx)},
          .numeric_gradient = false,
          .in_double = false,
          .in_bfloat16 = false};
}

std::vector<OpCase> UniqueCases() {
  return {
      Uniques("in the order of first occurrence, -1 a number like any, filled up with -1",
              Ints({6}, {7, -1, 7, 3, -1, 3}), DType::kInt32, Ints({6}, {7, -1, 3, -1, -1, -1}),
              Ints({6}, {0, 1, 0, 2, 1, 2})),
      Uniques("of wide numbers, some 2^32 apart", Longs({4}, {4294967301, 5, -4294967291, 5}),
              DType::kInt64, Longs({4}, {4294967301, 5, -4294967291, -1}),
              Longs({4}, {0, 1, 2, 1})),
      Uniques("of none", Longs({0}, {}), DType::kInt32, Longs({0}, {}), Ints({0}, {})),
  };
}

}  // namespace

std::vector<OpCase> GatherCases() {
  std::vector<OpCase> all = LookupCases();
  for (const auto cases : {RankingCases, UniqueCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
