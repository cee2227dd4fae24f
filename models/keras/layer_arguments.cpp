#include "models/keras/layer_arguments.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/whole_number.h"
#include "core/nn/job_place.h"
#include "core/nn/vocabulary_file.h"

namespace tpuest {
namespace {

// A value as JSON; structs that Keras has a class for as that class and its arguments.
template <class T>
KerasJson JsonOf(T& value);
template <class T>
KerasJson JsonOf(std::optional<T>& value);
template <class T>
KerasJson JsonOf(std::vector<T>& values);
template <class... Ts>
KerasJson JsonOf(std::variant<Ts...>& value);

// Writes the arguments that a struct visits, without its inputs, its initial values, and arguments
// that Keras lacks.
class ConfigWriter {
 public:
  template <class T>
  void operator()(std::string_view key, T& value, const Field& field) {
    if (!field.tpuest) config_[std::string(key)] = JsonOf(value);
  }
  void operator()(std::string_view /*key*/, nn::LayerInputs& /*value*/, const Field& /*field*/) {}
  void operator()(std::string_view /*key*/, nn::Initializer& /*value*/, const Field& /*field*/) {}
  [[nodiscard]] KerasJson Take() { return std::move(config_); }

 private:
  KerasJson config_ = KerasJson::object();
};

template <class T>
KerasJson JsonOf(T& value) {
  if constexpr (requires(ConfigWriter & writer) { value.Visit(writer); }) {
    ConfigWriter writer;
    value.Visit(writer);
    std::string_view module = "keras.regularizers";
    if constexpr (requires { T::kKerasModule; }) module = T::kKerasModule;
    return {{"module", module},
            {"class_name", std::string(std::begin(T::kAliases)[0])},
            {"config", writer.Take()},
            {"registered_name", nullptr}};
  } else {
    return value;
  }
}
template <class T>
KerasJson JsonOf(std::optional<T>& value) {
  return value ? JsonOf(*value) : KerasJson();
}
template <class T>
KerasJson JsonOf(std::vector<T>& values) {
  KerasJson list = KerasJson::array();
  for (T& value : values) list.push_back(JsonOf(value));
  return list;
}
template <class... Ts>
KerasJson JsonOf(std::variant<Ts...>& value) {
  return std::visit([](auto& alternative) { return JsonOf(alternative); }, value);
}

[[noreturn]] void RefuseLayer(const Place& place, std::string_view type, std::string_view why) {
  throw Error(Code::kUsage, fmt::format("{}: {}", type, why),
              "tpuest export without --format keras writes any model as a SavedModel")
      .At(place);
}

// Keras keeps the entries of a vocabulary, not its file.
template <class Lookup>
Lookup WithEntries(Lookup lookup) {
  if (lookup.vocabulary_file.empty()) return lookup;
  for (const std::string& line : nn::VocabularyLines(lookup.vocabulary_file)) {
    if constexpr (std::is_same_v<Lookup, nn::StringLookup>) {
      lookup.vocabulary.push_back(line);
    } else {
      const auto number = WholeNumber<int64_t>(line);
      if (!number) {
        RefuseLayer(lookup.place, Lookup::kType,
                    fmt::format("'{}' of {} is not an integer", line, lookup.vocabulary_file));
      }
      lookup.vocabulary.push_back(*number);
    }
  }
  return lookup;
}

}  // namespace

KerasLayerConfig KerasConfigOf(const nn::Layer& layer) {
  return std::visit(
      [](auto copy) -> KerasLayerConfig {
        using T = decltype(copy);
        if constexpr (std::is_same_v<T, nn::SharedLayer> || std::is_same_v<T, nn::NestedModel>) {
          RefuseLayer(copy.place, "layer", "Keras has no such layer");
        } else if constexpr (std::is_same_v<T, nn::Lambda>) {
          RefuseLayer(copy.place, T::kType, "Keras stores such a layer as Python code");
        } else if constexpr (!requires { T::kAliases; } || std::is_same_v<T, nn::Reverse> ||
                             std::is_same_v<T, nn::DotInteraction>) {
          RefuseLayer(copy.place, T::kType, "Keras has no such layer");
        } else {
          if constexpr (std::is_same_v<T, nn::LayerScale> ||
                        std::is_same_v<T, nn::StochasticDepth>) {
            RefuseLayer(copy.place, T::kType, "it belongs to tf.keras.applications, not to Keras");
          }
          if constexpr (std::is_same_v<T, nn::ThresholdedReLU>) {
            RefuseLayer(copy.place, T::kType, "Keras 3 has no such layer");
          }
          if constexpr (std::is_same_v<T, nn::Embedding>) {
            if (!copy.combiner.empty()) {
              RefuseLayer(copy.place, T::kType, "Keras' Embedding has no combiner");
            }
          }
          if constexpr (std::is_same_v<T, nn::Discretization>) {
            if (copy.output_mode != "int") {
              RefuseLayer(
                  copy.place, T::kType,
                  "Keras 3 returns rows of one element for output_mode " + copy.output_mode);
            }
          }
          if constexpr (requires { copy.idf_weights; }) {
            if (copy.output_mode == "tf_idf") {
              RefuseLayer(copy.place, T::kType,
                          "the weights of output_mode tf_idf cannot be written");
            }
            copy = WithEntries(copy);
          }
          ConfigWriter writer;
          copy.Visit(writer);
          KerasLayerConfig found{.class_name = std::string(std::begin(T::kAliases)[0]),
                                 .config = writer.Take()};
          KerasJson& config = found.config;
          config.erase("name");
          if (config.contains("activation") && config["activation"] == "hard_sigmoid") {
            RefuseLayer(copy.place, T::kType, "hard_sigmoid is a different function in Keras 3");
          }
          if (config.contains("padding") && config["padding"].is_string()) {
            auto padding = config["padding"].template get<std::string>();
            std::transform(padding.begin(), padding.end(), padding.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
            config["padding"] = padding;
          }
          if constexpr (std::is_same_v<T, nn::Reshape>) {
            config["target_shape"] = copy.target_shape.value_or(copy.shape);
          }
          if constexpr (std::is_same_v<T, nn::LeakyReLU>) {
            config["alpha"] = copy.negative_slope.value_or(copy.alpha);
            config.erase("negative_slope");
          }
          for (const char* const list : {"noise_shape", "idf_weights"}) {
            if (config.contains(list) && config[list].empty()) config[list] = nullptr;
          }
          return found;
        }
      },
      layer);
}

}  // namespace tpuest
