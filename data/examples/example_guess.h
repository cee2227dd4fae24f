#pragma once
// Guesses the features of some tf.Examples from their values: a tf.Example has no schema.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/io/examples/example.h"
#include "data/options.h"

namespace tpuest::data {

// One feature, as the examples so far show it.
struct SeenFeature {
  FeatureKind kind = FeatureKind::kNone;  // of the first list that is not empty
  bool mixed = false;                     // lists of another kind follow
  int64_t examples = 0;                   // that have values of it
  size_t least = 0;                       // values in one of those
  size_t most = 0;
};

// Gathers examples, then says which features a job should read. One thread.
class ExampleGuess {
 public:
  // Looks at one example. Throws Error kData for bytes that are no tf.Example.
  void Add(std::string_view example);

  [[nodiscard]] int64_t examples() const { return examples_; }
  [[nodiscard]] const std::map<std::string, SeenFeature>& features() const { return features_; }

  // The features to read: a FixedLenFeature where every example has as many values, [] being one; a
  // VarLenFeature otherwise, and no feature where none has values.
  [[nodiscard]] std::map<std::string, FeatureOptions> Features() const;
  // The key `parse_example` as YAML; a feature that is not plain from the examples has a comment.
  [[nodiscard]] std::string Text() const;

 private:
  int64_t examples_ = 0;
  std::map<std::string, SeenFeature> features_;
};

}  // namespace tpuest::data
