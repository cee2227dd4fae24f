// Reductions and sums by segment.

#include <limits>

#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/replica_rows.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using In = std::vector<Value>;
using Builder = Value (*)(Value, const std::vector<int64_t>&, bool, std::string_view);

OpCase Over(std::string op, std::string claim, Builder build, Tensor x,
            const std::vector<int64_t>& axes, bool keep_dims = false) {
  return {.op = std::move(op),
          .claim = std::move(claim),
          .inputs = {std::move(x)},
          .build =
              [build, axes, keep_dims](Graph&, const In& in) {
                return Built{{build(in[0], axes, keep_dims, "")}, {}};
              },
          .batch = {0},
          .sums_rows = true};
}

OpCase Known(OpCase op_case, Tensor expected) {
  op_case.expected = {std::move(expected)};
  return op_case;
}

const std::pair<const char*, Builder> kNumbers[] = {{"Sum", ops::Sum},
                                                    {"Mean", ops::Mean},
                                                    {"Max", ops::Max},
                                                    {"Min", ops::Min},
                                                    {"Prod", ops::Prod}};

// Every kind of selection of axes.
std::vector<OpCase> AxesCases() {
  std::vector<OpCase> cases;
  for (const auto& [op, build] : kNumbers) {
    const Tensor x = Wave({3, 4, 37}, 0.2F, 0.9F);
    const Tensor small = Wave({3, 4, 5}, 0.2F, 0.9F);
    cases.push_back(Over(op, "over the last axis", build, x, {-1}));
    cases.push_back(Over(op, "over the first axis", build, small, {0}));
    cases.push_back(Over(op, "over the middle, kept", build, small, {1}, true));
    cases.push_back(Over(op, "over first and last", build, small, {0, 2}));
    cases.push_back(Over(op, "over all", build, small, {}));
    cases.push_back(Over(op, "over all, kept", build, small, {}, true));
  }
  return cases;
}

std::vector<OpCase> KnownCases() {
  const Tensor x = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor truth = Bools({2, 2}, {1, 0, 1, 1});
  OpCase ties =
      Over("Max", "equals share the gradient", ops::Max, Floats({2, 3}, {1, 3, 3, 2, 2, 1}), {1});
  ties.numeric_gradient = false;
  OpCase greatest =
      Known(Over("Max", "of NaN is NaN", ops::Max, Floats({2, 3}, {1, kNan, 3, 4, 6, 5}), {1}),
            Floats({2}, {kNan, 6}));
  OpCase least = Known(Over("Min", "of NaN is NaN", ops::Min, Floats({3}, {kNan, 2, 3}), {0}),
                       Floats({}, {kNan}));
  for (OpCase* op_case : {&greatest, &least}) op_case->numeric_gradient = false;
  return {
      greatest,
      least,
      Known(Over("Max", "of integers", ops::Max, Longs({2, 2}, {-7, -5, 3, 1}), {1}),
            Longs({2}, {-5, 3})),
      Known(Over("Min", "of integers", ops::Min, Longs({2, 2}, {-7, -5, 3, 1}), {1}),
            Longs({2}, {-7, 1})),
      Known(Over("Sum", "rows", ops::Sum, x, {1}), Floats({2}, {6, 15})),
      Known(Over("Mean", "columns", ops::Mean, x, {0}), Floats({3}, {2.5F, 3.5F, 4.5F})),
      Known(Over("Max", "all", ops::Max, x, {}), Floats({}, {6})),
      Known(Over("Min", "rows", ops::Min, x, {1}, true), Floats({2, 1}, {1, 4})),
      Known(Over("Prod", "rows", ops::Prod, x, {1}), Floats({2}, {6, 120})),
      Over("Prod", "with zeros", ops::Prod, Floats({3, 3}, {1, 0, 3, 0, 0, 2, 2, 3, 4}), {1}),
      ties,
      Known(Over("Mean", "of integers cuts off", ops::Mean, Ints({5}, {-3, 2, 2, 2, -5}), {0}),
            Ints({}, {0})),
      Known(Over("Sum", "of integers", ops::Sum, Longs({2, 2}, {1, 2, 3, 4}), {0}),
            Longs({2}, {4, 6})),
      Known(Over("All", "", ops::All, truth, {1}), Bools({2}, {0, 1})),
      Known(Over("Any", "", ops::Any, Bools({2, 2}, {1, 0, 0, 0}), {0}), Bools({2}, {1, 0})),
  };
}

std::vector<OpCase> SegmentCases() {
  return {
      {.op = "UnsortedSegmentSum",
       .claim = "drops negative ids",
       .inputs = {Floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), Ints({4}, {2, 0, -1, 2})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::UnsortedSegmentSum(in[0], in[1], 3)}, {}};
           },
       .expected = {Floats({3, 2}, {3, 4, 0, 0, 8, 10})},
       .batch = {0, 1},
       .sums_rows = true},
      {.op = "UnsortedSegmentSum",
       .claim = "by a table of ids",
       .inputs = {Floats({2, 2, 1}, {1, 2, 3, 4}), Longs({2, 2}, {1, 0, 1, 1})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::UnsortedSegmentSum(in[0], in[1], 2)}, {}};
           },
       .expected = {Floats({2, 1}, {2, 8})}},
      {.op = "CrossReplicaSum",
       .claim = "of one replica is its value",
       .inputs = {Floats({2}, {1, 2})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::CrossReplicaSum(in[0], 1)}, {}};
           },
       .expected = {Floats({2}, {1, 2})}},
      {.op = "_OfReplica",
       .claim = "is zeros on other replicas",
       .inputs = {Floats({2}, {1, 2})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::OfReplica(in[0], 0), ops::OfReplica(in[0], 1)}, {}};
           },
       .expected = {Floats({2}, {1, 2}), Floats({2}, {0, 0})}},
      {.op = "_GatherRowsOfReplicas",
       .claim = "of one replica are its rows",
       .inputs = {Longs({2}, {1, -1}), Floats({2, 1}, {1, 2})},
       .build =
           [](Graph&, const In& in) {
             const ops::GatheredRows rows = ops::GatherRows(in[0], in[1], 1);
             return Built{{rows.indices, rows.values}, {}};
           },
       .expected = {Longs({2}, {1, -1}), Floats({2, 1}, {1, 2})},
       .in_bfloat16 = false},
      {.op = "_SumRowsOfReplicas",
       .claim = "sums rows of three replicas, -1 is none",
       .inputs = {Longs({6}, {4, 1, 1, -1, 0, 4}),
                  Floats({6, 2}, {1, 2, 3, 4, 5, 6, 90, 90, 7, 8, 9, 10})},
       .build =
           [](Graph&, const In& in) {
             const ops::SummedRows rows = ops::SumRowsOfReplicas(in[0], in[1], 3);
             // The backend chooses the positions of -1 among the numbers.
             const Value kept = ops::SelectV2(
                 ops::ExpandDims(ops::GreaterEqual(rows.indices, in[0].graph().Scalar<int64_t>(0)),
                                 1),
                 rows.sums, in[0].graph().ScalarOf(rows.sums.dtype(), 0));
             return Built{{ops::UnsortedSegmentSum(kept, rows.indices, 5)}, {}};
           },
       .expected = {Floats({5, 2}, {7, 8, 8, 10, 0, 0, 0, 0, 10, 12})},
       .in_bfloat16 = false},
  };
}

}  // namespace

std::vector<OpCase> ReductionCases() {
  std::vector<OpCase> all = AxesCases();
  for (const auto cases : {KnownCases, SegmentCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
