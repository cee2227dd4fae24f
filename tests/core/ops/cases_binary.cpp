// Functions of two arguments, selections, AddN.

#include <limits>

#include "core/ops/bits.h"
#include "core/ops/elementwise.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using BinaryBuilder = Value (*)(Value, Value, std::string_view);

BuildFn Of(BinaryBuilder op) {
  return [op](Graph&, const std::vector<Value>& in) { return Built{{op(in[0], in[1], "")}, {}}; };
}

OpCase Two(std::string op, std::string claim, BinaryBuilder build, Tensor x, Tensor y) {
  return {.op = std::move(op),
          .claim = std::move(claim),
          .inputs = {std::move(x), std::move(y)},
          .build = Of(build)};
}

OpCase Known(std::string op, std::string claim, BinaryBuilder build, Tensor x, Tensor y, Tensor z) {
  OpCase op_case = Two(std::move(op), std::move(claim), build, std::move(x), std::move(y));
  op_case.expected = {std::move(z)};
  op_case.numeric_gradient = false;
  op_case.in_bfloat16 = false;
  return op_case;
}

const std::pair<const char*, BinaryBuilder> kSmooth[] = {
    {"AddV2", ops::AddV2},       {"Sub", ops::Sub},
    {"Mul", ops::Mul},           {"RealDiv", ops::RealDiv},
    {"DivNoNan", ops::DivNoNan}, {"SquaredDifference", ops::SquaredDifference},
    {"Pow", ops::Pow},           {"Maximum", ops::Maximum},
    {"Minimum", ops::Minimum},
};

// Every kind of broadcasting: same shape, a scalar, a trailing vector, a column, both at once,
// leading axes.
std::vector<OpCase> BroadcastCases() {
  struct Way {
    const char* claim;
    Shape x, y;
    std::vector<int> batch;
  };
  const Way ways[] = {
      {"of one shape", {3, 19}, {3, 19}, {0, 1}},
      {"by a scalar", {3, 19}, {}, {0}},
      {"of a scalar", {}, {3, 19}, {1}},
      {"by the last axis", {4, 2, 5}, {5}, {0}},
      {"by a column", {4, 5}, {4, 1}, {0, 1}},
      {"of a row and a column", {1, 5}, {4, 1}, {1}},
      {"by a middle axis", {2, 3, 4}, {3, 1}, {0}},
  };
  std::vector<OpCase> cases;
  for (const auto& [op, build] : kSmooth) {
    for (const Way& way : ways) {
      OpCase op_case = Two(op, way.claim, build, Wave(way.x, 0.8F, 1.6F), Wave(way.y, 0.7F, 1.3F));
      op_case.batch = way.batch;
      cases.push_back(std::move(op_case));
    }
  }
  return cases;
}

std::vector<OpCase> ArithmeticCases() {
  return {
      {.op = "Add",
       .inputs = {Wave({2, 3}), Wave({3})},
       .build =
           [](Graph& graph, const std::vector<Value>& in) {
             return Built{{graph.Add("Add", {in[0], in[1]})}, {}};
           },
       .batch = {0}},
      Known("AddV2", "of integers", ops::AddV2, Ints({2}, {1, -5}), Ints({}, {7}),
            Ints({2}, {8, 2})),
      Known("RealDiv", "by 0 is infinite", ops::RealDiv, Floats({2}, {1, -1}), Floats({}, {0}),
            Floats({2}, {std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity()})),
      Known("DivNoNan", "by 0 is 0", ops::DivNoNan, Floats({3}, {1, 0, 4}), Floats({3}, {0, 0, 2}),
            Floats({3}, {0, 0, 2})),
      Known("Maximum", "of NaN is NaN", ops::Maximum, Floats({3}, {1, kNan, 3}),
            Floats({3}, {kNan, 2, 2}), Floats({3}, {kNan, kNan, 3})),
      Known("Pow", "known values", ops::Pow, Floats({4}, {2, 3, 0, 4}),
            Floats({4}, {3, -1, 0, 0.5F}), Floats({4}, {8, 1 / 3.0F, 1, 2})),
      Known("Pow", "of integers", ops::Pow, Ints({3}, {2, -3, 5}), Ints({3}, {10, 3, 0}),
            Ints({3}, {1024, -27, 1})),
      Known("FloorDiv", "of integers rounds down", ops::FloorDiv, Ints({4}, {7, -7, 7, -7}),
            Ints({4}, {3, 3, -3, -3}), Ints({4}, {2, -3, -3, 2})),
      Known("FloorDiv", "of floats rounds down", ops::FloorDiv,
            Floats({4}, {5.5F, -5.5F, 5.5F, -5.5F}), Floats({4}, {2, 2, -2, -2}),
            Floats({4}, {2, -3, -3, 2})),
      Known("FloorMod", "of integers has the divisor's sign", ops::FloorMod,
            Ints({4}, {7, -7, 7, -7}), Ints({4}, {3, 3, -3, -3}), Ints({4}, {1, 2, -2, -1})),
      Known("FloorMod", "of floats has the divisor's sign", ops::FloorMod,
            Floats({4}, {5.5F, -5.5F, 5.5F, -5.5F}), Floats({4}, {2, 2, -2, -2}),
            Floats({4}, {1.5F, 0.5F, -0.5F, -1.5F})),
      Known("BitwiseAnd", "of integers", ops::BitwiseAnd, Ints({3}, {6, -1, 5}),
            Ints({3}, {3, 9, 0}), Ints({3}, {2, 9, 0})),
      Known("BitwiseXor", "of integers", ops::BitwiseXor, Ints({3}, {6, -1, 5}),
            Ints({3}, {3, 9, 0}), Ints({3}, {5, -10, 5})),
      Known("RightShift", "moves the sign in", ops::RightShift, Ints({3}, {6, -8, 5}),
            Ints({3}, {1, 2, 0}), Ints({3}, {3, -2, 5})),
      Two("FloorDiv", "away from jumps", ops::FloorDiv, Floats({3}, {5.5F, -4.3F, 2.2F}),
          Floats({}, {2})),
      Two("FloorMod", "away from jumps", ops::FloorMod, Floats({3}, {5.5F, -4.3F, 2.2F}),
          Floats({3}, {2, 2, -1.5F})),
  };
}

// Compares four words with others; the first argument may be a single word.
OpCase Strings(std::string op, std::string claim, BinaryBuilder build, const Shape& shape,
               const std::vector<int>& z) {
  std::vector<std::string> others = {"", "b", "a", "日本"};
  others.resize(static_cast<size_t>(shape.elements()));
  OpCase op_case = Known(std::move(op), std::move(claim), build,
                         Tensor::Strings({2, 2}, {"", "a", std::string("a\0", 2), "日"}),
                         Tensor::Strings(shape, others), Bools({2, 2}, z));
  op_case.batch = shape.rank() == 0 ? std::vector<int>{0} : std::vector<int>{0, 1};
  return op_case;
}

std::vector<OpCase> CompareCases() {
  const Tensor x = Floats({2, 3}, {1, 2, 3, kNan, 5, -6});
  const Tensor y = Floats({3}, {1, 3, 2});
  const auto row = [&](std::string op, BinaryBuilder build, const std::vector<int>& z) {
    OpCase op_case = Known(std::move(op), "with NaN", build, x, y, Bools({2, 3}, z));
    op_case.batch = {0};
    return op_case;
  };
  return {
      row("Equal", ops::Equal, {1, 0, 0, 0, 0, 0}),
      row("NotEqual", ops::NotEqual, {0, 1, 1, 1, 1, 1}),
      row("Less", ops::Less, {0, 1, 0, 0, 0, 1}),
      row("LessEqual", ops::LessEqual, {1, 1, 0, 0, 0, 1}),
      row("Greater", ops::Greater, {0, 0, 1, 0, 1, 0}),
      row("GreaterEqual", ops::GreaterEqual, {1, 0, 1, 0, 1, 0}),
      Known("Equal", "of truth", ops::Equal, Bools({3}, {1, 0, 1}), Bools({}, {1}),
            Bools({3}, {1, 0, 1})),
      Strings("Equal", "of strings", ops::Equal, {2, 2}, {1, 0, 0, 0}),
      Strings("NotEqual", "of a string and strings", ops::NotEqual, {}, {0, 1, 1, 1}),
      Known("Less", "of integers", ops::Less, Longs({2}, {1, 5}), Longs({2}, {2, 5}),
            Bools({2}, {1, 0})),
      Known("LogicalAnd", "", ops::LogicalAnd, Bools({4}, {0, 0, 1, 1}), Bools({4}, {0, 1, 0, 1}),
            Bools({4}, {0, 0, 0, 1})),
      Known("LogicalOr", "", ops::LogicalOr, Bools({4}, {0, 0, 1, 1}), Bools({4}, {0, 1, 0, 1}),
            Bools({4}, {0, 1, 1, 1})),
  };
}

Built BuildSelectV2(Graph&, const std::vector<Value>& in) {
  return {{ops::SelectV2(in[0], in[1], in[2])}, {}};
}
Built BuildSelect(Graph& graph, const std::vector<Value>& in) {
  return {{graph.Add("Select", {in[0], in[1], in[2]})}, {}};
}
Built BuildAddN(Graph&, const std::vector<Value>& in) {
  return {{ops::AddN({in[0], in[1], in[0], in[2]})}, {}};
}

std::vector<OpCase> ChoiceCases() {
  return {
      {.op = "SelectV2",
       .inputs = {Bools({2, 1}, {1, 0}), Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Floats({}, {-1})},
       .build = BuildSelectV2,
       .expected = {Floats({2, 3}, {1, 2, 3, -1, -1, -1})},
       .batch = {0, 1}},
      {.op = "SelectV2",
       .claim = "of strings",
       .inputs = {Bools({3}, {1, 0, 1}), Tensor::Strings({3}, {"a", "b", ""}),
                  Tensor::Strings({}, {"none"})},
       .build = BuildSelectV2,
       .expected = {Tensor::Strings({3}, {"a", "none", ""})},
       .batch = {0, 1}},
      {.op = "SelectV2",
       .claim = "broadcasts all three",
       .inputs = {Bools({3}, {1, 0, 1}), Floats({2, 1}, {1, 2}), Floats({1, 3}, {7, 8, 9})},
       .build = BuildSelectV2,
       .expected = {Floats({2, 3}, {1, 8, 1, 2, 8, 2})},
       .batch = {1}},
      {.op = "Select",
       .claim = "a vector chooses rows",
       .inputs = {Bools({2}, {1, 0}), Floats({2, 2}, {1, 2, 3, 4}), Floats({2, 2}, {5, 6, 7, 8})},
       .build = BuildSelect,
       .expected = {Floats({2, 2}, {1, 2, 7, 8})},
       .batch = {0, 1, 2}},
      {.op = "Select",
       .claim = "element by element",
       .inputs = {Bools({2}, {1, 0}), Ints({2}, {1, 2}), Ints({2}, {5, 6})},
       .build = BuildSelect,
       .expected = {Ints({2}, {1, 6})}},
      {.op = "AddN",
       .inputs = {Floats({2, 2}, {1, 2, 3, 4}), Floats({2, 2}, {10, 20, 30, 40}),
                  Floats({2, 2}, {5, 5, 5, 5})},
       .build = BuildAddN,
       .expected = {Floats({2, 2}, {17, 29, 41, 53})},
       .batch = {0, 1, 2}},
  };
}

}  // namespace

std::vector<OpCase> BinaryCases() {
  std::vector<OpCase> all = BroadcastCases();
  for (const auto cases : {ArithmeticCases, CompareCases, ChoiceCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
