// Slices and padding.

#include "core/ops/array.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

Tensor UpTo24() {
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>(i));
  return Floats({2, 3, 4}, values);
}

OpCase Picks(std::string claim, const ops::StridedSliceOptions& options, Tensor expected) {
  return {.op = "StridedSlice",
          .claim = std::move(claim),
          .inputs = {UpTo24()},
          .build =
              [options](Graph&, const In& in) {
                return Built{{ops::StridedSlice(in[0], options)}, {}};
              },
          .expected = {std::move(expected)}};
}

OpCase WithRows(OpCase op_case) {
  op_case.batch = {0};
  return op_case;
}

std::vector<OpCase> StridedCases() {
  return {
      WithRows(Picks("x[:, 1, ::-2]",
                     {.begin = {0, 1, 0},
                      .end = {0, 2, 0},
                      .strides = {1, 1, -2},
                      .begin_mask = 5,
                      .end_mask = 5,
                      .shrink_axis_mask = 2},
                     Floats({2, 2}, {7, 5, 19, 17}))),
      WithRows(Picks("x[..., 1:3]", {.begin = {0, 1}, .end = {0, 3}, .ellipsis_mask = 1},
                     Floats({2, 3, 2}, {1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22}))),
      Picks("x[1, newaxis, -2:]",
            {.begin = {1, 0, -2},
             .end = {2, 0, 0},
             .end_mask = 4,
             .new_axis_mask = 2,
             .shrink_axis_mask = 1},
            Floats({1, 2, 4}, {16, 17, 18, 19, 20, 21, 22, 23})),
      WithRows(Picks("x[:, 2:0:-1, 1]",
                     {.begin = {0, 2, 1},
                      .end = {0, 0, 2},
                      .strides = {1, -1, 1},
                      .begin_mask = 1,
                      .end_mask = 1,
                      .shrink_axis_mask = 4},
                     Floats({2, 2}, {9, 5, 21, 17}))),
      WithRows(Picks("x[:, -5:2, 3:10] is clipped",
                     {.begin = {0, -5, 3}, .end = {0, 2, 10}, .begin_mask = 1, .end_mask = 1},
                     Floats({2, 2, 1}, {3, 7, 15, 19}))),
      Picks("x[1:1] is empty", {.begin = {1}, .end = {1}}, Floats({0, 3, 4}, {})),
      {.op = "StridedSlice",
       .claim = "rows from the second on",
       .inputs = {Floats({4}, {1, 2, 3, 4})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::StridedSlice(in[0], {.begin = {1}, .end = {0}, .end_mask = 1})},
                          {}};
           },
       .expected = {Floats({3}, {2, 3, 4})},
       .batch = {0}},
  };
}

std::vector<OpCase> OtherCases() {
  return {
      {.op = "StridedSliceGrad",
       .inputs = {Floats({2, 2}, {1, 2, 3, 4})},
       .build =
           [](Graph& graph, const In& in) {
             return Built{
                 {graph.Add("StridedSliceGrad",
                            {ops::Int32s(graph, {2, 3, 4}), ops::Int32s(graph, {0, 1, 3}),
                             ops::Int32s(graph, {0, 0, 0}), ops::Int32s(graph, {1, 1, -2}), in[0]},
                            {{"begin_mask", int64_t{5}},
                             {"end_mask", int64_t{5}},
                             {"shrink_axis_mask", int64_t{2}}})},
                 {}};
           },
       .expected = {Floats(
           {2, 3, 4}, {0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 3, 0, 0, 0, 0})}},
      {.op = "Slice",
       .inputs = {UpTo24()},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Slice(in[0], {0, 1, 2}, {-1, 2, -1})}, {}};
           },
       .expected = {Floats({2, 2, 2}, {6, 7, 10, 11, 18, 19, 22, 23})},
       .batch = {0}},
      {.op = "Slice",
       .claim = "of rows",
       .inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Slice(in[0], {1, 0}, {2, 1})}, {}};
           },
       .expected = {Floats({2, 1}, {3, 5})},
       .batch = {0}},
      {.op = "Pad",
       .inputs = {Floats({2, 2}, {1, 2, 3, 4})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Pad(in[0], {{1, 0}, {0, 2}})}, {}};
           },
       .expected = {Floats({3, 4}, {0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0})},
       .batch = {0}},
      {.op = "Pad",
       .claim = "within rows",
       .inputs = {Floats({2, 1}, {1, 2})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Pad(in[0], {{0, 0}, {1, 1}})}, {}};
           },
       .expected = {Floats({2, 3}, {0, 1, 0, 0, 2, 0})},
       .batch = {0}},
  };
}

}  // namespace

std::vector<OpCase> SliceCases() {
  std::vector<OpCase> all = StridedCases();
  for (OpCase& op_case : OtherCases()) all.push_back(std::move(op_case));
  return all;
}

}  // namespace tpuest
