// Wrong graphs and wrong data are refused in words.

#include <doctest/doctest.h>

#include <functional>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"
#include "core/ops/strings.h"
#include "core/ops/texts.h"
#include "core/ops/training.h"
#include "tests/core/ops/op_checks.h"
#include "tests/core/ops/op_run.h"

namespace tpuest {
namespace {

// The message of the Error that building throws, or "" if there is none.
std::string Refusal(const std::function<void(Graph&)>& build) {
  Graph graph(TestRegistry());
  try {
    build(graph);
  } catch (const Error& error) {
    CHECK(error.code() == Code::kUsage);
    return error.message();
  }
  return "";
}

Value Input(Graph& graph, const Shape& shape, DType dtype = DType::kFloat) {
  return graph.Placeholder(dtype, shape, "x");
}

TEST_CASE("shapes that do not fit name both") {
  CHECK(Refusal([](Graph& g) {
          ops::Mul(Input(g, {2, 3}), Input(g, {4}));
        }) == "Mul 'Mul': [2,3] and [4] do not broadcast to one shape");
  CHECK(Refusal([](Graph& g) {
          ops::Reshape(Input(g, {2, 3}), Shape({4, -1}));
        }) == "Reshape 'Reshape': [2,3] has 6 elements and does not reshape to [4,?]");
  CHECK(Refusal([](Graph& g) {
          ops::ConcatV2({Input(g, {2, 3}), Input(g, {3, 3})}, 1);
        }) == "ConcatV2 'ConcatV2': values differ beside axis 1: [2,3] and [3,3]");
  CHECK(Refusal([](Graph& g) {
          ops::Sum(Input(g, {2, 3}), {2});
        }) == "Sum 'Sum': axis 2 is outside of rank 2");
  CHECK(Refusal([](Graph& g) { ops::Slice(Input(g, {4}), {2}, {3}); }) ==
        "Slice 'Slice': begins at 2 and takes 3 on axis 0 of [4]");
  CHECK(Refusal([](Graph& g) {
          ops::StridedSlice(Input(g, {4}), {.begin = {4}, .end = {5}, .shrink_axis_mask = 1});
        }) == "StridedSlice 'StridedSlice': index 4 is outside of axis 0 of [4]");
  CHECK(Refusal([](Graph& g) {
          ops::Transpose(Input(g, {2, 3}), {0, 0});
        }) == "Transpose 'Transpose': [0,0] does not permute the axes of [2,3]");
  CHECK(Refusal([](Graph& g) {
          ops::TopKV2(Input(g, {2, 3}), 4);
        }) == "TopKV2 'TopKV2': the last axis of [2,3] has fewer than k = 4");
  CHECK(Refusal([](Graph& g) {
          ops::BroadcastTo(Input(g, {2, 3}), Shape({2}));
        }) == "BroadcastTo 'BroadcastTo': [2,3] does not broadcast to [2]");
}

TEST_CASE("two unknown dimensions fit, and so do an unknown and a known one") {
  Graph graph(TestRegistry());
  const Value x = Input(graph, {kUnknownDim, 3});
  CHECK(ops::AddV2(x, Input(graph, {kUnknownDim, 3})).shape() == Shape({kUnknownDim, 3}));
  CHECK(ops::AddV2(x, Input(graph, {5, 1})).shape() == Shape({5, 3}));
  CHECK(ops::AddV2(x, Input(graph, {1, 3})).shape() == Shape({kUnknownDim, 3}));
}

TEST_CASE("dtypes that do not fit are named") {
  CHECK(Refusal([](Graph& g) {
          ops::AddV2(Input(g, {2}), g.Placeholder(DType::kInt32, {2}, "y"));
        }) == "AddV2 'AddV2': input 1 'y' is int32 ('y'), expected float32");
  CHECK(Refusal([](Graph& g) { ops::Exp(Input(g, {2}, DType::kInt32)); }) ==
        "Exp 'Exp': int32 is not a type for T; it takes bfloat16, float32, float64");
}

TEST_CASE("a variable takes only values and slots of its shape") {
  const auto table = [](Graph& g) {
    return g.AddVariable("table", DType::kFloat, {3, 2}, ops::Zeros(g, DType::kFloat, {3, 2}));
  };
  CHECK(Refusal([&](Graph& g) {
          ops::AssignVariableOp(table(g)->handle, Input(g, {2, 3}));
        }) == "AssignVariableOp 'AssignVariableOp': 'table' is [3,2], the value [2,3]");
  CHECK(Refusal([&](Graph& g) {
          ops::ResourceApplyGradientDescent(table(g)->handle, g.Scalar(0.1F), Input(g, {3, 3}));
        }) ==
        "ResourceApplyGradientDescent 'ResourceApplyGradientDescent': "
        "the gradient of 'table' is [3,2], found [3,3]");
}

TEST_CASE("no gradient goes through PreventGradient") {
  CHECK(Refusal([](Graph& g) {
          const Value x = Input(g, {2});
          const Value y = ops::PreventGradient(x, "labels are not learned");
          (void)Gradients(ops::Sum(y), std::vector<Value>{x});
        }) == "no gradient goes through 'PreventGradient': labels are not learned");
}

// The message of the Error kData that running a row throws.
std::string Failure(const OpCase& op_case) {
  try {
    (void)RunCase(op_case, op_case.inputs);
  } catch (const Error& error) {
    CHECK(error.code() == Code::kData);
    return error.message();
  }
  return "";
}

TEST_CASE("an index outside names node, index and rows") {
  const OpCase gather{.inputs = {Floats({2, 1}, {1, 2}), Ints({2}, {1, 2})},
                      .build = [](Graph&, const std::vector<Value>& in) {
                        return Built{{ops::GatherV2(in[0], in[1], 0, 0, "lookup")}, {}};
                      }};
  CHECK(Failure(gather) == "GatherV2 'lookup': index 2 is outside of 2 rows");
  const OpCase segments{.inputs = {Floats({2}, {1, 2}), Ints({2}, {1, 3})},
                        .build = [](Graph&, const std::vector<Value>& in) {
                          return Built{{ops::UnsortedSegmentSum(in[0], in[1], 3, "sums")}, {}};
                        }};
  CHECK(Failure(segments) == "UnsortedSegmentSum 'sums': id 3 is outside of 3 rows");
}

TEST_CASE("integers are not divided by zero") {
  const OpCase division{.inputs = {Ints({2}, {1, 2}), Ints({2}, {1, 0})},
                        .build = [](Graph&, const std::vector<Value>& in) {
                          return Built{{ops::FloorDiv(in[0], in[1])}, {}};
                        }};
  CHECK(Failure(division) == "an integer is divided by zero");
}

OpCase OfText(const std::string& text, const std::function<Value(Value)>& build) {
  return {.inputs = {Tensor::Strings({2}, {"12", text})},
          .build = [build](Graph&, const std::vector<Value>& in) {
            return Built{{build(in[0])}, {}};
          }};
}

TEST_CASE("a text that is no number is refused, as TensorFlow refuses it") {
  const auto number = [](DType dtype) {
    return [dtype](Value x) { return ops::StringToNumber(x, dtype, "number"); };
  };
  for (const char* const text : {"", " ", "1,5", "1.5f", "- 5", "+-5", "--5", "1e", ".", "0x",
                                 "0x1p3", "infinity", "nan(1)", "1 2"}) {
    CAPTURE(text);
    CHECK(Failure(OfText(text, number(DType::kFloat))) ==
          fmt::format("StringToNumber 'number': '{}' is no float32", text));
  }
  for (const char* const text : {"", "+7", "1.0", "0x1F", "2147483648", "-"}) {
    CAPTURE(text);
    CHECK(Failure(OfText(text, number(DType::kInt32))) ==
          fmt::format("StringToNumber 'number': '{}' is no int32", text));
  }
}

TEST_CASE("a part outside of a text names both, as TensorFlow does") {
  const auto part = [](int position) {
    return [position](Value x) {
      const auto number = [&](int n) { return x.graph().Constant(Ints({}, {n})); };
      return ops::Substr(x, number(position), number(1), "BYTE", "part");
    };
  };
  CHECK(Failure(OfText("hello", part(-2))).empty());
  CHECK(Failure(OfText("a", part(2))) == "Substr 'part': position 2 is outside of 'a'");
  CHECK(Failure(OfText("a", part(-2))) == "Substr 'part': position -2 is outside of 'a'");
}

TEST_CASE("patterns, units and shapes of texts are checked when the graph is built") {
  const auto refused = [](const std::function<Value(Value)>& build) {
    return Refusal([&](Graph& g) { build(Input(g, {2}, DType::kString)); });
  };
  CHECK(refused([](Value x) { return ops::RegexFullMatch(x, "(a"); }) ==
        "'(a' is not a regular expression: missing ): (a");
  CHECK(refused([](Value x) { return ops::RegexReplace(x, "(?=a)b", ""); }) ==
        "'(?=a)b' is not a regular expression: invalid perl operator: (?=");
  CHECK(refused([](Value x) {
          return ops::RegexReplace(x, "a", "\\1");
        }).starts_with("'\\1' rewrites no match: "));
  CHECK(refused([](Value x) { return ops::StringLength(x, "BYTES"); }) ==
        "StringLength 'StringLength': unit is 'BYTES', expected BYTE or UTF8_CHAR");
  CHECK(refused([](Value x) {
          return ops::StringJoin({x, Input(x.graph(), {3}, DType::kString)});
        }) == "StringJoin 'StringJoin': texts of [2] and of [3] do not stand beside each other");
  CHECK(refused([](Value x) {
          return x.graph().Add("StringLower", {x}, {{"encoding", std::string("UTF-8")}});
        }) ==
        "StringLower 'StringLower': encoding is 'UTF-8', expected utf-8, or '' for ASCII alone");
  CHECK(refused([](Value x) {
          return x.graph().Add("StringToHashBucketStrong", {x},
                               {{"num_buckets", int64_t{5}}, {"key", std::vector<int64_t>{1}}});
        }) ==
        "StringToHashBucketStrong 'StringToHashBucketStrong': key is of two integers, found 1");
}

TEST_CASE("the gradient of looked-up rows is of those rows") {
  Graph graph(TestRegistry());
  const Value table = Input(graph, {5, 2});
  const Value rows = ops::GatherV2(table, ops::Int32s(graph, {1, 3, 1}));
  const std::vector<Gradient> gradients = Gradients(ops::Sum(rows), std::vector<Value>{table});
  const auto* const slices = std::get_if<IndexedSlices>(&gradients[0]);
  REQUIRE(slices != nullptr);
  CHECK(slices->rows == 5);
  CHECK(slices->values.shape() == Shape({3, 2}));
}

}  // namespace
}  // namespace tpuest
