#include "cli/prepare/migrate/model/layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/graph/numbers.h"
#include "cli/prepare/migrate/model/normalization.h"
#include "cli/prepare/migrate/model/products.h"
#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// TensorFlow's number of the dtype, DT_BFLOAT16.
constexpr int64_t kBfloat16 = 14;
const std::map<int64_t, std::string>& DTypeNames() {
  static const std::map<int64_t, std::string> kNames = {
      {1, "float32"}, {2, "float64"}, {3, "int32"}, {4, "uint8"}, {9, "int64"}};
  return kNames;
}

bool IsInput(const SeenNode& node) {
  static const std::set<std::string_view> kOps = {"Placeholder",
                                                  "IteratorGetNext",
                                                  "IteratorGetNextSync",
                                                  "InfeedDequeue",
                                                  "_Arg",
                                                  "InfeedDequeueTuple",
                                                  "ParseExample",
                                                  "ParseExampleV2",
                                                  "ParseSingleExample",
                                                  "DecodeRaw",
                                                  "QueueDequeueV2",
                                                  "QueueDequeueManyV2"};
  return kOps.contains(node.op);
}

std::string ListText(const std::vector<int64_t>& values) {
  std::vector<std::string> words;
  for (const int64_t value : values) words.push_back(fmt::format("{}", value));
  return "[" + Join(words, ", ") + "]";
}

class LayerFinder {
 public:
  LayerFinder(const SeenGraph& graph, const BundleReader& variables)
      : graph_(graph), variables_(variables) {}

  MigratedLayers Run(const SeenNode& end, size_t input) {
    constexpr int kMostLayers = 2000;  // a damaged graph may go in circles
    const SeenNode* at = Next(end, input);
    for (int i = 0; at != nullptr && !IsInput(*at); ++i) {
      if (i == kMostLayers) return Fail("the graph has a cycle");
      at = Layer(*at);
      if (!found_.obstacle.empty()) return std::move(found_);
    }
    if (at == nullptr) return Fail("the input of the first layer is not in the graph");
    AddInput(*at);
    NameDropouts();
    std::reverse(found_.layers.begin(), found_.layers.end());
    if (found_.layers.empty()) return Fail("the graph has no layer between the input and the loss");
    return std::move(found_);
  }

 private:
  MigratedLayers Fail(std::string why) {
    found_.obstacle = std::move(why);
    return std::move(found_);
  }
  const SeenNode* Stop(std::string why) {
    found_.obstacle = std::move(why);
    return nullptr;
  }

  const SeenNode* Next(const SeenNode& node, size_t input) {
    input_text_ = input < node.inputs.size() ? node.inputs[input] : "";
    return SourceAt(graph_, node, input);
  }

  void Add(std::string text) { found_.layers.push_back(std::move(text)); }

  // Adds the layer that ends in this node, and returns the node that it takes its input from.
  const SeenNode* Layer(const SeenNode& node) {
    if (const auto product = FindProduct(graph_, variables_, node)) return Multiplied(*product);
    if (const char* const activation = ActivationOf(node)) {
      Add(fmt::format("{{type: activation, activation: {}}}", activation));
      return Next(node, 0);
    }
    if (node.op == "MaxPool" || node.op == "AvgPool") return Pooling(node);
    if (node.op == "Mean" || node.op == "Max") return GlobalPooling(node);
    if (node.op == "Reshape") return Reshaped(node);
    if (node.op == "Cast") return Cast(node);
    const bool of_logits = found_.layers.empty();
    if (of_logits && (node.op == "Squeeze" || node.op == "ExpandDims")) return Next(node, 0);
    if (const auto normalized = FindNormalization(graph_, node)) return Normalized(*normalized);
    if (const auto dropout = FindDropout(graph_, node)) return Dropped(*dropout);
    return Scaled(node);
  }

  const SeenNode* Multiplied(const MigratedProduct& product) {
    if (!product.obstacle.empty()) return Stop(product.obstacle);
    if (found_.width == 0) found_.width = product.outputs;
    Add(product.text);
    first_width_ = product.inputs;
    return Next(*product.first, 0);
  }

  const SeenNode* Pooling(const SeenNode& node) {
    const auto size = AreaOf(node, "ksize");
    const auto strides = AreaOf(node, "strides");
    if (!size || !strides) return Stop(ChannelsFirst(node));
    Add(fmt::format("{{type: {}, pool_size: {}, strides: {}{}}}",
                    node.op == "MaxPool" ? "max_pooling2d" : "average_pooling2d", *size, *strides,
                    PaddingOf(node)));
    return Next(node, 0);
  }

  const SeenNode* GlobalPooling(const SeenNode& node) {
    const auto axes = graph_.ConstantAt(node, 1);
    const bool of_area =
        axes && axes->elements() == 2 && axes->AsDouble(0) == 1 && axes->AsDouble(1) == 2;
    const bool keeps = node.ints.contains("keep_dims") && node.ints.at("keep_dims") != 0;
    if (!of_area || keeps) return Stop(Described(&node) + " is not global pooling");
    Add(node.op == "Mean" ? "{type: global_average_pooling2d}" : "{type: global_max_pooling2d}");
    return Next(node, 0);
  }

  // Shapes are constants, or packed from the batch's size and constants.
  [[nodiscard]] std::optional<std::vector<int64_t>> ShapeAt(const SeenNode& node) const {
    std::vector<int64_t> dims;
    if (const auto shape = graph_.ConstantAt(node, 1)) {
      for (int64_t i = 1; i < shape->elements(); ++i) {
        dims.push_back(static_cast<int64_t>(shape->AsDouble(i)));
      }
      return dims;
    }
    const SeenNode* const pack = SourceAt(graph_, node, 1);
    if (pack == nullptr || pack->op != "Pack") return std::nullopt;
    for (size_t i = 1; i < pack->inputs.size(); ++i) {
      const auto dim = ScalarAt(graph_, *pack, i);
      if (!dim) return std::nullopt;
      dims.push_back(static_cast<int64_t>(*dim));
    }
    return dims;
  }

  const SeenNode* Reshaped(const SeenNode& node) {
    const auto shape = ShapeAt(node);
    const bool of_logits = found_.layers.empty();
    if (of_logits && (!shape || shape->size() != 1 || shape->at(0) != -1)) return Next(node, 0);
    if (!shape) return Stop(Described(&node) + " has a shape that is not constant");
    const std::string layer = ScopeOf(node.name);
    const std::string word = layer.substr(layer.rfind('/') + 1);
    if (shape->size() == 1 && (word.starts_with("flatten") || shape->at(0) == -1)) {
      Add("{type: flatten}");
    } else {
      Add(fmt::format("{{type: reshape, shape: {}}}", ListText(*shape)));
      int64_t size = 1;
      for (const int64_t dim : *shape) size *= dim;
      first_width_ = size;
    }
    return Next(node, 0);
  }

  const SeenNode* Cast(const SeenNode& node) {
    const auto number = [&](const char* attribute) {
      return node.ints.contains(attribute) ? node.ints.at(attribute) : 0;
    };
    if (number("DstT") == kBfloat16) found_.bfloat16 = true;
    cast_from_ = number("SrcT");
    return Next(node, 0);
  }

  const SeenNode* Normalized(const MigratedNormalization& normalized) {
    if (!normalized.obstacle.empty()) return Stop(normalized.obstacle);
    Add(normalized.text);
    if (!normalized.unknown.empty()) found_.unknown.push_back(normalized.unknown);
    return Next(*normalized.first, normalized.input);
  }

  const SeenNode* Dropped(const MigratedDropout& dropout) {
    if (!dropout.rate) found_.unknown.push_back("the rate of " + dropout.layer);
    dropouts_.emplace_back(found_.layers.size(), dropout);
    Add("");
    return Next(*dropout.first, dropout.input);
  }

  // Writes the texts of the dropouts; dropout, dropout_1, ... are default names, which are omitted.
  void NameDropouts() {
    size_t count = 0;
    for (auto entry = dropouts_.rbegin(); entry != dropouts_.rend(); ++entry, ++count) {
      const auto& [index, dropout] = *entry;
      const std::string standard = count == 0 ? "dropout" : fmt::format("dropout_{}", count);
      const std::string name =
          dropout.layer == standard ? "" : ", name: " + config::StringText(dropout.layer);
      found_.layers[index] =
          fmt::format("{{type: dropout, rate: {}{}}}",
                      NumberText(static_cast<float>(dropout.rate.value_or(0.5))), name);
    }
  }

  // Takes the input times a constant, or plus one; the output of a layer is no such input.
  const SeenNode* Scaled(const SeenNode& node) {
    for (const size_t other : {1, 0}) {
      const auto number = ScalarAt(graph_, node, other);
      const bool scales = node.op == "Mul" || (node.op == "RealDiv" && other == 1);
      const bool moves = IsSum(node) || (node.op == "Sub" && other == 1);
      if (!number || (!scales && !moves)) continue;
      scaled_by_ = Described(&node);
      layers_when_scaled_ = found_.layers.size();
      const double factor = node.op == "RealDiv" ? 1 / *number : *number;
      if (scales) {
        found_.input.scale *= factor;
      } else {
        found_.input.offset += found_.input.scale * (node.op == "Sub" ? -*number : *number);
      }
      return Next(node, 1 - other);
    }
    return Stop(Described(&node) + " is not a layer of a job");
  }

  void AddInput(const SeenNode& node) {
    if (!scaled_by_.empty() && !IsBeforeLayers()) {
      Stop(scaled_by_ + " is not a layer of a job");
      return;
    }
    MigratedInput& input = found_.input;
    input.tensor = input_text_;
    if (cast_from_ != 0 && DTypeNames().contains(cast_from_)) {
      input.dtype = DTypeNames().at(cast_from_);
    }
    const size_t output = OutputOf(input_text_);
    for (const char* const attribute : {"output_shapes", "shapes", "shape", "_output_shapes"}) {
      const auto found = node.shapes.find(attribute);
      if (found == node.shapes.end() || output >= found->second.size()) continue;
      TakeShape(found->second[output]);
      if (input.shape_known) return;
    }
    if (first_width_ > 0) {
      input.shape = {first_width_};
      input.shape_known = true;
    }
  }

  void TakeShape(const Shape& shape) {
    if (!shape.known_rank() || shape.rank() == 0) return;
    MigratedInput& input = found_.input;
    input.batch_size = std::max<int64_t>(0, shape.dim(0));
    input.shape.assign(shape.dims().begin() + 1, shape.dims().end());
    input.shape_known =
        std::all_of(input.shape.begin(), input.shape.end(), [](int64_t dim) { return dim > 0; });
    if (!input.shape_known) input.shape.clear();
  }

  // Returns true if only layers that change the shape precede the scaling.
  [[nodiscard]] bool IsBeforeLayers() const {
    return std::all_of(found_.layers.begin() + static_cast<ptrdiff_t>(layers_when_scaled_),
                       found_.layers.end(), [](const std::string& layer) {
                         return layer.starts_with("{type: reshape") ||
                                layer.starts_with("{type: flatten");
                       });
  }

  const SeenGraph& graph_;
  const BundleReader& variables_;
  MigratedLayers found_;  // layers are in reverse order while they are found
  std::vector<std::pair<size_t, MigratedDropout>> dropouts_;
  std::string input_text_;   // the tensor that was looked at last
  int64_t cast_from_ = 0;    // dtype that the cast took that was met last
  int64_t first_width_ = 0;  // width that the layer takes that was met last, if it tells
  std::string scaled_by_;
  size_t layers_when_scaled_ = 0;
};

}  // namespace

MigratedLayers FindLayers(const SeenGraph& graph, const BundleReader& variables,
                          const SeenNode& end, size_t input) {
  return LayerFinder(graph, variables).Run(end, input);
}

}  // namespace tpuest::cli
