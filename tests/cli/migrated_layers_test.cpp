// Layers, losses and optimizers found in graphs that TensorFlow wrote
// (tests/testdata/old_model_fns), and in graphs written here as TensorFlow's versions write them.

#include <doctest/doctest.h>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/graph/numbers.h"
#include "cli/prepare/migrate/model/layers.h"
#include "cli/prepare/migrate/model/loss.h"
#include "cli/prepare/migrate/model/normalization.h"
#include "cli/prepare/migrate/model/sequential.h"
#include "cli/prepare/migrate/optimizers/optimizer.h"
#include "core/base/process/files.h"
#include "tests/temporary_folder.h"

namespace tpuest::cli {
namespace {

std::string LayersFolder(const std::string& name) {
  return std::string(SOURCE_ROOT "/tests/testdata/old_model_fns/") + name;
}

struct OldModel {
  explicit OldModel(const std::string& name)
      : variables(LayersFolder(name) + "/model.ckpt-20"),
        graph(LayersFolder(name) + "/graph.pbtxt") {}
  BundleReader variables;
  SeenGraph graph;
};

// A node of a GraphDef as text; numbers are float32 constants.
std::string Node(const std::string& name, const std::string& op,
                 const std::vector<std::string>& inputs = {}) {
  std::string text = fmt::format("node {{ name: \"{}\" op: \"{}\"", name, op);
  for (const std::string& input : inputs) text += fmt::format(" input: \"{}\"", input);
  return text + " }\n";
}
std::string Number(const std::string& name, double value) {
  return fmt::format(
      "node {{ name: \"{}\" op: \"Const\" attr {{ key: \"value\" value {{ tensor {{ dtype: "
      "DT_FLOAT tensor_shape {{ }} float_val: {} }} }} }} }}\n",
      name, value);
}
SeenGraph GraphOf(const std::string& text) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.path() + "/graph.pbtxt", text, false);
  return SeenGraph(folder.path() + "/graph.pbtxt");
}

TEST_CASE("layers are found from the loss back to the input") {
  const OldModel old("separable");
  const auto losses = FindLosses(old.graph);
  REQUIRE(!losses.empty());
  CHECK(losses[0].kind == LossKind::kSquared);
  CHECK_FALSE(losses[0].is_sum);
  const MigratedLayers layers =
      FindLayers(old.graph, old.variables, *losses[0].node, losses[0].input);
  CHECK(layers.obstacle.empty());
  const char* const separable =
      "{type: separable_conv2d, filters: 4, kernel_size: 3, strides: 2, depth_multiplier: 2, "
      "activation: elu, name: separable_conv2d}";
  CHECK(layers.layers ==
        std::vector<std::string>{"{type: reshape, shape: [8, 8, 1]}", separable,
                                 "{type: average_pooling2d, pool_size: 2, strides: 1}",
                                 "{type: global_average_pooling2d}",
                                 "{type: dense, units: 1, name: dense}"});
  CHECK(layers.width == 1);
  CHECK(layers.input.dtype == "uint8");
  CHECK(layers.input.shape == std::vector<int64_t>{64});
  CHECK(layers.input.scale == doctest::Approx(1.0 / 255));
}

TEST_CASE("a sum of losses is not taken for a mean, and smoothed labels are found") {
  const auto sum = FindLosses(OldModel("keras").graph);
  REQUIRE(sum.size() == 1);
  CHECK(sum[0].is_sum);
  CHECK(HeadText(sum[0], 1, {}) == "{type: BinaryClassHead, loss_reduction: SUM}");
  CHECK(HeadText(sum[0], 1, {"no", "yes"}) ==
        "{type: BinaryClassHead, label_vocabulary: [no, yes], loss_reduction: SUM}");
  CHECK(HeadText(sum[0], 3, {}) == "{type: MultiLabelHead, n_classes: 3, loss_reduction: SUM}");
  const auto smoothed = FindLosses(OldModel("smoothed").graph);
  REQUIRE(smoothed.size() == 1);
  CHECK(smoothed[0].unknown.empty());
  CHECK(HeadText(smoothed[0], 5, {}) ==
        "{type: MultiClassHead, n_classes: 5, label_smoothing: 0.1}");
}

TEST_CASE("labels that are vectors from the start are reported") {
  const SeenGraph graph = GraphOf(Node("x", "Placeholder") + Node("y", "Placeholder") +
                                  Node("loss", "SoftmaxCrossEntropyWithLogits", {"x", "y"}));
  const auto losses = FindLosses(graph);
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].unknown.size() == 1);
  CHECK_FALSE(losses[0].is_sum);
}

TEST_CASE("dropout of every version of TensorFlow is found") {
  const std::string random = Node("x", "Placeholder") + Node("shape", "Shape", {"x"}) +
                             Node("dropout/uniform", "RandomUniform", {"shape"}) +
                             Number("low", 0) + Number("range", 1) +
                             Node("dropout/scaled", "Mul", {"dropout/uniform", "range"}) +
                             Node("dropout/random", "Add", {"dropout/scaled", "low"});
  const SeenGraph floor = GraphOf(random + Number("keep", 0.75) +
                                  Node("dropout/add", "Add", {"keep", "dropout/random"}) +
                                  Node("dropout/Floor", "Floor", {"dropout/add"}) +
                                  Node("dropout/div", "RealDiv", {"x", "keep"}) +
                                  Node("dropout/mul", "Mul", {"dropout/div", "dropout/Floor"}));
  const auto oldest = FindDropout(floor, *floor.Find("dropout/mul"));
  REQUIRE(oldest);
  CHECK(oldest->rate == 0.25);
  CHECK(oldest->layer == "dropout");
  CHECK(SourceAt(floor, *oldest->first, oldest->input) == floor.Find("x"));

  const SeenGraph cast = GraphOf(
      random + Number("rate", 0.25) + Number("factor", 4.0 / 3) +
      Node("net/drop/dropout/mask", "GreaterEqual", {"dropout/random", "rate"}) +
      Node("net/drop/dropout/Cast", "Cast", {"net/drop/dropout/mask"}) +
      Node("net/drop/dropout/mul", "Mul", {"factor", "x"}) +
      Node("net/drop/dropout/mul_1", "Mul", {"net/drop/dropout/mul", "net/drop/dropout/Cast"}));
  const auto later = FindDropout(cast, *cast.Find("net/drop/dropout/mul_1"));
  REQUIRE(later);
  CHECK(later->rate == 0.25);
  CHECK(later->layer == "net/drop");
  CHECK(later->input == 1);
  CHECK_FALSE(FindDropout(cast, *cast.Find("net/drop/dropout/mul")));
}

TEST_CASE("numbers are computed from constants") {
  const SeenGraph graph =
      GraphOf(Number("a", 3) + Number("b", 4) + Node("sum", "AddV2", {"a", "b"}) +
              Node("cast", "Cast", {"sum"}) + Node("half", "RealDiv", {"cast", "b"}) +
              Node("x", "Placeholder") + Node("of_x", "Mul", {"half", "x"}) +
              Node("circle", "Identity", {"circle"}) + Node("use", "Mul", {"half", "circle"}));
  CHECK(ScalarAt(graph, *graph.Find("of_x"), 0) == 1.75);
  CHECK_FALSE(ScalarAt(graph, *graph.Find("of_x"), 1));
  CHECK_FALSE(ScalarAt(graph, *graph.Find("use"), 1));
  CHECK_FALSE(ScalarAt(graph, *graph.Find("use"), 2));
  CHECK(SourceAt(graph, *graph.Find("use"), 1) == nullptr);
}

TEST_CASE("tf.train's optimizers are found with their numbers") {
  const auto optimizer = [](const std::string& name) {
    const OldModel old(name);
    return FindTrainOptimizer(old.graph, old.variables, "").value();
  };
  CHECK(optimizer("smoothed").text == "{type: AdamOptimizer, learning_rate: 0.01}");
  CHECK(optimizer("keras").text == "{type: AdagradOptimizer, learning_rate: 0.05}");
  CHECK(optimizer("unknown").text == "{type: GradientDescentOptimizer, learning_rate: 0.01}");
  CHECK(optimizer("separable").text ==
        "{type: RMSPropOptimizer, learning_rate: 0.001, decay: 0.8, centered: true}");
  CHECK(optimizer("conv").text ==
        "{type: MomentumOptimizer, learning_rate: {type: exponential_decay, learning_rate: 0.01, "
        "decay_steps: 10, decay_rate: 0.9, staircase: true}, momentum: 0.9, use_nesterov: true, "
        "clip_by_global_norm: 0.5}");
  CHECK(optimizer("conv").unknown.empty());
}

TEST_CASE("a rate computed in another way is reported") {
  const OldModel old("unknown");
  const SeenGraph graph =
      GraphOf(Node("w", "VarHandleOp") + Node("g", "Placeholder") + Node("rate", "Placeholder") +
              Node("update", "ResourceApplyGradientDescent", {"w", "rate", "g"}));
  const auto found = FindTrainOptimizer(graph, old.variables, "");
  REQUIRE(found);
  CHECK(found->unknown ==
        "the learning rate: it is neither a constant nor exponential_decay (Placeholder \"rate\")");
  CHECK_FALSE(FindTrainOptimizer(graph, old.variables, "dnn/"));
}

TEST_CASE("a node that is not part of a chain of layers is named") {
  const OldModel old("unknown");
  CHECK(FindSequential(old.graph, old.variables).obstacle ==
        "MatMul \"MatMul\" uses the variable \"weights\", which a layer would call <layer>/kernel");
  const SeenGraph circle =
      GraphOf(Node("x", "Relu", {"x"}) + Node("labels", "Placeholder") +
              Node("loss", "SparseSoftmaxCrossEntropyWithLogits", {"x", "labels"}));
  CHECK(FindSequential(circle, old.variables).obstacle == "the graph has a cycle");
  const SeenGraph none = GraphOf(Node("x", "Placeholder"));
  CHECK(FindSequential(none, old.variables).obstacle == "the graph has no loss of a head");
}

}  // namespace
}  // namespace tpuest::cli
