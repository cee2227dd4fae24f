// Crosses of batches whose size is known only at run time.

#include <doctest/doctest.h>

#include "core/backend/cpu/program.h"
#include "core/ops/strings.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

// Compiles for these inputs, from placeholders of unknown dimensions.
Tensor CrossOf(const Tensor& words, const Tensor& numbers) {
  Graph graph(TestRegistry());
  VariableStore variables;
  const Shape unknown = {kUnknownDim, kUnknownDim};
  const Value x = graph.Placeholder(DType::kString, unknown, "words");
  const Value y = graph.Placeholder(DType::kInt64, unknown, "numbers");
  const Value crosses = ops::SparseCrossHashed({x, y}, 1000);
  CHECK(crosses.shape().Text() == "[?,?]");
  const ProgramSpec spec{.graph = &graph,
                         .feeds = {{.placeholder = x, .shape = words.shape()},
                                   {.placeholder = y, .shape = numbers.shape()}},
                         .fetches = {crosses},
                         .targets = {},
                         .guard = {}};
  const StepFeeds feeds = {{words}, {numbers}};
  return MakeCpuBackend()->Compile(spec, {}, variables)->Run({&feeds, 1})[0].fetches[0][0];
}

TEST_CASE(
    "crosses of lists are reshaped before they leave the host, since they are not rows of the "
    "batch") {
  Graph graph(TestRegistry());
  const auto crosses = [&](int64_t width) {
    const Value x = graph.Placeholder(DType::kString, {kUnknownDim, width}, "x");
    const Value y = graph.Placeholder(DType::kInt64, {kUnknownDim, 1}, "y");
    return ops::SparseCrossHashed({x, y}, 10).node->input(0);
  };
  CHECK(crosses(1).shape().known_rank());
  CHECK_FALSE(crosses(kUnknownDim).shape().known_rank());
}

TEST_CASE("crosses take any number of rows and of values in a row") {
  const Tensor words = Tensor::Strings({2, 2}, {"", "a", "straße", "日本 🙂"});
  const Tensor numbers = Longs({2, 2}, {0, -5, int64_t{1} << 40, 7});
  CHECK(SameBits(CrossOf(words, numbers), Longs({2, 4}, {600, 885, 44, 385, 628, 146, 9, 871})));
  CHECK(
      SameBits(CrossOf(Tensor::Strings({1, 1}, {"a"}), Longs({1, 1}, {-5})), Longs({1, 1}, {385})));
  CHECK(CrossOf(words, Longs({2, 0}, {})).shape().Text() == "[2,0]");
}

TEST_CASE("more crosses than can be counted are refused") {
  const Tensor words(DType::kString, Shape({3, 100000}));
  const Tensor numbers(DType::kInt64, Shape({3, 10000}));
  CHECK_THROWS_WITH_AS(
      (void)CrossOf(words, numbers),
      doctest::Contains("a batch of 3 rows with lists of 100000 x 10000 values gives more "
                        "than 2147483647 crosses"),
      Error);
}

TEST_CASE("sparse inputs whose values are not known, and batches of other sizes, are refused") {
  Graph graph(TestRegistry());
  const Value x = graph.Placeholder(DType::kString, {2, 1}, "x");
  const Value y = graph.Placeholder(DType::kInt64, {3, 1}, "y");
  CHECK_THROWS_WITH_AS(
      ops::SparseCrossHashed({x, y}, 10),
      "SparseCross 'SparseCross/SparseCross': crosses inputs with the same number of rows, "
      "found 2 and 3",
      Error);
  const Value indices = graph.Placeholder(DType::kInt64, {2, 2}, "indices");
  const Value values = graph.Placeholder(DType::kString, {2}, "values");
  const Value shape = graph.Constant(Longs({2}, {2, 1}));
  Node* const sparse = graph.AddNode("SparseCross", {indices, values, shape, x},
                                     {{"N", int64_t{1}},
                                      {"sparse_types", std::vector<DType>{DType::kString}},
                                      {"dense_types", std::vector<DType>{DType::kString}},
                                      {"hashed_output", true},
                                      {"num_buckets", int64_t{10}},
                                      {"hash_key", int64_t{1}},
                                      {"out_type", DType::kInt64},
                                      {"internal_type", DType::kString}});
  CHECK(sparse->output_shape(1).Text() == "<unknown>");
  VariableStore variables;
  const ProgramSpec spec{.graph = &graph,
                         .feeds = {{.placeholder = indices, .shape = {2, 2}},
                                   {.placeholder = values, .shape = {2}},
                                   {.placeholder = x, .shape = {2, 1}}},
                         .fetches = {sparse->output(2)},
                         .targets = {},
                         .guard = {}};
  CHECK_THROWS_WITH_AS((void)MakeCpuBackend()->Compile(spec, {}, variables),
                       "SparseCross 'SparseCross_1': the sizes of its results depend on the "
                       "values of its inputs",
                       Error);
}

}  // namespace
}  // namespace tpuest
