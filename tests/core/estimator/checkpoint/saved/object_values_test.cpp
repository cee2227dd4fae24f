#include "core/estimator/checkpoint/saved/object_values.h"

#include "core/backend/cpu/program.h"
#include "core/estimator/checkpoint/objects/beta_power.h"
#include "core/estimator/checkpoint/objects/object_layout.h"
#include "core/estimator/checkpoint/objects/object_variables.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/nn/global_step.h"
#include "core/ops/array.h"
#include "core/ops/training.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// A kernel [2] with Adam's slots and powers, or Momentum's slot.
struct ObjectModel {
  OpRegistry registry{ops::AllOps()};
  Graph graph{registry};

  Variable* Add(const std::string& name, const Shape& shape, float initial,
                const std::string& object_path = "") {
    return graph.AddVariable(
        name, DType::kFloat, shape,
        shape.rank() == 0 ? graph.Scalar(initial) : ops::Zeros(graph, DType::kFloat, shape),
        {.trainable = !object_path.empty(), .object_path = object_path});
  }
  void AddKernel() {
    nn::GetOrCreateGlobalStep(graph);
    Add("dense/kernel", {2}, 0, "layer_with_weights-0/kernel");
  }
  void AddMomentum() { Add("dense/kernel/Momentum", {2}, 0); }
  void AddAdam() {
    const Variable* const m = Add("dense/kernel/Adam", {2}, 0);
    const Variable* const v = Add("dense/kernel/Adam_1", {2}, 0);
    const Variable* const power1 = Add("beta1_power", {}, 0.9F);
    const Variable* const power2 = Add("beta2_power", {}, 0.999F);
    const Variable* const kernel = graph.FindVariable("dense/kernel");
    ops::ResourceApplyAdam({.var = kernel->handle,
                            .m = m->handle,
                            .v = v->handle,
                            .beta1_power = power1->value,
                            .beta2_power = power2->value,
                            .lr = graph.Scalar(0.1F),
                            .beta1 = graph.Scalar(0.9F),
                            .beta2 = graph.Scalar(0.999F),
                            .epsilon = graph.Scalar(1e-8F),
                            .grad = kernel->value});
  }
};

// An object-based checkpoint in memory, made by hand.
struct Objects {
  SavedState saved{.prefix = "dir/ckpt-1"};

  Objects() {
    saved.objects.emplace().nodes.resize(1);
    saved.tensors["global_step"] = Tensor::Scalar<int64_t>(7);
  }
  ObjectGraph& graph() { return *saved.objects; }
  int Object(int parent, const std::string& name) {
    graph().nodes.emplace_back();
    const int node = static_cast<int>(graph().nodes.size()) - 1;
    graph().at(parent).children.push_back({name, node});
    return node;
  }
  int Stored(int parent, const std::string& name, const std::string& full_name,
             const Tensor& value) {
    const int node = Object(parent, name);
    graph().at(node).full_name = full_name;
    graph().at(node).key = fmt::format("key {}", node);
    saved.tensors[graph().at(node).key] = value;
    return node;
  }
  // Adds a model with one layer; returns its kernel.
  int Net(const std::string& name, const std::string& full_name, const Tensor& kernel) {
    return Stored(Object(Object(0, name), "layer_with_weights-0"), "kernel", full_name, kernel);
  }
  void Slot(int optimizer, const std::string& slot, int variable, const Tensor& value) {
    graph().nodes.push_back({.full_name = "slot", .key = slot});
    graph().at(optimizer).slots.push_back(
        {variable, slot, static_cast<int>(graph().nodes.size()) - 1});
    saved.tensors[slot] = value;
  }
};

Tensor Two(float a, float b) { return Tensor::Of<float>({2}, {a, b}); }

std::vector<float> Floats(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

using Numbers = std::vector<float>;

}  // namespace

TEST_CASE("a variable is found by its name, or otherwise by its place in the model") {
  ObjectModel model;
  model.AddKernel();
  for (const std::string full_name : {"dense/kernel", "Variable"}) {
    Objects objects;
    objects.Net("net", full_name, Two(1, 2));
    objects.Stored(0, "other", "other/kernel", Two(3, 4));
    auto values = ValuesFromObjects(objects.saved, model.graph);
    CHECK(Floats(values.at("dense/kernel")) == Numbers{1, 2});
    CHECK(*values.at("global_step").data<int64_t>() == 7);
  }
}

TEST_CASE("a user-defined class keeps layers by name, and its optimizer has Keras' slots") {
  ObjectModel model;
  model.AddKernel();
  model.Add("training/Adam/dense/kernel/m", {2}, 0);
  model.Add("training/Adam/beta_1", {}, 0.9F);
  Objects objects;
  const int kernel = objects.Stored(objects.Object(objects.Object(0, "net"), "dense"), "kernel",
                                    "net/dense_7/kernel", Two(1, 2));
  const int optimizer = objects.Object(0, "optimizer");
  objects.Slot(optimizer, "m", kernel, Two(3, 4));
  objects.Stored(optimizer, "beta_1", "beta_1", Tensor::Scalar(0.8F));
  const auto values = ValuesFromObjects(objects.saved, model.graph);
  CHECK(Floats(values.at("dense/kernel")) == Numbers{1, 2});
  CHECK(Floats(values.at("training/Adam/dense/kernel/m")) == Numbers{3, 4});
  CHECK(*values.at("training/Adam/beta_1").data<float>() == 0.8F);
}

TEST_CASE("of two models with the same layout, the one with the graph's shapes is used") {
  ObjectModel model;
  model.AddKernel();
  Objects objects;
  objects.Net("encoder", "a", Tensor::Of<float>({3}, {1, 2, 3}));
  objects.Net("decoder", "b", Two(4, 5));
  CHECK(Floats(ValuesFromObjects(objects.saved, model.graph).at("dense/kernel")) == Numbers{4, 5});
  objects.Net("critic", "c", Two(6, 7));
  const Error error = ErrorOf([&] { (void)ValuesFromObjects(objects.saved, model.graph); });
  CHECK(error.code() == Code::kCheckpoint);
  CHECK(error.message() == "ckpt-1: the graph's layers fit both \"decoder\" and \"critic\" in it");
}

TEST_CASE("tf.train's momentum is used as it is, Keras' is divided by minus its rate") {
  ObjectModel model;
  model.AddKernel();
  model.AddMomentum();
  Objects objects;
  const int kernel = objects.Net("net", "dense/kernel", Two(1, 2));
  const int optimizer = objects.Object(0, "optimizer");
  objects.Slot(optimizer, "momentum", kernel, Two(3, 4));
  const auto momentum = [&] {
    return Floats(ValuesFromObjects(objects.saved, model.graph).at("dense/kernel/Momentum"));
  };
  CHECK(momentum() == Numbers{3, 4});
  objects.Stored(optimizer, "iter", "SGD/iter", Tensor::Scalar<int64_t>(7));
  CHECK(ErrorOf(momentum).message() ==
        "ckpt-1: Keras' SGD stores minus the learning rate times the momentum of "
        "MomentumOptimizer, but the checkpoint has no constant rate");
  objects.Stored(optimizer, "learning_rate", "SGD/learning_rate", Tensor::Scalar(0.5F));
  CHECK(momentum() == Numbers{-6, -8});
}

TEST_CASE("another optimizer's slot of the same name is not used") {
  ObjectModel model;
  model.AddKernel();
  model.AddMomentum();
  Objects objects;
  const int kernel = objects.Net("net", "dense/kernel", Two(1, 2));
  const int optimizer = objects.Object(0, "optimizer");
  objects.Slot(optimizer, "momentum", kernel, Two(3, 4));
  objects.Slot(optimizer, "rms", kernel, Two(5, 6));
  VariableStore store;
  const Error error = ErrorOf([&] { RestoreVariables(objects.saved, model.graph, store); });
  CHECK(error.message() ==
        "ckpt-1: lacks 1 of the graph's 3 variables: \"dense/kernel/Momentum\"; was the model or "
        "its optimizer changed?");
  CHECK(error.faults().front().hint.find("this object-based checkpoint has momentum, rms") !=
        std::string::npos);
}

TEST_CASE("Adam's powers are computed from Keras' step count if the betas agree") {
  ObjectModel model;
  model.AddKernel();
  model.AddAdam();
  Objects objects;
  const int kernel = objects.Net("net", "dense/kernel", Two(1, 2));
  const int optimizer = objects.Object(0, "optimizer");
  objects.Slot(optimizer, "m", kernel, Two(3, 4));
  objects.Slot(optimizer, "v", kernel, Two(5, 6));
  objects.Stored(optimizer, "iter", "Adam/iter", Tensor::Scalar<int64_t>(2));
  auto values = ValuesFromObjects(objects.saved, model.graph);
  CHECK(Floats(values.at("dense/kernel/Adam")) == Numbers{3, 4});
  CHECK(Floats(values.at("dense/kernel/Adam_1")) == Numbers{5, 6});
  CHECK(*values.at("beta1_power").data<float>() == 0.9F * 0.9F * 0.9F);
  objects.Stored(optimizer, "beta_1", "Adam/beta_1", Tensor::Scalar(0.8F));
  CHECK(ErrorOf([&] { (void)ValuesFromObjects(objects.saved, model.graph); }).message() ==
        "ckpt-1: beta_1 of Adam is 0.8 in the checkpoint, 0.9 in the graph");
}

TEST_CASE("values written as objects are read back to the bit, and count Adam's steps") {
  ObjectModel model;
  model.AddKernel();
  model.AddAdam();
  VariableStore store;
  store.Set("global_step", Tensor::Scalar<int64_t>(41));
  store.Set("dense/kernel", Two(1, 2));
  store.Set("dense/kernel/Adam", Two(3, 4));
  store.Set("dense/kernel/Adam_1", Two(5, 6));
  store.Set("beta1_power", Tensor::Scalar(BetaPower(0.9F, 40)));
  store.Set("beta2_power", Tensor::Scalar(BetaPower(0.999F, 40)));
  const TemporaryFolder folder;
  const std::string prefix = folder.File("model.ckpt-41");
  WriteBundle(prefix, ObjectLayout(model.graph).Tensors(store), {.fsync = false});
  const SavedState saved = LoadCheckpoint(prefix);
  CHECK(saved.global_step == 41);
  const auto number = [&](const std::string& path) {
    const auto node = saved.objects->Walk(0, path);
    return saved.tensors.at(saved.objects->at(node.value()).key).AsDouble(0);
  };
  CHECK(number("optimizer/iter") == 40);
  CHECK(number("optimizer/learning_rate") == static_cast<double>(0.1F));
  CHECK(number("save_counter") == 41);
  CHECK(
      saved.tensors.contains("model/layer_with_weights-0/kernel/.OPTIMIZER_SLOT/optimizer/m/"
                             ".ATTRIBUTES/VARIABLE_VALUE"));
  VariableStore back;
  RestoreVariables(saved, model.graph, back);
  for (const auto& [name, value] : store.tensors()) CHECK(SameBits(back.Get(name), value));
}

TEST_CASE("a model trained by a Keras optimizer has the layout of model_to_estimator") {
  ObjectModel model;
  model.AddKernel();
  model.Add("training/Adam/dense/kernel/m", {2}, 0);
  model.Add("training/Adam/beta_1", {}, 0.9F);
  VariableStore store;
  store.Set("global_step", Tensor::Scalar<int64_t>(41));
  store.Set("dense/kernel", Two(1, 2));
  store.Set("training/Adam/dense/kernel/m", Two(3, 4));
  store.Set("training/Adam/beta_1", Tensor::Scalar(0.9F));
  const TemporaryFolder folder;
  const std::string prefix = folder.File("model.ckpt-41");
  WriteBundle(prefix, ObjectLayout(model.graph).Tensors(store), {.fsync = false});
  const SavedState saved = LoadCheckpoint(prefix);
  CHECK(saved.global_step == 41);
  const std::string kernel = "layer_with_weights-0/kernel/";
  const std::string value = ".ATTRIBUTES/VARIABLE_VALUE";
  CHECK(saved.tensors.contains(kernel + value));
  CHECK(saved.tensors.contains(kernel + ".OPTIMIZER_SLOT/optimizer/m/" + value));
  CHECK(saved.tensors.contains("optimizer/beta_1/" + value));
  CHECK(saved.tensors.contains("estimator_global_step/" + value));
  // tf.train.Checkpoint(model=..., optimizer=..., step=...) also finds them.
  CHECK(saved.objects->Walk(0, "model/" + kernel.substr(0, kernel.size() - 1)) ==
        saved.objects->Walk(0, kernel.substr(0, kernel.size() - 1)));
  CHECK(saved.objects->Walk(0, "step") == saved.objects->Walk(0, "estimator_global_step"));
  CHECK(saved.objects->at(*saved.objects->Walk(0, "optimizer/iter")).key ==
        "estimator_global_step/" + value);
  // So does tf.train.Checkpoint(net=...) for a model whose attribute for the layer is `dense`.
  CHECK(saved.objects->Walk(0, "net/dense/kernel") ==
        saved.objects->Walk(0, kernel.substr(0, kernel.size() - 1)));
  VariableStore back;
  RestoreVariables(saved, model.graph, back);
  for (const auto& [name, tensor] : store.tensors()) CHECK(SameBits(back.Get(name), tensor));
}

TEST_CASE("a damaged object graph gives the values, or one error that names the file") {
  ObjectModel model;
  model.AddKernel();
  model.AddAdam();
  VariableStore store;
  InitializeVariables(*MakeCpuBackend(), model.graph, Which::kAll, 1, store);
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors = ObjectLayout(model.graph).Tensors(store);
  const std::string whole(tensors.front().tensor.strings()[0]);
  REQUIRE(tensors.front().name == kObjectGraphKey);
  int refusals = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const bool cut : {true, false}) {
      std::string damaged = cut ? whole.substr(0, at) : whole;
      if (!cut) damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
      tensors.front().tensor = Tensor::Strings(Shape(), {damaged});
      // A file system may flush a file when another is renamed over it.
      RemoveFile(BundleIndexPath(folder.File("c")));
      RemoveFile(BundleDataPath(folder.File("c"), 0, 1));
      WriteBundle(folder.File("c"), tensors, {.fsync = false});
      VariableStore back;
      try {
        RestoreVariables(LoadCheckpoint(folder.File("c")), model.graph, back);
      } catch (const Error& error) {
        ++refusals;
        CHECK(error.code() == Code::kCheckpoint);
        CHECK(error.message().find("c: ") != std::string::npos);
      }
    }
  }
  CHECK(refusals > 0);
}

TEST_CASE("the steps of a power are found as long as it changes") {
  CHECK(StepsOfBetaPower(0.9F, 0.9F) == 0);
  CHECK(StepsOfBetaPower(0.999F, BetaPower(0.999F, 1000)) == 1000);
  CHECK(!StepsOfBetaPower(0.9F, 0.5F));
  CHECK(!StepsOfBetaPower(0.9F, BetaPower(0.9F, 1000000)));
  CHECK(BetaPower(1.0F, int64_t{1} << 60) == 1.0F);
}

TEST_CASE("the step is the variable of that name, the root's child, or the optimizer's count") {
  ObjectGraph graph;
  graph.nodes.resize(5);
  graph.nodes[0].children = {{"optimizer", 1}};
  graph.nodes[1].children = {{"iter", 2}};
  for (size_t i = 2; i < 5; ++i) graph.nodes[i].key = "k";
  CHECK(FindGlobalStep(graph) == 2);
  graph.nodes[0].children.push_back({"step", 3});
  CHECK(FindGlobalStep(graph) == 3);
  graph.nodes[4].full_name = "global_step";
  CHECK(FindGlobalStep(graph) == 4);
  graph.nodes[3].full_name = "global_step";
  CHECK(!FindGlobalStep(graph));
}

}  // namespace tpuest
