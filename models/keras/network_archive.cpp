// Writes a model as Keras 2.12 to 2.15 do, in a form that Keras 3 also reads: class Model of module
// keras, whose from_config makes a Functional of layers with nodes; InputLayers by
// batch_input_shape; nodes as lists [[layer, call, 0, {arguments}], ...], one list per call.

#include "models/keras/network_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "models/keras/layer_arguments.h"

namespace tpuest {
namespace {

// The result of a call of a layer.
struct Call {
  size_t layer = 0;  // its number among the layers that are written
  int number = 0;    // of the call, from 0
};

struct WrittenLayer {
  std::string class_name;
  std::string name;
  KerasJson config;
  KerasJson nodes = KerasJson::array();
  std::vector<std::vector<Call>> calls;  // what each takes
  std::vector<Tensor> values;
};

// The layers that lead to outputs in the order of model.layers: the deepest first, where the depth
// of a call is the longest way from it to an output; of one depth in the order in which they are
// met on the ways from the outputs. It numbers the objects of an archive.
class KerasOrder {
 public:
  explicit KerasOrder(const std::vector<WrittenLayer>& layers) : layers_(layers) {}

  [[nodiscard]] std::vector<size_t> From(const std::vector<Call>& outputs) {
    for (const Call& output : outputs) Meet(output);
    std::map<Key, int> depths;
    std::map<size_t, int> layer_depths;
    for (size_t i = done_.size(); i-- > 0;) {
      const Key& call = done_[i];
      const int depth = std::max(depths[call], layer_depths[call.first]);
      layer_depths[call.first] = depth;
      depths[call] = depth;
      for (const Call& argument : InputsOf(call)) {
        int& before = depths[{argument.layer, argument.number}];
        before = std::max(before, depth + 1);
      }
    }
    std::vector<size_t> order;
    for (const auto& [layer, depth] : layer_depths) order.push_back(layer);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(-layer_depths[a], met_[a]) < std::pair(-layer_depths[b], met_[b]);
    });
    return order;
  }

 private:
  using Key = std::pair<size_t, int>;  // of a call

  [[nodiscard]] std::vector<Call> InputsOf(const Key& call) const {
    const std::vector<std::vector<Call>>& calls = layers_[call.first].calls;
    return calls.empty() ? std::vector<Call>() : calls[static_cast<size_t>(call.second)];
  }

  void Meet(const Call& call) {
    const Key key{call.layer, call.number};
    if (!begun_.insert(key).second) return;
    met_.emplace(call.layer, met_.size());
    for (const Call& argument : InputsOf(key)) Meet(argument);
    done_.push_back(key);
  }

  const std::vector<WrittenLayer>& layers_;
  std::set<Key> begun_;
  std::map<size_t, size_t> met_;
  std::vector<Key> done_;  // each behind all that it takes
};

using Named = std::map<std::string, Call, std::less<>>;

// The state of layers around, which those of a model that is a layer inherit.
struct Surroundings {
  bool trainable = true;
  bool training = true;
  std::string prefix;  // of names
};

struct ListResult {
  Named by_name;
  Call last;
};

class NetworkWriter {
 public:
  explicit NetworkWriter(const KerasNetwork& network) : network_(network) {}

  KerasArchive Write() {
    Named inputs;
    for (const KerasNetworkInput& input : network_.inputs) {
      inputs.emplace(input.name, Call{AddInput(input), 0});
    }
    const ListResult given = WriteList(network_.layers, inputs, Surroundings());
    std::vector<Call> outputs;
    for (const std::string& name : network_.outputs) outputs.push_back(OutputOf(given, name));
    if (outputs.empty()) outputs.push_back(given.last);
    return Archive(outputs);
  }

 private:
  static Call OutputOf(const ListResult& given, const std::string& name) {
    if (const auto found = given.by_name.find(name); found != given.by_name.end()) {
      return found->second;
    }
    std::vector<std::string> names;
    for (const auto& [known, call] : given.by_name) names.push_back(known);
    const auto nearest = Nearest(name, names);
    throw Error(Code::kUsage, fmt::format("no layer of the model is called '{}'", name),
                nearest ? fmt::format("did you mean '{}'?", *nearest)
                        : "tpuest plan lists the layers by name");
  }

  size_t AddInput(const KerasNetworkInput& input) {
    KerasJson shape = KerasJson::array({nullptr});
    for (const int64_t size : input.shape.dims()) {
      shape.push_back(size < 0 ? KerasJson() : KerasJson(size));
    }
    // Keras computes in float32; values that it looks up keep their dtype.
    const bool is_looked_up = input.dtype == DType::kString || input.dtype == DType::kInt32 ||
                              input.dtype == DType::kInt64;
    return Add("InputLayer", KerasLayerName(input.name),
               {{"batch_input_shape", shape},
                {"dtype", is_looked_up ? NameOf(input.dtype) : "float32"},
                {"sparse", false}});
  }

  size_t Add(std::string class_name, const std::string& name, KerasJson config) {
    config["name"] = name;
    names_.insert(name);
    written_.push_back({.class_name = std::move(class_name), .name = name, .config = config});
    return written_.size() - 1;
  }

  // A list of layers, as nn::ApplyLayers walks it.
  ListResult WriteList(const std::vector<nn::Layer>& layers, const Named& inputs,
                       const Surroundings& around) {
    ListResult result;
    std::vector<Call> by_number;
    std::map<std::string, const nn::Layer*, std::less<>> given;
    std::optional<Call> last;
    const auto find = [&](const std::string& name) {
      if (const auto found = result.by_name.find(name); found != result.by_name.end()) {
        return found->second;
      }
      if (const auto found = inputs.find(name); found != inputs.end()) return found->second;
      size_t number = 0;
      if (name.starts_with('@') &&
          std::from_chars(name.data() + 1, name.data() + name.size(), number).ec == std::errc() &&
          number < by_number.size()) {
        return by_number[number];
      }
      Check(name == "input" && inputs.size() == 1, "no layer and no input is called '{}'", name);
      return inputs.begin()->second;
    };
    for (const nn::Layer& layer : layers) {
      const std::string own_name =
          std::visit([](const auto& l) -> std::string { return l.name; }, layer);
      const nn::Layer* callee = &layer;
      while (const auto* const shared = std::get_if<nn::SharedLayer>(callee)) {
        callee = given.at(shared->layer);
      }
      Named by_argument;
      std::vector<Call> arguments = Arguments(layer, find, by_argument);
      if (arguments.empty()) arguments.push_back(last ? *last : inputs.begin()->second);
      if (const auto* const model = std::get_if<nn::NestedModel>(callee)) {
        last = WriteModel(*model, own_name, arguments, by_argument, around, result);
      } else {
        last = WriteCall(*callee, arguments, around);
        if (!own_name.empty() || callee == &layer) {
          result.by_name.insert_or_assign(own_name.empty() ? graph_name_ : own_name, *last);
        }
      }
      if (!own_name.empty()) given.emplace(own_name, &layer);
      by_number.push_back(*last);
    }
    result.last = *last;
    return result;
  }

  template <class Find>
  static std::vector<Call> Arguments(const nn::Layer& layer, const Find& find, Named& by_argument) {
    const nn::LayerInputs inputs =
        std::visit([](const auto& l) -> nn::LayerInputs { return l.inputs; }, layer);
    std::vector<Call> calls;
    if (const auto* const name = std::get_if<std::string>(&inputs)) {
      if (!name->empty()) calls.push_back(find(*name));
    } else if (const auto* const names = std::get_if<std::vector<std::string>>(&inputs)) {
      for (const std::string& each : *names) calls.push_back(find(each));
    } else {
      // In the order of the letters, which is that of Dot's x and y.
      for (const auto& [argument, name] : std::get<std::map<std::string, std::string>>(inputs)) {
        calls.push_back(find(name));
        by_argument.emplace(argument, calls.back());
      }
    }
    return calls;
  }

  Call WriteModel(const nn::NestedModel& model, const std::string& name,
                  const std::vector<Call>& arguments, Named inner, const Surroundings& around,
                  ListResult& result) {
    if (inner.empty()) {
      for (size_t i = 0; i < arguments.size(); ++i) {
        inner.emplace(arguments.size() == 1 ? "input" : fmt::format("input_{}", i), arguments[i]);
      }
    }
    const std::string called = name.empty() ? "functional" : name;
    const ListResult given = WriteList(model.layers, inner,
                                       {.trainable = around.trainable && model.trainable,
                                        .training = around.training && model.training,
                                        .prefix = around.prefix + called + "_"});
    Call last = model.outputs.empty() ? given.last : given.by_name.at(model.outputs.front());
    for (const std::string& output : model.outputs) {
      result.by_name.insert_or_assign(called + ":" + output, given.by_name.at(output));
    }
    result.by_name.insert_or_assign(called, last);
    return last;
  }

  // The graph has a layer for each call, in their order.
  Call WriteCall(const nn::Layer& layer, const std::vector<Call>& arguments,
                 const Surroundings& around) {
    const GraphLayer& built = network_.graph.layers().at(next_layer_++);
    graph_name_ = built.name;
    const auto [known, is_new] = numbers_.emplace(&layer, written_.size());
    if (is_new) AddLayer(layer, built, around);
    WrittenLayer& written = written_[known->second];
    KerasJson node = KerasJson::array();
    for (const Call& argument : arguments) {
      used_.insert(argument.layer);
      KerasJson input = Reference(argument);
      // In inference mode always, whatever fit() says.
      const bool rests = !around.training && written.class_name == "BatchNormalization";
      input.push_back(rests ? KerasJson({{"training", false}}) : KerasJson::object());
      node.push_back(input);
    }
    written.nodes.push_back(node);
    written.calls.push_back(arguments);
    return {known->second, static_cast<int>(written.nodes.size()) - 1};
  }

  void AddLayer(const nn::Layer& layer, const GraphLayer& built, const Surroundings& around) {
    KerasLayerConfig found = KerasConfigOf(layer);
    if (!around.trainable && found.config.contains("trainable")) found.config["trainable"] = false;
    std::string name = KerasLayerName(built.name);
    if (names_.contains(name)) name = KerasLayerName(around.prefix) + name;
    for (int i = 1; names_.contains(name); ++i) {
      name = fmt::format("{}_{}", KerasLayerName(built.name), i);
    }
    const size_t number = Add(std::move(found.class_name), name, std::move(found.config));
    for (const auto& variable : network_.graph.variables()) {
      const int node = variable->handle.node->id();
      if (node < built.first_node || node >= built.end_node) continue;
      written_[number].values.push_back(network_.variables.at(variable->name));
    }
  }

  [[nodiscard]] KerasJson Reference(const Call& call) const {
    return KerasJson::array({written_[call.layer].name, call.number, 0});
  }

  [[nodiscard]] KerasJson LayerJson(const WrittenLayer& layer) const {
    return {{"module", "keras.layers"}, {"class_name", layer.class_name},
            {"config", layer.config},   {"registered_name", nullptr},
            {"name", layer.name},       {"inbound_nodes", layer.nodes}};
  }

  [[nodiscard]] KerasArchive Archive(const std::vector<Call>& results) const {
    KerasArchive archive;
    KerasJson layers = KerasJson::array();
    KerasJson inputs = KerasJson::array();
    KerasJson outputs = KerasJson::array();
    for (const Call& result : results) outputs.push_back(Reference(result));
    std::map<std::string, int> of_class;
    std::set<size_t> known;
    for (const size_t i : KerasOrder(written_).From(results)) {
      const WrittenLayer& layer = written_[i];
      known.insert(i);
      layers.push_back(LayerJson(layer));
      if (layer.class_name == "InputLayer") {
        inputs.push_back(KerasJson::array({layer.name, 0, 0}));
      }
      const std::string snake = KerasSnakeCase(layer.class_name);
      const int number = of_class[snake]++;
      archive.objects.push_back(
          {.path = number == 0 ? "layers/" + snake : fmt::format("layers/{}_{}", snake, number),
           .values = layer.values});
    }
    // Layers that lead to no output are not part of the model, but calls of its layers may use
    // them.
    for (size_t i = 0; i < written_.size(); ++i) {
      if (known.contains(i) || (written_[i].calls.empty() && !used_.contains(i))) continue;
      layers.push_back(LayerJson(written_[i]));
      if (written_[i].calls.empty()) inputs.push_back(KerasJson::array({written_[i].name, 0, 0}));
    }
    archive.config = {{"module", "keras"},
                      {"class_name", "Model"},
                      {"config",
                       {{"name", network_.name},
                        {"trainable", true},
                        {"layers", layers},
                        {"input_layers", inputs},
                        {"output_layers", outputs}}},
                      {"registered_name", nullptr}};
    if (!network_.compile.is_null()) archive.config["compile_config"] = network_.compile;
    return archive;
  }

  const KerasNetwork& network_;
  std::vector<WrittenLayer> written_;
  std::map<const nn::Layer*, size_t> numbers_;
  std::set<size_t> used_;  // numbers of layers that others take
  std::set<std::string> names_;
  std::string graph_name_;  // of the layer that was called last
  size_t next_layer_ = 0;
};

}  // namespace

std::string KerasLayerName(std::string name) {
  for (char& c : name) c = c == '/' || c == ':' ? '_' : c;
  return name;
}

KerasArchive KerasArchiveOf(const KerasNetwork& network) { return NetworkWriter(network).Write(); }

}  // namespace tpuest
