#include "models/keras/learned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"

namespace tpuest {
namespace {

// The tokens of a vocabulary.txt, those before the vocabulary's entries among them.
KerasJson Vocabulary(const ZipReader& archive, const std::string& name, const std::string& member,
                     bool of_integers) {
  KerasJson tokens = KerasJson::array();
  for (std::string& token : Split(archive.Read(member).bytes, '\n')) {
    if (!of_integers) {
      tokens.push_back(std::move(token));
      continue;
    }
    const auto number = WholeNumber<int64_t>(token);
    if (!number) {
      throw Error(Code::kData, fmt::format("{}: {}: line {} is '{}', expected an integer", name,
                                           member, tokens.size() + 1, token.substr(0, 40)));
    }
    tokens.push_back(*number);
  }
  return tokens;
}

// numpy.interp: the piecewise linear function through (at[i], values[i]), constant outside.
double Interpolated(double x, const std::vector<double>& at, const std::vector<double>& values) {
  const auto above = std::upper_bound(at.begin(), at.end(), x) - at.begin();
  if (above == 0) return values.front();
  const auto i = static_cast<size_t>(above) - 1;
  if (i + 1 == at.size()) return values.back();
  const double slope = (values[i + 1] - values[i]) / (at[i + 1] - at[i]);
  return slope * (x - at[i]) + values[i];
}

// The boundaries between `bins` ranges with as many numbers each, of Keras 2's summary [2, n]:
// numbers in rising order, and how many each stands for.
KerasJson Boundaries(const KerasWeight& summary, int64_t bins) {
  KerasJson boundaries = KerasJson::array();
  const bool is_summary = summary.shape().rank() == 2 && summary.shape().dim(0) == 2 &&
                          summary.shape().dim(1) > 0 && summary.dtype() == DType::kFloat;
  if (!is_summary || bins < 1) return nullptr;
  const Tensor tensor = summary.Read();
  const auto n = static_cast<size_t>(summary.shape().dim(1));
  const float* const numbers = tensor.data<float>();
  std::vector<double> values(numbers, numbers + n);
  const double part = 1.0 / static_cast<double>(bins);
  if (static_cast<double>(n) * part >= 1) {
    std::vector<float> sums(numbers + n, numbers + 2 * n);
    for (size_t i = 1; i < n; ++i) sums[i] += sums[i - 1];
    std::vector<double> parts;
    for (const float sum : sums) parts.push_back(sum / sums.back());
    std::vector<double> found;
    for (double i = 0; i < std::ceil(1.0 / part); ++i) {
      found.push_back(Interpolated(part + i * part, parts, values));
    }
    values = std::move(found);
  }
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    boundaries.push_back(static_cast<double>(static_cast<float>(values[i])));
  }
  return boundaries;
}

KerasJson Numbers(const KerasWeight& weight) {
  if (weight.dtype() != DType::kFloat) return nullptr;
  const Tensor tensor = weight.Read();
  const float* const numbers = tensor.data<float>();
  return std::vector<double>(numbers, numbers + tensor.elements());
}

bool Lacks(const KerasJson& config, const char* key) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null();
}

void AddTo(const ZipReader& archive, const KerasObject& object, const std::string& name,
           const std::string& class_name, KerasJson& config) {
  if (class_name == "StringLookup" || class_name == "IntegerLookup") {
    const std::string vocabulary = "assets/" + object.path + "/vocabulary.txt";
    if (Lacks(config, "vocabulary") && archive.Has(vocabulary)) {
      config["vocabulary"] = Vocabulary(archive, name, vocabulary, class_name == "IntegerLookup");
    }
    if (Lacks(config, "idf_weights") && !object.weights.empty()) {
      config["idf_weights"] = Numbers(object.weights.front());
    }
  } else if (class_name == "Discretization") {
    const bool is_adapted = Lacks(config, "bin_boundaries") && !object.weights.empty() &&
                            !Lacks(config, "num_bins") && config["num_bins"].is_number_integer();
    if (!is_adapted) return;
    config["bin_boundaries"] =
        Boundaries(object.weights.front(), config["num_bins"].get<int64_t>());
  }
}

}  // namespace

void AddLearned(const ZipReader& archive, const KerasObject& object, const std::string& name,
                KerasJson& model) {
  if (!model.is_object() || !model.contains("config") || !model["config"].is_object() ||
      !model["config"].contains("layers") || !model["config"]["layers"].is_array()) {
    return;
  }
  std::map<std::string, size_t> met;  // layers of each class
  for (KerasJson& layer : model["config"]["layers"]) {
    if (!layer.is_object() || !layer.contains("class_name") || !layer["class_name"].is_string() ||
        !layer.contains("config") || !layer["config"].is_object()) {
      continue;
    }
    const auto class_name = layer["class_name"].get<std::string>();
    const std::string snake = KerasSnakeCase(class_name);
    const size_t number = met[snake]++;
    const auto objects = object.layers.find(snake);
    if (objects == object.layers.end() || number >= objects->second.size()) continue;
    AddLearned(archive, objects->second[number], name, layer);
    AddTo(archive, objects->second[number], name, class_name, layer["config"]);
  }
}

bool IsLearnedBeside(std::string_view class_name) {
  return class_name == "string_lookup" || class_name == "integer_lookup" ||
         class_name == "discretization";
}

}  // namespace tpuest
