// ReverseSequence, MatrixBandPart, Split and Einsum refuse impossible sizes and equations.

#include <doctest/doctest.h>

#include "core/backend/cpu/program.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

// The error of an op on constants, as it is built or run; "" where there is none.
std::string FaultOf(const std::string& op, const std::vector<Tensor>& inputs, Attrs attrs) {
  try {
    Graph graph(TestRegistry());
    VariableStore variables;
    std::vector<Value> values;
    for (const Tensor& input : inputs) values.push_back(graph.Constant(input));
    Node* const node = graph.AddNode(op, values, std::move(attrs), "x");
    const ProgramSpec spec{.graph = &graph, .feeds = {}, .fetches = {node->output(0)}};
    const StepFeeds none;
    (void)MakeCpuBackend()->Compile(spec, {}, variables)->Run({&none, 1});
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_CASE("a sequence's length is within its axis, and there is one for each row") {
  const auto reverse = [](const std::vector<int64_t>& lengths, int64_t sequence, int64_t batch) {
    return FaultOf("ReverseSequence",
                   {Wave({2, 3}), Longs({static_cast<int64_t>(lengths.size())}, lengths)},
                   {{"seq_dim", sequence}, {"batch_dim", batch}});
  };
  CHECK(reverse({0, 3}, 1, 0) == "");
  CHECK(reverse({0, 4}, 1, 0) == "ReverseSequence 'x': seq_lengths of row 1 is 4, expected 0 to 3");
  CHECK(reverse({-1, 3}, 1, 0) ==
        "ReverseSequence 'x': seq_lengths of row 0 is -1, expected 0 to 3");
  CHECK(reverse({1, 1, 1}, 1, 0) ==
        "ReverseSequence 'x': axis 0 of [2,3] has 2 rows, seq_lengths 3");
  CHECK(reverse({1, 1}, 0, 0) == "ReverseSequence 'x': batch_dim and seq_dim are both 0");
}

TEST_CASE("an axis is turned around once") {
  CHECK(FaultOf("ReverseV2", {Wave({2, 3}), Ints({2}, {1, -1})}, {}) ==
        "ReverseV2 'x': axis 1 is named twice");
}

TEST_CASE("a band has at most as many diagonals as the matrix") {
  const auto band = [](const Shape& shape, int64_t lower, int64_t upper) {
    return FaultOf("MatrixBandPart", {Wave(shape), Longs({}, {lower}), Longs({}, {upper})}, {});
  };
  CHECK(band({2, 3}, 2, 3) == "");
  CHECK(band({2, 3}, 3, 0) ==
        "MatrixBandPart 'x': num_lower is 3, expected at most 2, the size of the matrix");
  CHECK(band({2, 3}, 0, 4) ==
        "MatrixBandPart 'x': num_upper is 4, expected at most 3, the size of the matrix");
  CHECK(band({3}, 0, 0) == "MatrixBandPart 'x': [3] is no matrix: it needs at least two axes");
}

TEST_CASE("the parts of a split add up to the whole") {
  const auto split = [](const std::vector<int64_t>& sizes, int64_t parts) {
    return FaultOf(
        "SplitV", {Wave({2, 4}), Longs({static_cast<int64_t>(sizes.size())}, sizes), Ints({}, {1})},
        {{"num_split", parts}});
  };
  CHECK(split({1, -1}, 2) == "");
  CHECK(split({1, 2}, 2) == "SplitV 'x': the sizes [1,2] do not add up to 4");
  CHECK(split({5, -1}, 2) == "SplitV 'x': the sizes [5,-1] do not add up to 4");
  CHECK(split({-2, 6}, 2) == "SplitV 'x': size -2 of part 0 is negative");
  CHECK(split({-1, -1}, 2) == "SplitV 'x': size -1 of part 1 is negative");
  CHECK(split({4}, 2) == "SplitV 'x': size_splits has 1 sizes, expected num_split, 2");
  CHECK(FaultOf("Split", {Ints({}, {1}), Wave({2, 4})}, {{"num_split", int64_t{3}}}) ==
        "Split 'x': an axis of 4 cannot be split into 3 equal parts");
}

TEST_CASE("an equation names each axis of its inputs, and its output nothing else") {
  const auto einsum = [](const std::string& equation) {
    return FaultOf("Einsum", {Wave({2, 3}), Wave({3, 4})},
                   {{"equation", equation}, {"N", int64_t{2}}});
  };
  CHECK(einsum("ab,bc->ac") == "");
  CHECK(einsum("ab,bc") == "Einsum 'x': 'ab,bc' has no '->'");
  CHECK(einsum("ab->ab") == "Einsum 'x': 'ab->ab' does not have 2 inputs");
  CHECK(einsum("ab,b->a") == "Einsum 'x': 'b' does not name the 2 axes of its input");
  CHECK(einsum("ab...c,bc->ac") == "Einsum 'x': 'ab...c' does not name the 2 axes of its input");
  CHECK(einsum("ab,bc->ad") == "Einsum 'x': no input of 'ab,bc->ad' has label 'd'");
  CHECK(einsum("ab,bc->aca") == "Einsum 'x': the output of 'ab,bc->aca' names a label twice");
  CHECK(einsum("ab,ac->bc") == "Einsum 'x': label 'a' has sizes 2 and 3");
  CHECK(einsum("a b,bc->ac") ==
        "Einsum 'x': 'a b' is no term of labels: it takes letters and one '...'");
  CHECK(einsum("......,bc->bc") ==
        "Einsum 'x': '......' is no term of labels: it takes letters and one '...'");
}

}  // namespace
}  // namespace tpuest
