#pragma once
// The common part of layers: where they build, and how they name and create their variables.

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/nn/activations.h"
#include "core/nn/constraints.h"
#include "core/nn/initializers.h"
#include "core/nn/name_patterns.h"
#include "core/nn/regularizers.h"

namespace tpuest::nn {

// ---- arguments ----------------------------------------------------------------------------------
// Layers are plain structs with named fields; the arguments that several layers share follow.

// Visits activation and use_bias.
template <class V, class Layer>
void VisitActivation(V& v, Layer& layer) {
  v("activation", layer.activation,
    {.help = "function applied to the result; `null` is linear", .values = ActivationNames()});
  v("use_bias", layer.use_bias, {.help = "`true` adds a bias"});
}

inline constexpr std::string_view kActivityHelp =
    "penalty on the layer's result, over the examples of a batch";

// Visits the options of the variables kernel and bias, and the activity_regularizer.
template <class V, class Layer>
void VisitKernelAndBias(V& v, Layer& layer) {
  v("kernel_initializer", layer.kernel_initializer, {.help = "initial values of the kernel"});
  v("bias_initializer", layer.bias_initializer, {.help = "initial values of the bias"});
  v("kernel_regularizer", layer.kernel_regularizer, {.help = "penalty on the kernel"});
  v("bias_regularizer", layer.bias_regularizer, {.help = "penalty on the bias"});
  v("activity_regularizer", layer.activity_regularizer, {.help = kActivityHelp});
  v("kernel_constraint", layer.kernel_constraint,
    {.help = "limit on the kernel, applied after each update"});
  v("bias_constraint", layer.bias_constraint,
    {.help = "limit on the bias, applied after each update"});
}

// The type of a layer that exists in several variants (numbers of axes, kinds): its names in a job,
// and its help.
struct LayerType {
  std::string_view type;
  std::array<std::string_view, 2> aliases;  // Keras' names; the second is "" if there is only one
  std::string_view name;                    // help of the key `name`
  std::string_view summary = "";            // "": equal for all variants
};

// The tensors that a layer takes, each named after an input or an earlier layer: one name, several
// in the layer's order, or a map by the layer's argument names (network.h). "" means the output of
// the layer before it.
using LayerInputs =
    std::variant<std::string, std::vector<std::string>, std::map<std::string, std::string>>;

// Visits inputs and name, the last arguments of every layer. `name` is the default.
template <class V, class Layer>
void VisitName(V& v, Layer& layer, std::string_view name) {
  v("inputs", layer.inputs,
    {.help = "names of the layers or features that it takes; default: the previous layer"});
  v("name", layer.name, {.help = name});
}

// Visits trainable, inputs and name of a layer with variables.
template <class V, class Layer>
void VisitVariables(V& v, Layer& layer, std::string_view name) {
  v("trainable", layer.trainable, {.help = "`false` freezes its variables"});
  VisitName(v, layer, name);
}

// ---- building -----------------------------------------------------------------------------------

// A model used as a layer that starts with the weights in a file, and the variables that it added.
struct WeightsFile {
  std::string path;
  Place place;                // of the model in the job
  size_t first_variable = 0;  // indices into Graph::variables(): first <= index < end
  size_t end_variable = 0;
  std::string object_prefix;  // prefix of their object paths
};

// The model that layers are added to, and what they contribute to its train_op and loss.
struct LayerContext {
  Graph& graph;
  bool training = false;
  // The dtype of activations and products; variables are float32 and cast at each use.
  DType compute_dtype = DType::kFloat;
  int replicas = 1;
  // The names of variables to train; a layer whose variables are not trained runs in inference
  // mode.
  NamePatterns trainable{{".*"}};
  // [B], 1 for an example and 0 for a padding row; not valid() if all rows are examples.
  Value example_weight = {};
  // True inside a nested model that is not trained.
  bool frozen = false;
  // The layer whose variables the current layer uses instead of its own; "" if none.
  std::string shares;
  // The names of the layers that network.h has built, by their position in its list.
  std::map<const void*, std::string> built;

  std::vector<Node*> updates;                     // moving averages, run with the train_op
  std::vector<Value> regularization_losses;       // float32 [] each
  std::map<std::string, Constraint> constraints;  // for trained variables, by name
  int layers_with_weights = 0;                    // for object paths
  std::string object_prefix;                      // prefix of object paths inside a nested model
  // For nested models: their names by that prefix, and the files with their weights.
  std::map<std::string, std::string> models;
  std::vector<WeightsFile> weights;
};

// Adds the float32 variable `name` of a part that is not a layer
// ("linear/linear_model/age/weights").
Variable* AddWeight(LayerContext& context, const std::string& name, const Shape& shape,
                    const Initializer& initializer, bool trainable = true);

// Sides of a window: one for both axes, or height and width.
using Sides = std::variant<int64_t, std::vector<int64_t>>;

// Adds the penalty on y [batch, ...] to the context's losses: its sum over examples divided by
// their number, without padding rows. Does nothing without a regularizer.
void AddActivityPenalty(LayerContext& context, const Regularizer& regularizer, Value y);

// Returns the sides as {height, width}. Throws Error kUsage unless there are one or two positive
// numbers.
[[nodiscard]] std::vector<int64_t> HeightAndWidth(const Sides& sides, std::string_view what);
// Returns the side of a window over one axis. Throws Error kUsage unless there is one positive
// number.
[[nodiscard]] int64_t OneSide(const Sides& sides, std::string_view what);
inline constexpr std::string_view kSideHelp = "one integer";
// Returns the sides as {depth, height, width}. Throws Error kUsage unless there are one or three
// positive numbers.
[[nodiscard]] std::vector<int64_t> DepthHeightWidth(const Sides& sides, std::string_view what);
inline constexpr std::string_view kThreeSidesHelp = "one integer, or depth, height and width";
// Returns the padding in the form that ops take: "SAME" or "VALID".
[[nodiscard]] std::string PaddingName(const std::string& padding);

// A layer while it is built: its nodes are named after it and carry its place in the job. An empty
// `name` becomes "dense", "dense_1", ..., counted over the graph as tf.layers does. A layer that
// shares variables has the name of their owner, and nodes under "dense_1/...".
class LayerScope {
 public:
  LayerScope(LayerContext& context, const std::string& name, std::string_view base,
             const Place& place);

  [[nodiscard]] const std::string& name() const { return name_; }

  struct WeightOptions {
    bool trainable = true;
    const Regularizer* regularizer = nullptr;
    const Constraint* constraint = nullptr;
    DType dtype = DType::kFloat;
  };
  // Adds the variable "<layer>/<name>". Call it before Nodes().
  Variable* AddWeight(std::string_view name, const Shape& shape, const Initializer& initializer,
                      WeightOptions options);
  // Returns the variable's value in the compute dtype.
  [[nodiscard]] Value Use(const Variable* weight) const;
  // Names all further nodes "<layer>/..." while the result lives.
  [[nodiscard]] NameScope Nodes() const { return {context_.graph, name_}; }
  // Ends the layer, records it in the graph with its result and returns the result. Adds the
  // penalty on it, if there is one, to the model's losses.
  Value Output(Value y, const Regularizer& activity_regularizer = {}) const;

  // Throws Error kUsage "conv2d 'conv2d_1': <message>" with the layer's place.
  [[noreturn]] void Fail(const std::string& message, std::string hint = "") const;
  // Returns the size of x along an axis (negative: from the end). Throws Error kUsage if it is not
  // known.
  [[nodiscard]] int64_t Dimension(Value x, int axis) const;
  // Returns the number of channels of x. Throws Error kUsage unless x has that rank and its last
  // dimension is known.
  [[nodiscard]] int64_t Channels(Value x, int rank) const;

 private:
  // Returns the variable of the layer whose variables this one uses.
  [[nodiscard]] Variable* Shared(const std::string& full_name, const Shape& shape) const;

  LayerContext& context_;
  std::string_view type_;
  Place place_;
  OriginScope origin_;
  std::string name_;
  int index_ = -1;  // index among layers with weights
  int first_node_;
};

}  // namespace tpuest::nn
