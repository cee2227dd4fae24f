#include "core/nn/layers/network.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/base/whole_number.h"
#include "core/nn/job_place.h"

namespace tpuest::nn {
namespace {

const std::string& NameOf(const Layer& layer) {
  return std::visit([](const auto& l) -> const std::string& { return l.name; }, layer);
}
const LayerInputs& InputsOf(const Layer& layer) {
  return std::visit([](const auto& l) -> const LayerInputs& { return l.inputs; }, layer);
}
const Place& PlaceOf(const Layer& layer) {
  return std::visit([](const auto& l) -> const Place& { return l.place; }, layer);
}

// The arguments of a layer that takes several inputs by name, in its order; none of another.
std::vector<std::string> ArgumentsOf(const Layer& layer) {
  return std::visit(
      [](const auto& l) {
        if constexpr (requires { l.kArguments; }) {
          return std::vector<std::string>(std::begin(l.kArguments), std::end(l.kArguments));
        } else {
          return std::vector<std::string>();
        }
      },
      layer);
}

bool NamesNothing(const LayerInputs& inputs) {
  const auto* const name = std::get_if<std::string>(&inputs);
  return name != nullptr && name->empty();
}

using ByArgument = std::map<std::string, std::string>;

// The names of a layer's inputs in the layer's own order.
std::vector<std::string> InRow(const Layer& layer) {
  const LayerInputs& inputs = InputsOf(layer);
  if (const auto* const name = std::get_if<std::string>(&inputs)) return {*name};
  if (const auto* const names = std::get_if<std::vector<std::string>>(&inputs)) return *names;
  const auto& by_argument = std::get<ByArgument>(inputs);
  const std::vector<std::string> arguments = ArgumentsOf(layer);
  std::vector<std::string> row;
  for (const std::string& argument : arguments) {
    const auto found = by_argument.find(argument);
    if (found != by_argument.end()) row.push_back(found->second);
  }
  if (row.size() == by_argument.size() && row.size() == arguments.size()) return row;
  // A formula knows its inputs by any names.
  if (std::holds_alternative<Lambda>(layer)) {
    for (const auto& [argument, input] : by_argument) row.push_back(input);
    return row;
  }
  Refuse(PlaceOf(layer),
         arguments.empty() ? "this layer does not take inputs by name"
                           : "this layer takes the inputs " + Join(arguments, " and "),
         arguments.empty() ? "inputs: [LAYER, ...], in order"
                           : fmt::format("inputs: {{{}: LAYER}}", Join(arguments, ": LAYER, ")));
}

// Restores what a nested model changes of the context.
class NestedContext {
 public:
  NestedContext(LayerContext& context, const NestedModel& model)
      : context_(context),
        training_(context.training),
        frozen_(context.frozen),
        index_(context.layers_with_weights),
        object_prefix_(context.object_prefix) {
    context.training = context.training && model.training;
    context.frozen = context.frozen || !model.trainable;
    context.object_prefix += fmt::format("layer_with_weights-{}/", index_);
    context.layers_with_weights = 0;
  }
  ~NestedContext() {
    const bool has_weights = context_.layers_with_weights > 0;
    context_.layers_with_weights = index_ + (has_weights ? 1 : 0);
    context_.object_prefix = object_prefix_;
    context_.training = training_;
    context_.frozen = frozen_;
  }
  NestedContext(const NestedContext&) = delete;
  NestedContext& operator=(const NestedContext&) = delete;

 private:
  LayerContext& context_;
  bool training_;
  bool frozen_;
  int index_;
  std::string object_prefix_;
};

class Network {
 public:
  Network(const std::vector<Layer>& layers, LayerContext& context, const NetworkInputs& inputs)
      : layers_(layers), context_(context), inputs_(inputs) {}

  NetworkOutputs Run() {
    for (const Layer& layer : layers_) {
      CheckName(layer);
      Called(layer, layer);
      by_name_.emplace(NameOf(layer), &layer);
      by_number_.push_back(outputs_.last);
    }
    return std::move(outputs_);
  }

 private:
  // Applies `callee` to the inputs of `call`, which is the same unless the callee is shared.
  void Called(const Layer& call, const Layer& callee) {
    if (const auto* const shared = std::get_if<SharedLayer>(&callee)) {
      return Called(call, LayerNamed(*shared));
    }
    if (const auto* const model = std::get_if<NestedModel>(&callee)) return CallModel(call, *model);
    const auto built = context_.built.find(&callee);
    context_.shares = built == context_.built.end() ? "" : built->second;
    const Value y = Apply(callee, context_, ValuesOf(call));
    context_.shares.clear();
    const std::string& name = context_.graph.layers().back().name;
    context_.built.emplace(&callee, name);
    // A call of a layer that was there before has the call's own name, if it has one.
    if (&call == &callee || !NameOf(call).empty()) {
      outputs_.by_name.insert_or_assign(&call == &callee ? name : NameOf(call), y);
    }
    outputs_.last = y;
  }

  void CallModel(const Layer& call, const NestedModel& model) {
    const std::string name = !NameOf(call).empty() ? NameOf(call) : NameOfModel(model);
    const NetworkInputs inner = InnerInputs(call);
    NetworkOutputs given;
    {
      AtPlace(model.place, [&] { CheckInputShape(model.input_shape, inner); });
      const NestedContext nested(context_, model);
      const size_t first = context_.graph.variables().size();
      context_.models.emplace(context_.object_prefix, name);
      given = AtPlace(model.place, [&] { return ApplyLayers(model.layers, context_, inner); });
      const size_t end = context_.graph.variables().size();
      if (!model.weights.empty() && end > first) {
        context_.weights.push_back(
            {model.weights, model.place, first, end, context_.object_prefix});
      }
    }
    AtPlace(model.place, [&] {
      outputs_.last =
          model.outputs.empty() ? given.last : OutputNamed(given, model.outputs.front(), "outputs");
      for (const std::string& output : model.outputs) {
        outputs_.by_name.insert_or_assign(name + ":" + output,
                                          OutputNamed(given, output, "outputs"));
      }
    });
    if (!outputs_.last.valid()) Refuse(model.place, "this model has no layers");
    outputs_.by_name.insert_or_assign(name, outputs_.last);
  }

  std::string NameOfModel(const NestedModel& model) {
    return model.name.empty() ? context_.graph.UniqueLayerName(NestedModel::kType) : model.name;
  }

  // Returns the inputs of a nested model under their names inside.
  [[nodiscard]] NetworkInputs InnerInputs(const Layer& call) const {
    NetworkInputs inner;
    const LayerInputs& names = InputsOf(call);
    if (const auto* const by_argument = std::get_if<ByArgument>(&names)) {
      for (const auto& [argument, name] : *by_argument) {
        inner.named.emplace(argument, ValueOf(name, call));
      }
    } else {
      const std::vector<Value> values = ValuesOf(call);
      for (size_t i = 0; i < values.size(); ++i) {
        inner.named.emplace(values.size() == 1 ? "input" : fmt::format("input_{}", i), values[i]);
      }
    }
    if (inner.named.size() == 1) inner.only = inner.named.begin()->second;
    return inner;
  }

  [[nodiscard]] std::vector<Value> ValuesOf(const Layer& call) const {
    if (NamesNothing(InputsOf(call))) return {ValueBefore(call)};
    std::vector<Value> values;
    for (const std::string& name : InRow(call)) values.push_back(ValueOf(name, call));
    return values;
  }

  [[nodiscard]] Value ValueBefore(const Layer& call) const {
    if (outputs_.last.valid()) return outputs_.last;
    if (inputs_.only.valid()) return inputs_.only;
    std::vector<std::string> names;
    for (const auto& [name, value] : inputs_.named) names.push_back(name);
    Refuse(PlaceOf(call), "there are several inputs, but this layer names none",
           "inputs: NAME, one of " + Join(names, ", "));
  }

  [[nodiscard]] Value ValueOf(const std::string& name, const Layer& call) const {
    if (const auto layer = outputs_.by_name.find(name); layer != outputs_.by_name.end()) {
      return layer->second;
    }
    if (const auto input = inputs_.named.find(name); input != inputs_.named.end()) {
      return input->second;
    }
    if (const Value numbered = ValueNumbered(name); numbered.valid()) return numbered;
    if (name == "input" && inputs_.only.valid()) return inputs_.only;
    const bool is_below = std::any_of(layers_.begin(), layers_.end(), [&](const Layer& layer) {
      return NameOf(layer) == name && &layer != &call;
    });
    const auto nearest = Nearest(name, KnownNames());
    Refuse(PlaceOf(call), fmt::format("no input and no earlier layer is called '{}'", name),
           is_below  ? "the layer comes later: a layer takes only earlier ones"
           : nearest ? fmt::format("did you mean '{}'?", *nearest)
                     : "there are: " + Join(KnownNames(), ", "));
  }

  // Returns the output of the layer that "@12" names: its index in the list, from 0.
  [[nodiscard]] Value ValueNumbered(const std::string& name) const {
    if (!name.starts_with('@')) return {};
    const std::optional<size_t> number = WholeNumber<size_t>(std::string_view(name).substr(1));
    return number && *number < by_number_.size() ? by_number_[*number] : Value();
  }

  [[nodiscard]] std::vector<std::string> KnownNames() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : inputs_.named) names.push_back(name);
    for (const auto& [name, value] : outputs_.by_name) names.push_back(name);
    return names;
  }

  [[nodiscard]] const Layer& LayerNamed(const SharedLayer& shared) const {
    const auto found = by_name_.find(shared.layer);
    if (found != by_name_.end()) return *found->second;
    std::vector<std::string> names;
    for (const auto& [name, layer] : by_name_) {
      if (!name.empty()) names.push_back(name);
    }
    const auto nearest = Nearest(shared.layer, names);
    Refuse(shared.place, fmt::format("no earlier layer is called '{}'", shared.layer),
           nearest ? fmt::format("did you mean '{}'?", *nearest)
                   : "name the layer that is to be used again: {type: ..., name: ...}");
  }

  void CheckName(const Layer& layer) const {
    const std::string& name = NameOf(layer);
    if (name.empty()) return;
    if (outputs_.by_name.contains(name)) {
      Refuse(PlaceOf(layer), fmt::format("two layers are called '{}'", name),
             "{layer: " + name + ", inputs: ...} uses a layer again");
    }
    if (inputs_.named.contains(name)) {
      Refuse(PlaceOf(layer),
             fmt::format("'{}' is the name of an input: choose another name for the layer", name));
    }
  }

  const std::vector<Layer>& layers_;
  LayerContext& context_;
  const NetworkInputs& inputs_;
  NetworkOutputs outputs_;
  std::map<std::string, const Layer*> by_name_;
  std::vector<Value> by_number_;
};

}  // namespace

NetworkOutputs ApplyLayers(const std::vector<Layer>& layers, LayerContext& context,
                           const NetworkInputs& inputs) {
  return Network(layers, context, inputs).Run();
}

void CheckInputShape(const std::vector<int64_t>& shape, const NetworkInputs& inputs) {
  if (shape.empty()) return;
  std::vector<int64_t> wanted = {kUnknownDim};
  for (const int64_t side : shape) wanted.push_back(side < 0 ? kUnknownDim : side);
  for (const auto& [name, value] : inputs.named) {
    if (Compatible(value.shape(), Shape(wanted))) continue;
    throw Error(Code::kUsage,
                fmt::format("the model takes {}, but its input is {}", Shape(wanted).Text(),
                            value.shape().Text()),
                "the input_fn's `map` can resize and reshape");
  }
}

Value OutputNamed(const NetworkOutputs& outputs, const std::string& name, const std::string& what) {
  const auto found = outputs.by_name.find(name);
  if (found != outputs.by_name.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : outputs.by_name) names.push_back(known);
  const auto nearest = Nearest(name, names);
  throw Error(Code::kUsage, fmt::format("{}: no layer is called '{}'", what, name),
              nearest ? fmt::format("did you mean '{}'?", *nearest) : "set a layer's `name`");
}

}  // namespace tpuest::nn
