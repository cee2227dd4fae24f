// Invalid graphs and data are refused with a message.

#include <doctest/doctest.h>

#include <functional>

#include "core/backend/bind.h"
#include "core/backend/cpu/program.h"
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
        }) == "Reshape 'Reshape': [2,3] has 6 elements and cannot be reshaped to [4,?]");
  CHECK(Refusal([](Graph& g) {
          ops::ConcatV2({Input(g, {2, 3}), Input(g, {3, 3})}, 1);
        }) == "ConcatV2 'ConcatV2': values may differ only on axis 1, found [2,3] and [3,3]");
  CHECK(Refusal([](Graph& g) {
          ops::Sum(Input(g, {2, 3}), {2});
        }) == "Sum 'Sum': axis 2 is out of range for rank 2");
  CHECK(Refusal([](Graph& g) { ops::Slice(Input(g, {4}), {2}, {3}); }) ==
        "Slice 'Slice': begins at 2 and takes 3 on axis 0 of [4]");
  CHECK(Refusal([](Graph& g) {
          ops::StridedSlice(Input(g, {4}), {.begin = {4}, .end = {5}, .shrink_axis_mask = 1});
        }) == "StridedSlice 'StridedSlice': index 4 is out of range for axis 0 of [4]");
  CHECK(Refusal([](Graph& g) {
          ops::Transpose(Input(g, {2, 3}), {0, 0});
        }) == "Transpose 'Transpose': [0,0] is not a permutation of the axes of [2,3]");
  CHECK(Refusal([](Graph& g) {
          ops::TopKV2(Input(g, {2, 3}), 4);
        }) == "TopKV2 'TopKV2': the last axis of [2,3] has fewer than k = 4 elements");
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
        }) == "AssignVariableOp 'AssignVariableOp': 'table' is [3,2], but the value is [2,3]");
  CHECK(Refusal([&](Graph& g) {
          ops::ResourceApplyGradientDescent(table(g)->handle, g.Scalar(0.1F), Input(g, {3, 3}));
        }) ==
        "ResourceApplyGradientDescent 'ResourceApplyGradientDescent': "
        "the gradient of 'table' must be [3,2], found [3,3]");
}

TEST_CASE("PreventGradient stops gradients") {
  CHECK(Refusal([](Graph& g) {
          const Value x = Input(g, {2});
          const Value y = ops::PreventGradient(x, "labels are not learned");
          (void)Gradients(ops::Sum(y), std::vector<Value>{x});
        }) == "'PreventGradient' has no gradient: labels are not learned");
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

TEST_CASE("an index out of range is reported with node, index and rows") {
  const OpCase gather{.inputs = {Floats({2, 1}, {1, 2}), Ints({2}, {1, 2})},
                      .build = [](Graph&, const std::vector<Value>& in) {
                        return Built{{ops::GatherV2(in[0], in[1], 0, 0, "lookup")}, {}};
                      }};
  CHECK(Failure(gather) == "GatherV2 'lookup': index 2 is out of range for 2 rows");
  const OpCase segments{.inputs = {Floats({2}, {1, 2}), Ints({2}, {1, 3})},
                        .build = [](Graph&, const std::vector<Value>& in) {
                          return Built{{ops::UnsortedSegmentSum(in[0], in[1], 3, "sums")}, {}};
                        }};
  CHECK(Failure(segments) == "UnsortedSegmentSum 'sums': id 3 is out of range for 3 rows");
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

TEST_CASE("a string that is not a number is refused, as in TensorFlow") {
  const auto number = [](DType dtype) {
    return [dtype](Value x) { return ops::StringToNumber(x, dtype, "number"); };
  };
  for (const char* const text : {"", " ", "1,5", "1.5f", "- 5", "+-5", "--5", "1e", ".", "0x",
                                 "0x1p3", "infinity", "nan(1)", "1 2"}) {
    CAPTURE(text);
    CHECK(Failure(OfText(text, number(DType::kFloat))) ==
          fmt::format("StringToNumber 'number': '{}' is not a valid float32", text));
  }
  for (const char* const text : {"", "+7", "1.0", "0x1F", "2147483648", "-"}) {
    CAPTURE(text);
    CHECK(Failure(OfText(text, number(DType::kInt32))) ==
          fmt::format("StringToNumber 'number': '{}' is not a valid int32", text));
  }
}

TEST_CASE("a part out of range is reported with its string, as in TensorFlow") {
  const auto part = [](int position) {
    return [position](Value x) {
      const auto number = [&](int n) { return x.graph().Constant(Ints({}, {n})); };
      return ops::Substr(x, number(position), number(1), "BYTE", "part");
    };
  };
  CHECK(Failure(OfText("hello", part(-2))).empty());
  CHECK(Failure(OfText("a", part(2))) == "Substr 'part': position 2 is out of range for 'a'");
  CHECK(Failure(OfText("a", part(-2))) == "Substr 'part': position -2 is out of range for 'a'");
}

TEST_CASE("patterns, units and shapes of strings are checked when the graph is built") {
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
        }) == "StringJoin 'StringJoin': strings [2] and [3] do not broadcast");
  CHECK(refused([](Value x) {
          return x.graph().Add("StringLower", {x}, {{"encoding", std::string("UTF-8")}});
        }) == "StringLower 'StringLower': encoding is 'UTF-8', expected '' or utf-8");
  CHECK(refused([](Value x) {
          return x.graph().Add("StringToHashBucketStrong", {x},
                               {{"num_buckets", int64_t{5}}, {"key", std::vector<int64_t>{1}}});
        }) == "StringToHashBucketStrong 'StringToHashBucketStrong': key has 1 entries, expected 2");
}

TEST_CASE("an attribute outside its domain is refused with the legal values") {
  const auto text_of = [](const std::string& fill, int64_t width) {
    return Refusal([&](Graph& g) {
      g.Add("AsString", {Input(g, {2}, DType::kInt64)}, {{"fill", fill}, {"width", width}});
    });
  };
  CHECK(text_of("0", 8).empty());
  for (const char* const fill : {"s", "n", "x", "p", "*", "00"}) {
    CHECK(text_of(fill, -1) ==
          fmt::format("AsString 'AsString': fill is '{}', expected '', ' ', +, -, 0 or #", fill));
  }
  CHECK(text_of("", 2000000000) ==
        "AsString 'AsString': width is 2000000000, expected at most 4096");
  CHECK(Refusal([](Graph& g) {
          g.Add("Pack", {}, {{"N", int64_t{0}}, {"T", DType::kFloat}});
        }) == "Pack 'Pack': N is 0, expected at least 1");
  CHECK(Refusal([](Graph& g) {
          g.Add("Cast", {Input(g, {2})}, {{"DstT", DType::kString}});
        }).starts_with("Cast 'Cast': string is not a type for DstT; it takes "));
}

TEST_CASE("a handle, and a node without outputs, cannot be fetched") {
  const auto fetched = [](const std::function<Value(Graph&)>& build) {
    return Refusal([&](Graph& g) {
      const Value y = build(g);
      VariableStore variables;
      (void)MakeCpuBackend()->Compile({.graph = &g, .fetches = {y}}, {}, variables);
    });
  };
  CHECK(fetched([](Graph& g) {
          return g.Add("HashTableV2", {},
                       {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kInt64}});
        }) == "HashTableV2 'HashTableV2' gives a handle; only tensors can be fetched");
  CHECK(fetched([](Graph& g) {
          Node* const none = g.AddNode("Unpack", {g.Constant(Tensor(DType::kFloat, {2, 0}))},
                                       {{"num", int64_t{0}}, {"axis", int64_t{1}}});
          return Value{none, 0};
        }) == "Unpack 'Unpack' gives no tensor; only tensors can be fetched");
}

TEST_CASE("a size that does not fit into memory is refused at its node before allocation") {
  const auto refused = [](const std::function<Value(Graph&)>& build) {
    return Refusal([&](Graph& g) {
      const Value y = build(g);
      VariableStore variables;
      (void)MakeCpuBackend()->Compile({.graph = &g, .fetches = {y}}, {}, variables);
    });
  };
  const auto sizes = [](Graph& g, const std::vector<int64_t>& values) {
    return g.Constant(Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, values));
  };
  const Attrs of_int64 = {{"index_type", DType::kInt64}};
  CHECK(refused([&](Graph& g) {
          return g.Add("Fill", {sizes(g, {1 << 20, 1 << 20}), g.Scalar(1.0F)}, of_int64);
        }) ==
        "Fill 'Fill': its result would be float32 [1048576,1048576], larger than its inputs and "
        "than 4294967296 elements");
  const std::string larger = "larger than its inputs";
  const auto one = [](Graph& g) { return g.Constant(Tensor::Of<float>({1, 1}, {1})); };
  const int64_t many = int64_t{1} << 33;
  CHECK(refused([&](Graph& g) {
          return g.Add("Tile", {one(g), sizes(g, {many, 1})});
        }).find(larger) != std::string::npos);
  CHECK(refused([&](Graph& g) {
          return g.Add("BroadcastTo", {one(g), sizes(g, {2, many})});
        }).find(larger) != std::string::npos);
  CHECK(refused([&](Graph& g) {
          const Value paddings = g.Constant(Tensor::Of<int64_t>({2, 2}, {many, 0, 0, 1}));
          return g.Add("Pad", {one(g), paddings});
        }).find(larger) != std::string::npos);
  CHECK(refused([&](Graph& g) {
          const auto number = [&](int64_t value) { return g.Constant(Tensor::Scalar(value)); };
          return g.Add("Range", {number(0), number(many), number(1)});
        }).find(larger) != std::string::npos);
  CHECK(refused([&](Graph& g) {
          return g.Add("RandomUniform", {sizes(g, {many})}, {{"dtype", DType::kFloat}});
        }).find(larger) != std::string::npos);
  // The initial value of a variable may be as large as the variable.
  Graph graph(TestRegistry());
  const Value drawn =
      graph.Add("RandomUniform", {sizes(graph, {many})}, {{"dtype", DType::kFloat}});
  graph.AddVariable("table", DType::kFloat, {many}, drawn);
  CHECK_NOTHROW(static_cast<void>(BindGraph({.graph = &graph, .fetches = {drawn}})));
}

TEST_CASE("a list of inputs has the types that its attribute lists") {
  CHECK(Refusal([](Graph& g) {
          g.Add("SparseCross", {Input(g, {2, 1})},
                {{"N", int64_t{0}},
                 {"hashed_output", true},
                 {"num_buckets", int64_t{5}},
                 {"hash_key", int64_t{1}},
                 {"sparse_types", std::vector<DType>()},
                 {"dense_types", std::vector<DType>{DType::kString}},
                 {"out_type", DType::kInt64},
                 {"internal_type", DType::kString}});
        }) ==
        "SparseCross 'SparseCross': input 0 'dense_inputs' is float32 ('x'), expected string");
}

TEST_CASE("the gradient of a slice fits the slice") {
  const auto slice_grad = [](int64_t size, const std::vector<int32_t>& strides) {
    return Refusal([&](Graph& g) {
      const auto ints = [&](const std::vector<int32_t>& v) {
        return g.Constant(Ints({static_cast<int64_t>(v.size())}, v));
      };
      g.Add("StridedSliceGrad", {ints({4}), ints({0}), ints({2}), ints(strides), Input(g, {size})});
    });
  };
  CHECK(slice_grad(2, {1}).empty());
  CHECK(slice_grad(3, {1}) ==
        "StridedSliceGrad 'StridedSliceGrad': the slice of [4] is [2], but its gradient is [3]");
  CHECK(slice_grad(2, {1, 1}) ==
        "StridedSliceGrad 'StridedSliceGrad': begin, end and strides have different lengths");
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

TEST_CASE("axes are permuted by a permutation, also where the rank is unknown") {
  const auto transpose = [](const Shape& shape) {
    return Refusal([&](Graph& graph) { (void)ops::Transpose(Input(graph, shape), {-1, 0}, "t"); });
  };
  CHECK(transpose({2, 3}).find("[-1,0] is not a permutation of the axes of [2,3]") !=
        std::string::npos);
  CHECK(transpose(Shape::UnknownRank()).find("[-1,0] is not a permutation") != std::string::npos);
}

TEST_CASE("an example has one name or none") {
  const std::string refusal = Refusal([](Graph& graph) {
    const auto words = [&](const Shape& shape) { return Input(graph, shape, DType::kString); };
    graph.AddNode("ParseExampleV2", {words({2}), words({}), words({0}), words({0}), words({0})},
                  {{"Tdense", std::vector<DType>{}},
                   {"dense_shapes", std::vector<Shape>{}},
                   {"num_sparse", int64_t{0}},
                   {"sparse_types", std::vector<DType>{}},
                   {"ragged_value_types", std::vector<DType>{}},
                   {"ragged_split_types", std::vector<DType>{}}},
                  "p");
  });
  CHECK(refusal ==
        "ParseExampleV2 'p': names is [], expected none or one for each of serialized, [2]");
}

TEST_CASE("hashed crosses are int64") {
  const std::string refusal = Refusal([](Graph& graph) {
    Node* const node =
        graph.AddNode("SparseCross",
                      {graph.Constant(Longs({1, 2}, {0, 0})), graph.Constant(Longs({1}, {7})),
                       graph.Constant(Longs({2}, {1, 1}))},
                      {{"N", int64_t{1}},
                       {"hashed_output", true},
                       {"num_buckets", int64_t{10}},
                       {"hash_key", int64_t{1}},
                       {"sparse_types", std::vector<DType>{DType::kInt64}},
                       {"dense_types", std::vector<DType>{}},
                       {"out_type", DType::kString},
                       {"internal_type", DType::kInt64}},
                      "c");
    VariableStore variables;
    const ProgramSpec spec{.graph = &graph, .feeds = {}, .fetches = {node->output(1)}};
    (void)MakeCpuBackend()->Compile(spec, {}, variables);
  });
  CHECK(refusal == "SparseCross 'c': gives hashes as int64, so out_type cannot be another type");
}

}  // namespace
}  // namespace tpuest
