#include "data/examples/example_guess.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/examples/parse_example_text.h"

namespace tpuest::data {
namespace {

std::string DTypeOfKind(FeatureKind kind) {
  if (kind == FeatureKind::kBytes) return "string";
  return kind == FeatureKind::kFloat ? "float32" : "int64";
}

// A comment on what a reader should check before trusting the line; empty if there is nothing.
std::string Comment(const SeenFeature& seen, int64_t examples) {
  if (seen.mixed) return "lists of several types; only one can be read";
  if (seen.examples < examples) {
    return fmt::format("in {} of {} records", seen.examples, examples);
  }
  return seen.least == seen.most ? "" : fmt::format("{} to {} values", seen.least, seen.most);
}

}  // namespace

void ExampleGuess::Add(std::string_view example) {
  std::map<std::string, FeatureView> features;  // the last feature of a name counts
  ParseExample(example, [&](const FeatureView& feature) {
    features.insert_or_assign(std::string(feature.name), feature);
  });
  ++examples_;
  for (const auto& [name, feature] : features) {
    SeenFeature& seen = features_[name];
    // A feature without values has no known kind; the example counts as one without the feature.
    if (feature.kind == FeatureKind::kNone || feature.count == 0) continue;
    const bool first = seen.examples == 0;
    if (first) seen.kind = feature.kind;
    seen.mixed |= feature.kind != seen.kind;
    ++seen.examples;
    seen.least = first ? feature.count : std::min(seen.least, feature.count);
    seen.most = std::max(seen.most, feature.count);
  }
}

std::map<std::string, FeatureOptions> ExampleGuess::Features() const {
  std::map<std::string, FeatureOptions> options;
  for (const auto& [name, seen] : features_) {
    if (seen.kind == FeatureKind::kNone) continue;
    const std::string dtype = DTypeOfKind(seen.kind);
    if (seen.examples < examples_ || seen.least != seen.most) {
      options[name] = VarLenFeature{.dtype = dtype};
      continue;
    }
    std::vector<int64_t> shape;
    if (seen.most != 1) shape.push_back(static_cast<int64_t>(seen.most));
    options[name] = FixedLenFeature{.shape = shape, .dtype = dtype};
  }
  return options;
}

std::string ExampleGuess::Text() const {
  std::string text = "parse_example:\n";
  for (const auto& [name, feature] : Features()) {
    const std::string comment = Comment(features_.at(name), examples_);
    text += FeatureLine(name, feature);
    if (!comment.empty()) text.insert(text.size() - 1, "  # " + comment);
  }
  return text;
}

}  // namespace tpuest::data
