#include "cli/prepare/migrate/model/products.h"

#include <map>
#include <string_view>

#include "cli/prepare/migrate/graph/nodes.h"
#include "config/scalars.h"

namespace tpuest::cli {
namespace {

bool IsProduct(const SeenNode& node) {
  return node.op == "MatMul" || node.op == "Conv2D" || node.op == "DepthwiseConv2dNative";
}

// Two sides as YAML: "5" or "[5, 3]".
std::string SidesText(int64_t height, int64_t width) {
  return height == width ? fmt::format("{}", height) : fmt::format("[{}, {}]", height, width);
}

class ProductFinder {
 public:
  ProductFinder(const SeenGraph& graph, const BundleReader& variables)
      : graph_(graph), variables_(variables) {}

  std::optional<MigratedProduct> Run(const SeenNode& node) {
    const SeenNode* at = &node;
    if (const char* const activation = ActivationOf(node)) {
      end_ = fmt::format(", activation: {}", activation);
      at = SourceAt(graph_, node, 0);
    }
    if (at == nullptr) return std::nullopt;
    std::optional<std::string> bias;
    if (at->op == "BiasAdd" || at->op == "AddV2" || at->op == "Add") {
      bias = VariableAt(graph_, *at, 1);
      if (bias) at = SourceAt(graph_, *at, 0);
    }
    if (at == nullptr || !IsProduct(*at)) return std::nullopt;
    Find(*at, bias);
    return std::move(found_);
  }

 private:
  void Stop(std::string why) { found_.obstacle = std::move(why); }

  void Find(const SeenNode& node, const std::optional<std::string>& bias) {
    const SeenNode* const before = SourceAt(graph_, node, 0);
    const bool depthwise = node.op == "DepthwiseConv2dNative";
    const bool separable = node.op == "Conv2D" && before != nullptr &&
                           before->op == "DepthwiseConv2dNative" &&
                           VariableAt(graph_, node, 1).value_or("").ends_with("/pointwise_kernel");
    const auto layer = LayerOf(node, separable   ? "pointwise_kernel"
                                     : depthwise ? "depthwise_kernel"
                                                 : "kernel");
    if (!layer) return;
    if (bias && *bias != *layer + "/bias") {
      return Stop(
          fmt::format("{}: its bias is the variable \"{}\", which a layer would call {}/bias",
                      Described(&node), *bias, *layer));
    }
    end_ +=
        fmt::format("{}, name: {}}}", bias ? "" : ", use_bias: false", config::StringText(*layer));
    if (node.op == "MatMul") {
      Dense(node);
    } else if (separable) {
      Separable(node, *before);
    } else {
      Convolution(node, depthwise);
    }
  }

  // The layer whose variable is multiplied by ("dense" of "dense/kernel").
  std::optional<std::string> LayerOf(const SeenNode& node, std::string_view role) {
    const auto variable = VariableAt(graph_, node, 1);
    const std::string ending = fmt::format("/{}", role);
    if (!variable || !variables_.Has(*variable)) {
      Stop(fmt::format("{} uses no variable of the checkpoint", Described(&node)));
      return std::nullopt;
    }
    if (!variable->ends_with(ending)) {
      Stop(fmt::format("{} uses the variable \"{}\", which a layer would call <layer>{}",
                       Described(&node), *variable, ending));
      return std::nullopt;
    }
    const size_t rank = node.op == "MatMul" ? 2 : 4;
    if (variables_.ShapeOf(*variable).rank() != static_cast<int>(rank)) {
      Stop(fmt::format("{} uses the variable \"{}\" {}; a layer's has rank {}", Described(&node),
                       *variable, variables_.ShapeOf(*variable).Text(), rank));
      return std::nullopt;
    }
    return ScopeOf(*variable);
  }

  [[nodiscard]] Shape KernelOf(const SeenNode& node) const {
    return variables_.ShapeOf(VariableAt(graph_, node, 1).value());
  }

  void Dense(const SeenNode& node) {
    for (const char* const flag : {"transpose_a", "transpose_b"}) {
      if (!node.ints.contains(flag) || node.ints.at(flag) == 0) continue;
      return Stop(Described(&node) + " transposes a factor");
    }
    const Shape kernel = KernelOf(node);
    Found(node, kernel.dim(1), fmt::format("dense, units: {}", kernel.dim(1)));
    found_.inputs = kernel.dim(0);
  }

  void Convolution(const SeenNode& node, bool depthwise) {
    const Shape kernel = KernelOf(node);
    const auto sides = SidesOf(node, kernel);
    if (!sides) return;
    if (depthwise) {
      Found(node, kernel.dim(2) * kernel.dim(3),
            fmt::format("depthwise_conv2d, {}, depth_multiplier: {}", *sides, kernel.dim(3)));
    } else {
      Found(node, kernel.dim(3), fmt::format("conv2d, filters: {}, {}", kernel.dim(3), *sides));
    }
  }

  void Separable(const SeenNode& pointwise, const SeenNode& depthwise) {
    const int64_t filters = KernelOf(pointwise).dim(3);
    if (!LayerOf(depthwise, "depthwise_kernel")) return;
    const Shape kernel = KernelOf(depthwise);
    const auto sides = SidesOf(depthwise, kernel);
    if (!sides) return;
    Found(depthwise, filters,
          fmt::format("separable_conv2d, filters: {}, {}, depth_multiplier: {}", filters, *sides,
                      kernel.dim(3)));
  }

  void Found(const SeenNode& first, int64_t outputs, const std::string& text) {
    found_.text = fmt::format("{{type: {}{}", text, end_);
    found_.first = &first;
    found_.outputs = outputs;
  }

  // kernel_size, and the arguments that differ from their defaults.
  std::optional<std::string> SidesOf(const SeenNode& node, const Shape& kernel) {
    const auto strides = AreaOf(node, "strides");
    const auto dilations = AreaOf(node, "dilations");
    const bool explicit_paddings =
        node.strings.contains("padding") && node.strings.at("padding") == "EXPLICIT";
    if (!strides || !dilations || explicit_paddings) {
      Stop(explicit_paddings ? Described(&node) + " has explicit paddings" : ChannelsFirst(node));
      return std::nullopt;
    }
    std::string text = "kernel_size: " + SidesText(kernel.dim(0), kernel.dim(1));
    if (*strides != "1") text += ", strides: " + *strides;
    if (*dilations != "1") text += ", dilation_rate: " + *dilations;
    return text + PaddingOf(node);
  }

  const SeenGraph& graph_;
  const BundleReader& variables_;
  std::string end_;  // end of the layer's text
  MigratedProduct found_;
};

}  // namespace

std::optional<MigratedProduct> FindProduct(const SeenGraph& graph, const BundleReader& variables,
                                           const SeenNode& node) {
  return ProductFinder(graph, variables).Run(node);
}

const char* ActivationOf(const SeenNode& node) {
  static const std::map<std::string_view, const char*> kNames = {
      {"Relu", "relu"},           {"Relu6", "relu6"},       {"Elu", "elu"},
      {"Selu", "selu"},           {"Sigmoid", "sigmoid"},   {"Tanh", "tanh"},
      {"Softmax", "softmax"},     {"Softplus", "softplus"}, {"Softsign", "softsign"},
      {"LeakyRelu", "leaky_relu"}};
  // A job supports only the default slope of tf.nn.leaky_relu.
  constexpr float kSlope = 0.2F;
  const auto slope = node.floats.find("alpha");
  const bool has_slope = slope != node.floats.end() && node.op == "LeakyRelu";
  if (has_slope && static_cast<float>(slope->second[0]) != kSlope) return nullptr;
  const auto found = kNames.find(node.op);
  return found == kNames.end() ? nullptr : found->second;
}

std::optional<std::string> AreaOf(const SeenNode& node, const char* attribute) {
  const auto found = node.int_lists.find(attribute);
  if (found == node.int_lists.end()) return "1";
  const bool channels_last =
      !node.strings.contains("data_format") || node.strings.at("data_format") == "NHWC";
  if (!channels_last || found->second.size() != 4) return std::nullopt;
  return SidesText(found->second[1], found->second[2]);
}

std::string PaddingOf(const SeenNode& node) {
  const auto found = node.strings.find("padding");
  return found != node.strings.end() && found->second == "SAME" ? ", padding: same" : "";
}

std::string ChannelsFirst(const SeenNode& node) {
  return fmt::format("{} has channels first (data_format); layers have channels last",
                     Described(&node));
}

}  // namespace tpuest::cli
