// Bytes that a graph does not expect are refused in TensorFlow's words.

#include <doctest/doctest.h>

#include "core/backend/cpu/program.h"
#include "core/io/examples/example.h"
#include "core/ops/array.h"
#include "core/ops/decode_image.h"
#include "core/ops/elementwise.h"
#include "core/ops/parsing.h"
#include "tests/core/ops/op_checks.h"
#include "tests/core/ops/op_run.h"

namespace tpuest {
namespace {

// Builds on a string placeholder [?] and runs on `text`; returns the message of the Error, or "".
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

TEST_CASE("a program that parses lists is valid for the examples that it is compiled for") {
  const auto sparse = [](Value x) { return ops::ParseExample(x, {}, {{"ids", DType::kInt64}})[0]; };
  CHECK(Refusal({""}, Code::kUsage, sparse) ==
        "ParseExampleV2 'ParseExample/ParseExampleV2': the sizes of sparse features "
        "(VarLenFeature) depend on the examples");
}

TEST_CASE("positions that are out of range, repeated or out of order are refused") {
  const auto scatter = [](const std::vector<int64_t>& places) {
    return [places](Value x) {
      Graph& graph = x.graph();
      const auto n = static_cast<int64_t>(places.size());
      return ops::SparseToDense(graph.Constant(Longs({n}, places)), graph.Constant(Longs({1}, {3})),
                                x, graph.Constant(Tensor::Strings({}, {""})));
    };
  };
  CHECK(Refusal({"a", "b"}, Code::kData, scatter({0, 2})) == "");
  CHECK(Refusal({"a", "b"}, Code::kData, scatter({0, 3})) ==
        "SparseToDense 'SparseToDense': index 1 is out of range for [3]");
  CHECK(Refusal({"a", "b"}, Code::kData, scatter({2, 0})) ==
        "SparseToDense 'SparseToDense': index 1 is out of order");
  CHECK(Refusal({"a", "b"}, Code::kData, scatter({1, 1})) ==
        "SparseToDense 'SparseToDense': index 1 is repeated");
  CHECK(Refusal({"a", "b"}, Code::kUsage, scatter({0, 1, 2})) ==
        "SparseToDense 'SparseToDense': 2 values at 3 indices");
}

TEST_CASE("raw bytes fill the shape that follows, whatever the batch") {
  const auto pairs = [](Value x) {
    return ops::Reshape(ops::DecodeRaw(x, DType::kInt16), Shape({-1, 2}));
  };
  CHECK(Refusal({"abcd", "efgh", "ijkl"}, Code::kData, pairs) == "");
  CHECK(Refusal({"abcd", "abc"}, Code::kData, pairs) ==
        "DecodeRaw 'DecodeRaw': string 1 of the batch has 3 bytes, expected 4 (2 of 2 bytes)");
  CHECK(Refusal({"abcd"}, Code::kUsage, [](Value x) { return ops::DecodeRaw(x, DType::kUint8); }) ==
        "DecodeRaw 'DecodeRaw': the number of values in a string is known only when it is read");
}

TEST_CASE("files that are not images, or of another kind, are refused") {
  const auto run = [](const std::string& interpolation, int64_t channels) -> std::string {
    const OpCase op_case{
        .op = "MapDefun",
        .claim = "",
        .inputs = {Tensor::Strings({2}, {"GIF?", "no image"})},
        .build =
            [&](Graph&, const std::vector<Value>& in) {
              return Built{{ops::DecodeImages(in[0], {2, 2, channels, interpolation})}, {}};
            },
    };
    try {
      (void)RunCase(op_case, op_case.inputs);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  CHECK(run("bilinear", 3).starts_with("'MapDefun': file 0 of the batch: "));
  CHECK(run("mitchell", 3) ==
        "MapDefun 'MapDefun': resizes by 'mitchell', expected bilinear, nearest, bicubic or area");
  CHECK(run("area", 2) ==
        "MapDefun 'MapDefun': the images are [2,2,2], expected [height, width, 1 or 3]");
}

}  // namespace
}  // namespace tpuest
