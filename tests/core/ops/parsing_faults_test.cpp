// Bytes that are not what a graph expects are refused in TensorFlow's words.

#include <doctest/doctest.h>

#include "core/backend/backend.h"
#include "core/io/example.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/parsing.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

// Builds on a string placeholder [?] and runs on `text`; the message of the Error, or "".
template <class Build>
std::string Refusal(const std::vector<std::string>& text, Code code, Build build) {
  Graph graph(TestRegistry());
  VariableStore variables;
  const auto rows = static_cast<int64_t>(text.size());
  try {
    const Value x = graph.Placeholder(DType::kString, {kUnknownDim}, "x");
    const ProgramSpec spec{.graph = &graph,
                           .feeds = {{.placeholder = x, .shape = {rows}}},
                           .fetches = {build(x)},
                           .targets = {},
                           .guard = {}};
    const auto program = MakeCpuBackend()->Compile(spec, {}, variables);
    const StepFeeds feeds = {{Tensor::Strings({rows}, text)}};
    (void)program->Run({&feeds, 1});
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.message();
  }
  return "";
}

Value Label(Value serialized) {
  return ops::ParseExample(serialized, {{"label", DType::kInt64, {}, {}}})[0];
}

std::string Floats(const std::string& key, const std::vector<float>& values) {
  ExampleWriter writer;
  writer.Floats(key, values);
  return writer.Finish();
}

std::string Ints(const std::string& key, const std::vector<int64_t>& values) {
  ExampleWriter writer;
  writer.Ints(key, values);
  return writer.Finish();
}

TEST_CASE("an example that lacks a feature, or has another kind or number of values, is refused") {
  CHECK(Refusal({Ints("label", {1}), Ints("lable", {1})}, Code::kData, Label) ==
        "Name: <unknown>, Feature: label (data type: int64) is required but could not be found.");
  CHECK(Refusal({Floats("label", {1})}, Code::kData, Label) ==
        "Name: <unknown>, Key: label, Index: 0.  Data types don't match. Data type: float but "
        "expected type: int64");
  CHECK(Refusal({Ints("label", {1}), Ints("label", {1, 2})}, Code::kData, Label) ==
        "Name: <unknown>, Key: label, Index: 1.  Number of int64 values != expected.  Values "
        "size: 2 but output shape: []");
  CHECK(Refusal({"\x0a\x7fjunk"}, Code::kData, Label) != "");
  CHECK(Refusal({Ints("label", {1})}, Code::kData, Label) == "");
}

TEST_CASE("features of no fixed size parse in TensorFlow, not here") {
  const auto sparse = [](Value x) {
    Graph& graph = x.graph();
    const Value none = graph.Constant(Tensor(DType::kString, {0}));
    const Value key = graph.Constant(Tensor::Strings({1}, {"ids"}));
    Node* const node = graph.AddNode("ParseExampleV2", {x, none, key, none, none},
                                     {{"num_sparse", int64_t{1}},
                                      {"sparse_types", std::vector<DType>{DType::kInt64}},
                                      {"ragged_value_types", std::vector<DType>()},
                                      {"ragged_split_types", std::vector<DType>()},
                                      {"dense_shapes", std::vector<Shape>()}});
    CHECK(node->output_shape(0).Text() == "[?,2]");
    CHECK(node->output_dtype(1) == DType::kInt64);
    CHECK(node->output_shape(2).Text() == "[2]");
    return node->output(1);
  };
  CHECK(Refusal({""}, Code::kUsage, sparse) ==
        "ParseExampleV2 'ParseExampleV2': sparse features (VarLenFeature) are of no fixed size");
}

TEST_CASE("raw bytes fill the shape that follows, whatever the batch") {
  const auto pairs = [](Value x) {
    return ops::Reshape(ops::DecodeRaw(x, DType::kInt16), Shape({-1, 2}));
  };
  CHECK(Refusal({"abcd", "efgh", "ijkl"}, Code::kData, pairs) == "");
  CHECK(Refusal({"abcd", "abc"}, Code::kData, pairs) ==
        "DecodeRaw 'DecodeRaw': string 1 of the batch has 3 bytes, expected 4 (2 of 2 bytes)");
  CHECK(Refusal({"abcd"}, Code::kUsage, [](Value x) { return ops::DecodeRaw(x, DType::kUint8); }) ==
        "DecodeRaw 'DecodeRaw': how many numbers a string holds is known only when it is read");
}

}  // namespace
}  // namespace tpuest
