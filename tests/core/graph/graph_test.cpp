// Names, shapes, faults, gradients, cuts and GraphDefs of small graphs.

#include "core/graph/graph.h"

#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/graph/cut.h"
#include "core/graph/gradient.h"
#include "core/graph/signature.h"
#include "core/graph/write/graphdef.h"
#include "core/ops/all_ops.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/parsing.h"
#include "core/ops/reduction.h"
#include "core/ops/strings.h"

namespace tpuest {
namespace {

const OpRegistry& Registry() {
  static const OpRegistry registry(ops::AllOps());
  return registry;
}

std::string Names(const Graph& graph) {
  std::string names;
  for (const auto& node : graph.nodes()) names += node->name() + " ";
  return names;
}

template <class F>
Error RefusalOf(F&& run) {
  try {
    run();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return Error(Code::kInternal, "");
}

}  // namespace

TEST_CASE("nodes are named as TensorFlow names them") {
  Graph graph(Registry());
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 2}, "x");
  (void)graph.Add("Neg", {x});
  (void)graph.Add("Neg", {x});
  {
    const NameScope scope(graph, "a");
    (void)graph.Add("Neg", {x});
    const NameScope inner(graph, "b");
    (void)graph.Add("Neg", {x}, {}, "last");
  }
  const NameScope again(graph, "a");
  (void)graph.Add("Neg", {x});
  CHECK(Names(graph) == "x Neg Neg_1 a/Neg a/b/last a_1/Neg ");
  CHECK(graph.UniqueLayerName("dense") == "dense");
  CHECK(graph.UniqueLayerName("dense") == "dense_1");
}

TEST_CASE("a node has its op's dtypes, defaults and shapes") {
  Graph graph(Registry());
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 3}, "x");
  const Value w = graph.Constant(Tensor(DType::kFloat, {3, 4}));
  const Value y = graph.Add("MatMul", {x, w});
  CHECK(y.dtype() == DType::kFloat);
  CHECK(y.shape() == Shape{kUnknownDim, 4});
  CHECK(y.node->Attr<DType>("T") == DType::kFloat);
  CHECK_FALSE(y.node->Attr<bool>("transpose_a"));
}

TEST_CASE("an error names the node that does not fit and its place in the job") {
  Graph graph(Registry());
  const OriginScope origin(graph, {.file = "job.yaml", .line = 7, .column = 5});
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 3}, "x");
  const Error error = RefusalOf([&] {
    (void)graph.Add("MatMul", {x, graph.Constant(Tensor(DType::kFloat, {4, 2}))}, {}, "logits");
  });
  CHECK(error.code() == Code::kUsage);
  CHECK(std::string(error.what()).find("logits") != std::string::npos);
  CHECK(error.faults().front().place.line == 7);
  CHECK(RefusalOf([&] {
          (void)graph.Add("MatMule", {x, x});
        })
            .faults()
            .front()
            .message.find("MatMule") != std::string::npos);
}

TEST_CASE("a variable's name can be used once") {
  Graph graph(Registry());
  const Value zero = graph.Scalar(0.0F);
  const Variable* const variable = graph.AddVariable("w", DType::kFloat, {}, zero);
  CHECK(graph.FindVariable("w") == variable);
  CHECK(graph.VariableOf(variable->handle) == variable);
  CHECK(graph.VariableOf(variable->value) == variable);
  CHECK(graph.VariableOf(zero) == nullptr);
  CHECK(RefusalOf([&] { graph.AddVariable("w", DType::kFloat, {}, zero); }).code() == Code::kUsage);
}

TEST_CASE("paths to one input add up, and without a path there is no gradient") {
  Graph graph(Registry());
  const Value x = graph.Placeholder(DType::kFloat, {2}, "x");
  const Value other = graph.Placeholder(DType::kFloat, {2}, "other");
  const Value y = ops::Sum(ops::AddV2(ops::Mul(x, x), x), {0});
  const Value xs[] = {x, other};
  const std::vector<Gradient> gradients = Gradients(y, xs);
  CHECK(std::get<Value>(gradients[0]).node->type() == "AddN");
  CHECK(std::holds_alternative<std::monostate>(gradients[1]));
  CHECK(graph.FindNode("gradients/grad_ys_0")->type() == "Const");
}

TEST_CASE("dropped results are computed again after the gradient that needs them") {
  Graph graph(Registry());
  const Value x = graph.Placeholder(DType::kFloat, {2}, "x");
  const Value kept = ops::Square(x);
  const Value covered = ops::Exp(ops::Square(kept));
  const Value y = ops::Sum(ops::Mul(covered, covered), {0});
  const Value xs[] = {x};
  const Recompute recompute{.covers = [&](const Node& node) {
    return node.id() > kept.node->id() && node.id() <= covered.node->id();
  }};
  (void)Gradients(y, xs, {}, recompute);
  const Node* const again = graph.FindNode("gradients/Mul_grad/Exp_again");
  REQUIRE(again != nullptr);
  const Node& square = *again->input(0).node;
  CHECK(square.type() == "Square");
  const Node& behind = *square.input(0).node;
  CHECK(behind.type() == "Identity");
  CHECK(behind.input(0) == kept);
  REQUIRE(behind.control_inputs().size() == 1);
  // Only the product's dy reads a result of the forward pass.
  for (const auto& node : graph.nodes()) {
    if (node->id() <= y.node->id() || node->type() == "Shape") continue;
    for (const Value& input : node->inputs()) {
      CAPTURE(node->name());
      CHECK(input != covered);
      CHECK(input != covered.node->input(0));
    }
  }
}

TEST_CASE("looked-up rows have a gradient of slices") {
  Graph graph(Registry());
  const Value table = graph.Placeholder(DType::kFloat, {5, 2}, "table");
  const Value ids = graph.Constant(Tensor(DType::kInt32, {3}));
  const Value y = ops::Sum(ops::GatherV2(table, ids), {0, 1});
  const Value xs[] = {table};
  const Gradient gradient = Gradients(y, xs)[0];
  CHECK(std::get<IndexedSlices>(gradient).rows == 5);
  CHECK(std::get<IndexedSlices>(gradient).values.shape() == Shape{3, 2});
  CHECK(ToDense(gradient).shape() == table.shape());
}

TEST_CASE("a graph survives GraphDef to the byte, control inputs and all") {
  Graph graph(Registry());
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 3}, "x");
  const Value w =
      graph.AddVariable("w", DType::kFloat, {3, 2}, graph.Constant(Tensor(DType::kFloat, {3, 2})))
          ->value;
  const Value y = ops::MatMul(x, w);
  Node* const group = graph.AddNode("NoOp", {}, {}, "group");
  group->AddControlInput(y.node);
  const std::string bytes = ToGraphDef(graph);
  Graph read(Registry());
  FromGraphDef(bytes, read);
  CHECK(Names(read) == Names(graph));
  CHECK(ToGraphDef(read) == bytes);
  CHECK(read.FindNode("group")->control_inputs().front()->name() == y.node->name());
  CHECK(read.FindNode(y.node->name())->output_shape(0) == Shape{kUnknownDim, 2});
  const GraphDefForms forms = ToGraphDefForms(graph);
  CHECK(forms.bytes == bytes);
  CHECK(forms.text.find("name: \"group\"") != std::string::npos);
}

TEST_CASE("a damaged GraphDef is refused as data") {
  Graph graph(Registry());
  (void)ops::Neg(graph.Placeholder(DType::kFloat, {2}, "x"));
  const std::string bytes = ToGraphDef(graph);
  for (size_t length = 1; length < bytes.size(); ++length) {
    Graph read(Registry());
    try {
      FromGraphDef(bytes.substr(0, length), read);
    } catch (const Error& error) {
      CHECK(error.code() == Code::kData);
    }
  }
}

TEST_CASE("host ops are cut off before and after the device") {
  Graph graph(Registry());
  const Value text = graph.Placeholder(DType::kString, {kUnknownDim}, "text");
  const Value ids = ops::StringToHashBucketFast(text, 10);
  const Value v = graph.AddVariable("v", DType::kFloat, {}, graph.Scalar(2.0F))->value;
  const Value on_device = ops::Mul(ops::Cast(ids, DType::kFloat), v);
  const Value result = ops::AsString(on_device);
  const GraphCut cut = CutGraph(graph, {result}, {});
  CHECK(cut.PartOf(*ids.node) == Part::kBefore);
  CHECK(cut.PartOf(*on_device.node) == Part::kDevice);
  CHECK(cut.PartOf(*result.node) == Part::kAfter);
  CHECK(cut.before_to_device == std::vector<Value>{ids});
  CHECK(cut.device_to_after == std::vector<Value>{on_device});
}

TEST_CASE("the device has no shape that depends on data") {
  Graph graph(Registry());
  const Value text = graph.Placeholder(DType::kString, {kUnknownDim}, "text");
  const Value raw = ops::DecodeRaw(text, DType::kUint8);
  const Value image = ops::Reshape(raw, Shape({-1, 784}));
  const Value x = ops::Cast(image, DType::kFloat);
  const GraphCut cut = CutGraph(graph, {x}, {});
  CHECK(cut.PartOf(*raw.node) == Part::kBefore);
  CHECK(cut.PartOf(*image.node) == Part::kBefore);
  CHECK(cut.PartOf(*x.node) == Part::kDevice);
  CHECK(cut.before_to_device == std::vector<Value>{image});
}

TEST_CASE("strings stay off the device, and shapes are known on both sides of the cut") {
  Graph graph(Registry());
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 3}, "x");
  const Value v = graph.AddVariable("v", DType::kFloat, {}, graph.Scalar(2.0F))->value;
  const Value logits = ops::Mul(x, v);
  const Value rows = graph.Add("Shape", {logits});
  const Value zero = graph.Constant(Tensor::Of<float>({1, 1}, {0}));
  const Value tiled = graph.Add("Tile", {ops::AsString(zero), rows});
  const GraphCut cut = CutGraph(graph, {tiled}, {});
  CHECK(cut.PartOf(*tiled.node) == Part::kAfter);
  CHECK(cut.device_to_after == std::vector<Value>{logits});
}

TEST_CASE("nodes that read a host op's result of the device also run after it") {
  Graph graph(Registry());
  const Value v = graph.AddVariable("v", DType::kFloat, {}, graph.Scalar(2.0F))->value;
  const Value ids = ops::StringToHashBucketFast(ops::AsString(v), 10);
  const Value sum = ops::AddV2(ids, ids);
  const GraphCut cut = CutGraph(graph, {sum}, {});
  CHECK(cut.PartOf(*ids.node) == Part::kAfter);
  CHECK(cut.PartOf(*sum.node) == Part::kAfter);
  CHECK(cut.device_to_after == std::vector<Value>{v});
  CHECK(cut.before_to_device.empty());
}

TEST_CASE("a signature names inputs, outputs and attributes") {
  const Signature signature =
      ParseSignature("Op", "x: T, ys: N * T -> z: int32; T: float|double; N: int; axis: int = 1");
  CHECK(signature.inputs.size() == 2);
  CHECK(signature.inputs[1].number_attr == "N");
  CHECK(signature.outputs[0].dtype == DType::kInt32);
  CHECK(signature.FindAttr("T")->allowed == std::vector<DType>{DType::kFloat, DType::kDouble});
  CHECK(std::get<int64_t>(*signature.FindAttr("axis")->default_value) == 1);
  CHECK(signature.FindAttr("none") == nullptr);
}

}  // namespace tpuest
