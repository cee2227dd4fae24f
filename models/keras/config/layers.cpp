#include "models/keras/config/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "config/reflect.h"
#include "core/nn/layers/layers.h"

namespace tpuest {
namespace {

// A class that Keras called otherwise before, or that is a case of another.
struct OtherName {
  std::string_view keras;
  std::string_view name;
};
constexpr std::array kOtherNames = {OtherName{"Convolution2D", "Conv2D"},
                                    OtherName{"SeparableConvolution2D", "SeparableConv2D"},
                                    OtherName{"BatchNormalizationV1", "BatchNormalization"},
                                    OtherName{"BatchNormalizationV2", "BatchNormalization"},
                                    OtherName{"SyncBatchNormalization", "BatchNormalization"}};

// Layers of a job that are no layers of Keras' configurations: operations and code there.
constexpr std::array<std::string_view, 4> kJobLayers = {"Reverse", "DotInteraction", "Lambda",
                                                        "Functional"};

// Values that adapt() has learned from data, or that the user has given; they are required.
constexpr std::array<std::string_view, 2> kLearned = {"vocabulary", "bin_boundaries"};

// Keys of one class that say nothing beside what it has learned.
struct BesideLearned {
  std::string_view name;
  std::array<std::string_view, 3> keys;
};
constexpr std::array kBesideLearned = {
    BesideLearned{"StringLookup", {"vocabulary_size", "vocabulary_dtype", "encoding"}},
    BesideLearned{"IntegerLookup", {"vocabulary_size", "vocabulary_dtype", ""}},
    BesideLearned{"Discretization", {"num_bins", "epsilon", ""}}};

// Keys that say nothing about what a layer computes here, or that are looked at by themselves.
const std::set<std::string, std::less<>> kPassedOver = {"name",
                                                        "trainable",
                                                        "dtype",
                                                        "batch_input_shape",
                                                        "batch_shape",
                                                        "data_format",
                                                        "input_dtype",
                                                        "dynamic",
                                                        "fused",
                                                        "input_shape",
                                                        "input_length",
                                                        "autocast",
                                                        "groups",
                                                        "sparse",
                                                        "ragged",
                                                        "supports_masking",
                                                        "adjustment",
                                                        "quantization_config",
                                                        "renorm_clipping",
                                                        "renorm_momentum",
                                                        "projection_dim",
                                                        "kernel_initializer"};

template <class List, class Item>
bool IsIn(const List& list, const Item& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Returns the job's layer for a Keras class, or nullptr. Its first alias is the class.
const config::Type* FindLayer(std::string_view class_name) {
  for (const OtherName& other : kOtherNames) {
    if (other.keras == class_name) class_name = other.name;
  }
  if (IsIn(kJobLayers, class_name)) return nullptr;
  for (const config::Type* const layer : config::TypeOf<nn::Layer>()->alternatives) {
    if (!layer->aliases.empty() && layer->aliases.front() == class_name) return layer;
  }
  return nullptr;
}

[[noreturn]] void RefuseClass(const std::string& name) {
  static const std::set<std::string, std::less<>> kRecurrent = {
      "LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM2D", "CuDNNLSTM", "CuDNNGRU"};
  if (name == "Lambda")
    RefuseKeras("a Lambda layer contains Python code", std::string(kKerasWayOut));
  if (kRecurrent.contains(name)) {
    RefuseKeras(fmt::format("recurrent layers ({}) are not supported", name),
                std::string(kKerasWayOut));
  }
  RefuseKeras(fmt::format("Unknown layer: '{}'.", name), std::string(kKerasWayOut));
}

KerasJson Lower(const KerasJson& value) {
  if (!value.is_string()) return value;
  std::string text = value.get<std::string>();
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

// Converts a shape with its batch, or with null for unknown sizes, to the job's form with -1.
KerasJson ShapeOfExample(const KerasJson& value) {
  KerasJson shape = KerasJson::array();
  for (const KerasJson& side : value) shape.push_back(side.is_null() ? KerasJson(-1) : side);
  return shape;
}

// True for a type of one integer, or several: [3, 3] is 3 there.
bool IsOneOrSeveral(const config::Type& type) {
  using Kind = config::Type::Kind;
  if (type.kind == Kind::kOptional) return IsOneOrSeveral(*type.item);
  const auto is_integers = [](const config::Type* one) {
    return one->kind == Kind::kList && one->item->kind == Kind::kInteger;
  };
  return type.kind == Kind::kVariant && type.alternatives.front()->kind == Kind::kInteger &&
         std::any_of(type.alternatives.begin(), type.alternatives.end(), is_integers);
}

// The job's value of an argument of a layer; null: it is left out.
KerasJson ArgumentOf(const config::Member& argument, const KerasJson& given) {
  const config::Type* const type = argument.value.type;
  if (type == config::TypeOf<nn::Initializer>()) return InitializerOf(given);
  if (type == config::TypeOf<nn::Regularizer>()) return RegularizerOf(given);
  if (type == config::TypeOf<nn::Constraint>()) return ConstraintOf(given);
  if (argument.name == "padding") return OneOfEqual(Lower(given));
  if (argument.name == "target_shape") return ShapeOfExample(given);
  if (argument.name == "output_mode") {
    return given == "binary" ? KerasJson("multi_hot") : given == "tf-idf" ? "tf_idf" : given;
  }
  const KerasJson value = ShortNumbers(given);
  return IsOneOrSeveral(*type) ? OneOfEqual(value) : value;
}

void CheckLayerOptions(const KerasJson& config) {
  if (WordOf(config, "data_format") == "channels_first") {
    RefuseKeras("data_format is channels_first",
                "save the model with channels last: tf.keras.backend.set_image_data_format");
  }
  const std::string policy = PolicyOf(MemberOf(config, "dtype"));
  if (policy == "float16" || policy == "mixed_float16" || policy == "float64") {
    RefuseKeras(fmt::format("its dtype is {}", policy),
                "use float32, or mixed_bfloat16, which becomes the job's precision: bfloat16");
  }
  if (!MemberOf(config, "lora_rank").is_null()) {
    RefuseKeras("it has a LoRA (lora_rank)", "save the model with the adapters merged");
  }
  const bool is_quantized =
      WordOf(MemberOf(config, "dtype"), "class_name").starts_with("Quantized");
  if (is_quantized) RefuseKeras("it is quantized", "save the model before quantization");
  if (MemberOf(config, "mask_zero") == true) {
    RefuseKeras("it masks zeros (mask_zero)", "mask_zero=False");
  }
}

// Keys with a value that means something and that the layer does not have.
void CheckUnknownKeys(const config::Type& layer, const KerasJson& config) {
  const auto is_argument = [&layer](const std::string& key) {
    const auto& members = config::TypeMembersOf(layer);
    return std::any_of(members.begin(), members.end(),
                       [&key](const config::TypeMember& member) { return member.name == key; });
  };
  const auto is_beside = [&layer](const std::string& key) {
    return std::any_of(kBesideLearned.begin(), kBesideLearned.end(),
                       [&](const BesideLearned& beside) {
                         return beside.name == layer.aliases.front() && IsIn(beside.keys, key);
                       });
  };
  for (const auto& [key, value] : config.items()) {
    if (kPassedOver.contains(key) || key == "lora_alpha") continue;
    const bool says_nothing =
        OneOfEqual(value) == 1 || value.is_null() || value == false || value == 0 || value == 0.0;
    const bool is_usual = key == "value_range" && value == KerasJson({0, 255});
    if (is_argument(key) || is_beside(key) || says_nothing || is_usual) continue;
    if (key == "activity_regularizer") {
      if (RegularizerOf(value).is_null()) continue;
      RefuseKeras("it has an activity_regularizer", "put an ActivityRegularization layer after it");
    }
    RefuseKeras(fmt::format("its '{}' is not supported: {}", key, value.dump()));
  }
}

void CheckStatistics(const KerasJson& config) {
  const KerasJson axis = Unwrapped(MemberOf(config, "axis"));
  if (axis.is_array() && axis.size() > 1) {
    RefuseKeras(fmt::format("its axis is {}", axis.dump()), "statistics of one axis");
  }
  if (MemberOf(config, "renorm") == true) RefuseKeras("it renormalizes (renorm)");
}

// Adds the arguments of a layer that `config` says and that are other than the layer's defaults.
// Returns its activation; "" where it has none.
std::string AddArguments(const config::Type& layer, const KerasJson& config, KerasJson& section) {
  std::string activation;
  const config::Fresh usual = layer.make();
  for (const config::Member& argument : config::MembersOf({&layer, usual.get()})) {
    const std::string key(argument.name);
    if (argument.field.tpuest || key == "name" || key == "inputs" || key == "trainable") continue;
    const KerasJson given = Unwrapped(MemberOf(config, key));
    const KerasJson otherwise = JsonOf(argument.value);
    if (given.is_null()) {
      if (IsIn(kLearned, key)) {
        RefuseKeras(
            fmt::format("its {} is not in the file", key),
            "model.save('NAME.keras') includes what the layer has learned from data (adapt)");
      }
      const bool can_be_null = argument.value.type->kind == config::Type::Kind::kOptional;
      if (config.contains(key) && can_be_null && !otherwise.is_null()) section[key] = nullptr;
      continue;
    }
    if (key == "activation") {
      activation = FunctionNameOf(given, "activation");
      continue;
    }
    KerasJson value = ArgumentOf(argument, given);
    if (value.is_null() || (!argument.field.required && value == otherwise)) continue;
    // Keras also accepts the path of a vocabulary instead of its entries.
    const bool is_path = key == "vocabulary" && value.is_string();
    section[is_path ? "vocabulary_file" : key] = std::move(value);
  }
  return activation;
}

}  // namespace

KerasLayerSections KerasLayerOf(const std::string& class_name, const KerasJson& given,
                                bool is_keras3) {
  const config::Type* const layer = FindLayer(class_name);
  if (layer == nullptr) RefuseClass(class_name);
  const std::string_view type = layer->aliases.front();
  KerasJson config = given;
  if (type == "LeakyReLU" && config.contains("negative_slope")) {
    const KerasJson alpha = config["negative_slope"];  // Keras 3's name of it
    config.erase("negative_slope");
    config["alpha"] = alpha;
  }
  CheckLayerOptions(config);
  CheckUnknownKeys(*layer, config);
  if (type == "BatchNormalization") CheckStatistics(config);
  const std::string name = WordOf(config, "name");
  KerasJson section = {{"type", type}, {"name", name}};
  const std::string activation = AddArguments(*layer, config, section);
  const auto& members = config::TypeMembersOf(*layer);
  const bool has_variables =
      std::any_of(members.begin(), members.end(),
                  [](const config::TypeMember& member) { return member.name == "trainable"; });
  if (has_variables && MemberOf(config, "trainable") == false) section["trainable"] = false;
  if (class_name == "SyncBatchNormalization") section["synchronized"] = true;
  if (type == "Activation") return ActivationSections(activation, name, is_keras3);
  if (activation.empty() || activation == "linear") return {section};
  const bool is_jobs = IsJobActivation(activation) || (activation == "hard_sigmoid" && !is_keras3);
  if (is_jobs) {
    section["activation"] = activation;
    return {section};
  }
  // The penalty is on what the activation gives.
  const KerasJson penalty = MemberOf(section, "activity_regularizer");
  section.erase("activity_regularizer");
  KerasLayerSections sections = {section};
  for (KerasJson& part : ActivationSections(activation, name + "/" + activation, is_keras3)) {
    sections.push_back(std::move(part));
  }
  if (!penalty.is_null()) {
    KerasJson last = {{"type", "ActivityRegularization"}};
    for (const char* const factor : {"l1", "l2"}) {
      if (penalty.contains(factor)) last[factor] = penalty[factor];
    }
    last["name"] = name + "/activity_regularizer";
    sections.push_back(std::move(last));
  }
  return sections;
}

bool IsKerasModel(std::string_view class_name) {
  return class_name == "Functional" || class_name == "Sequential" || class_name == "Model";
}

}  // namespace tpuest
