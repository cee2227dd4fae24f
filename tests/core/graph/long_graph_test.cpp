// Graphs with very many nodes, as a file may have: the time per node is the same as in a short
// graph. At these sizes a quadratic algorithm takes seconds.

#include <doctest/doctest.h>

#include "core/backend/cpu/program.h"
#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/graph/write/graphdef.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/ops/all_ops.h"

namespace tpuest {
namespace {

constexpr int kMany = 100000;

const OpRegistry& OpsOfFiles() {
  static const OpRegistry registry(ops::AllOps());
  return registry;
}

Value Ints(Graph& graph, const std::vector<int32_t>& values) {
  return graph.Constant(Tensor::Of<int32_t>({static_cast<int64_t>(values.size())}, values));
}

// A GraphDef that is written node by node.
class GraphDefText {
 public:
  pb::NodeDef& Node(const std::string& name, const std::string& op,
                    const std::vector<std::string>& inputs) {
    pb::NodeDef& node = *graph_.add_node();
    node.set_name(name);
    node.set_op(op);
    for (const std::string& input : inputs) node.add_input(input);
    return node;
  }
  void Floats(const std::string& name) {
    pb::NodeDef& node = Node(name, "Const", {});
    (*node.mutable_attr())["dtype"].set_type(pb::DT_FLOAT);
    ToProto(Tensor::Of<float>({2}, {1, 2}), *(*node.mutable_attr())["value"].mutable_tensor());
  }
  [[nodiscard]] std::string bytes() const { return graph_.SerializeAsString(); }

 private:
  pb::GraphDef graph_;
};

TEST_CASE("a chain of 100,000 Identities is looked through at once, by as many nodes") {
  Graph graph(OpsOfFiles());
  Value shape = Ints(graph, {-1, 2});
  for (int i = 0; i < kMany; ++i) shape = graph.Add("Identity", {shape});
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim}, "x");
  Value y = x;
  for (int i = 0; i < kMany; ++i) y = graph.Add("Reshape", {x, shape});
  CHECK(y.shape() == Shape({kUnknownDim, 2}));
}

TEST_CASE("as many variables are found by their names and by what reads them") {
  Graph graph(OpsOfFiles());
  const Value initial = graph.Scalar<float>(1);
  for (int i = 0; i < kMany / 5; ++i) {
    graph.AddVariable(fmt::format("v{}", i), DType::kFloat, {}, initial);
  }
  const Variable* const last = graph.FindVariable(fmt::format("v{}", kMany / 5 - 1));
  REQUIRE(last != nullptr);
  for (int i = 0; i < kMany; ++i) CHECK_EQ(graph.VariableOf(last->value), last);
}

TEST_CASE(
    "a shape that is packed of parts of one that is packed, and so on, is one at some depth") {
  Graph graph(OpsOfFiles());
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 4}, "x");
  const auto part = [&](Value shape, int i) {
    return graph.Add("StridedSlice",
                     {shape, Ints(graph, {i}), Ints(graph, {i + 1}), Ints(graph, {1})},
                     {{"shrink_axis_mask", int64_t{1}}});
  };
  Value shape = graph.Add("Shape", {x});
  for (int i = 0; i < 3; ++i) shape = graph.Add("Pack", {part(shape, 0), part(shape, 1)});
  CHECK(graph.Add("Reshape", {x, shape}).shape() == Shape({kUnknownDim, 4}));
  // Each further node doubles the nodes to visit; 60 of them would take for ever.
  for (int i = 0; i < 60; ++i) shape = graph.Add("Pack", {part(shape, 0), part(shape, 1)});
  CHECK(graph.Add("Reshape", {x, shape}).shape().rank() <= 2);
  Value joined = graph.Add("Shape", {x});
  for (int i = 0; i < 40; ++i) joined = graph.Add("ConcatV2", {joined, joined, graph.Scalar(0)});
  CHECK_NOTHROW(graph.Add("Fill", {joined, graph.Scalar<float>(0)}));
}

TEST_CASE("a tensor with too many elements to count is refused where it is made") {
  Graph graph(OpsOfFiles());
  const Value one = graph.Scalar<float>(1);
  const auto filled = [&](const std::vector<int64_t>& dims) {
    const Tensor shape = Tensor::Of<int64_t>({static_cast<int64_t>(dims.size())}, dims);
    return graph.Add("Fill", {graph.Constant(shape), one}).shape();
  };
  const int64_t big = int64_t{1} << 24;
  CHECK(filled({big, big}) == Shape({big, big}));
  CHECK(filled({big, 0, 7}) == Shape({big, 0, 7}));
  CHECK_THROWS_WITH_AS(filled({big, big, 2}),
                       "Fill 'Fill_2': no tensor can have the shape "
                       "[16777216,16777216,2]",
                       Error);
  CHECK_THROWS_AS(filled({int64_t{1} << 32, int64_t{1} << 32}), Error);
  CHECK_THROWS_AS(filled({int64_t{1} << 62, 4, 0}), Error);
}

TEST_CASE("sizes that are joined with themselves, and those again, are folded once each") {
  Graph graph(OpsOfFiles());
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 2}, "x");
  Value sizes = graph.Add("Shape", {x});
  for (int i = 0; i < 60; ++i) sizes = graph.Add("Maximum", {sizes, sizes});
  VariableStore variables;
  const auto program = MakeCpuBackend()->Compile(
      {.graph = &graph, .feeds = {{x, Shape({3, 2})}}, .fetches = {sizes}}, {}, variables);
  const StepFeeds feeds = {{Tensor(DType::kFloat, Shape({3, 2}))}};
  const Tensor result = program->Run({&feeds, 1}).at(0).fetches.at(0).at(0);
  CHECK(SameBits(result, Tensor::Of<int32_t>({2}, {3, 2})));
}

TEST_CASE("a GraphDef of 100,000 Identities, and of as many ops that pass on, is read") {
  for (const std::string op : {"Identity", "IdentityN"}) {
    GraphDefText def;
    def.Floats("n0");
    for (int i = 1; i <= kMany; ++i) {
      pb::NodeDef& node = def.Node(fmt::format("n{}", i), op, {fmt::format("n{}", i - 1)});
      pb::AttrValue& type = (*node.mutable_attr())["T"];
      if (op == "Identity") {
        type.set_type(pb::DT_FLOAT);
      } else {
        type.mutable_list()->add_type(pb::DT_FLOAT);
      }
    }
    for (int i = 1; i <= kMany; ++i) {
      (*def.Node(fmt::format("m{}", i), "Neg", {fmt::format("n{}", i)}).mutable_attr())["T"]
          .set_type(pb::DT_FLOAT);
    }
    Graph graph(OpsOfFiles());
    FromGraphDef(def.bytes(), graph);
    CHECK(graph.nodes().size() == (op == "Identity" ? 2 * kMany + 1 : kMany + 1));
  }
}

TEST_CASE("a write by rows to a variable of TensorFlow 1 needs no word on its rows' type") {
  GraphDefText def;
  pb::NodeDef& variable = def.Node("v", "VariableV2", {});
  (*variable.mutable_attr())["dtype"].set_type(pb::DT_FLOAT);
  ToProto(Shape({2}), *(*variable.mutable_attr())["shape"].mutable_shape());
  def.Floats("rows");
  def.Floats("values");
  def.Node("add", "ScatterAdd", {"v", "rows", "values"});
  Graph graph(OpsOfFiles());
  try {
    FromGraphDef(def.bytes(), graph);
    FAIL("rows are no floats");
  } catch (const Error& error) {
    CHECK(error.code() == Code::kData);
    CHECK(error.message().find("node 'add'") != std::string::npos);
  }
}

}  // namespace
}  // namespace tpuest
