#include "core/nn/layers/network.h"

#include <doctest/doctest.h>

#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

// A session with the inputs a [1, 2] and b [1, 2].
struct Fixture {
  Session session;
  LayerContext context{.graph = session.graph()};
  NetworkInputs inputs{
      .named = {{"a", session.Const({1, 2}, {1, 2})}, {"b", session.Const({1, 2}, {10, 20})}},
      .only = {}};

  NetworkOutputs Apply(const std::vector<Layer>& layers) {
    return ApplyLayers(layers, context, inputs);
  }
  std::vector<float> Last(const std::vector<Layer>& layers) {
    const Value last = Apply(layers).last;
    session.Initialize();
    return session.Floats(last);
  }
  std::string Message(const std::vector<Layer>& layers) {
    try {
      (void)Apply(layers);
    } catch (const Error& error) {
      const Fault& fault = error.faults().front();
      return fmt::format("{}: {} ({})", fault.place.line, fault.message, fault.hint);
    }
    return "nothing was thrown";
  }
};

Dense Twos(const std::string& name, const LayerInputs& inputs) {
  return {.units = 2,
          .kernel_initializer = ConstantInitializer{2},
          .name = name,
          .inputs = inputs,
          .place = {"job.yaml", 7, 1}};
}

TEST_CASE("layers take inputs and earlier layers by name, or otherwise the one before") {
  Fixture f;
  CHECK(f.Last({Rescaling{.scale = 2.0, .name = "twice", .inputs = "a"},
                Rescaling{.scale = 10.0, .name = "more"},
                Add{.inputs = std::vector<std::string>{"twice", "more", "b"}}}) ==
        std::vector<float>{1 * 22 + 10, 2 * 22 + 20});
}

TEST_CASE("an input by argument, a layer by its number, and the only input by `input`") {
  Fixture f;
  const std::map<std::string, std::string> by_argument = {{"y", "b"}, {"x", "a"}};
  CHECK(f.Last({Dot{.inputs = by_argument}}) == std::vector<float>{50});
  f.inputs = {.named = {}, .only = f.inputs.named.at("a")};
  CHECK(f.Last({Rescaling{.scale = 3.0}, Rescaling{.scale = 0.0},
                Add{.inputs = std::vector<std::string>{"@0", "input"}}}) ==
        std::vector<float>{4, 8});
}

TEST_CASE("a layer that is called twice has one set of variables, and one penalty") {
  Fixture f;
  Dense encoder = Twos("encoder", "a");
  encoder.kernel_regularizer = L2Regularizer{.l2 = 1};
  CHECK(f.Last({encoder, SharedLayer{.layer = "encoder", .name = "other", .inputs = "b"},
                Subtract{.inputs = std::vector<std::string>{"other", "encoder"}}}) ==
        std::vector<float>{54, 54});
  CHECK(f.session.graph().variables().size() == 2);
  CHECK(f.context.regularization_losses.size() == 1);
  CHECK(f.session.graph().FindNode("encoder_1/MatMul") != nullptr);
}

TEST_CASE("a nested model has its own names, may be frozen, and may be called twice") {
  Fixture f;
  const NestedModel base{.layers = {Twos("dense", ""), BatchNormalization{},
                                    Rescaling{.scale = 1.0, .name = "features"}},
                         .outputs = {"features"},
                         .trainable = false,
                         .name = "base",
                         .inputs = "a"};
  f.context.training = true;
  const NetworkOutputs given = f.Apply(
      {base, SharedLayer{.layer = "base", .name = "again", .inputs = "b"}, Twos("head", "base")});
  CHECK(given.by_name.contains("base:features"));
  CHECK(given.by_name.contains("again"));
  CHECK_FALSE(given.by_name.contains("features"));
  const Graph& graph = f.session.graph();
  CHECK(graph.variables().size() == 8);
  CHECK_FALSE(graph.FindVariable("dense/kernel")->trainable);
  CHECK(graph.FindVariable("head/kernel")->trainable);
  CHECK(graph.FindVariable("dense/kernel")->object_path ==
        "layer_with_weights-0/layer_with_weights-0/kernel");
  CHECK(graph.FindVariable("head/kernel")->object_path == "layer_with_weights-1/kernel");
  // A frozen layer is in inference mode, so its moving averages stay unchanged.
  CHECK(f.context.updates.empty());
}

TEST_CASE("training: false keeps a model in inference mode, while its variables train") {
  Fixture f;
  f.context.training = true;
  (void)f.Apply({NestedModel{
      .layers = {BatchNormalization{}, Dropout{.rate = 0.9}}, .training = false, .inputs = "a"}});
  CHECK(f.context.updates.empty());
  CHECK(f.session.graph().FindVariable("batch_normalization/gamma")->trainable);
  CHECK(f.context.training);
}

TEST_CASE("unknown and repeated names are refused at the layer's place") {
  Fixture f;
  CHECK(f.Message({Twos("x", "c")}) ==
        "7: no input and no earlier layer is called 'c' (there are: a, b)");
  CHECK(f.Message({Twos("x", "later"), Twos("later", "a")}) ==
        "7: no input and no earlier layer is called 'later' (the layer comes later: a layer "
        "takes only earlier ones)");
  CHECK(f.Message({Twos("x", "")}) ==
        "7: there are several inputs, but this layer names none (inputs: NAME, one of a, b)");
  CHECK(f.Message({Twos("x", "a"), Twos("x", "a")}) ==
        "7: two layers are called 'x' ({layer: x, inputs: ...} uses a layer again)");
  CHECK(f.Message({Twos("a", "a")}) ==
        "7: 'a' is the name of an input: choose another name for the layer ()");
  CHECK(f.Message({Twos("x", std::map<std::string, std::string>{{"x", "a"}})}) ==
        "7: this layer does not take inputs by name (inputs: [LAYER, ...], in order)");
  CHECK(f.Message(
            {Twos("encoder", "a"), SharedLayer{.layer = "encodr", .place = {"job.yaml", 9, 1}}}) ==
        "9: no earlier layer is called 'encodr' (did you mean 'encoder'?)");
}

}  // namespace
}  // namespace tpuest::nn
