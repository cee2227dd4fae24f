#pragma once
// Guesses the features of some tf.Examples from their values: a tf.Example has no schema.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/io/examples/example.h"
#include "data/options.h"

namespace tpuest::data {

// One feature, judging by the examples so far.
struct SeenFeature {
  FeatureKind kind = FeatureKind::kNone;  // kind of the first non-empty list
  bool mixed = false;                     // lists of another kind follow
  int64_t examples = 0;                   // examples that have values of it
  size_t least = 0;                       // smallest number of values among them
  size_t most = 0;
};

// Collects examples and then derives the features that a job should read. One thread.
class ExampleGuess {
 public:
  // Adds one example. Throws kData for bytes that are not a tf.Example.
  void Add(std::string_view example);

  [[nodiscard]] int64_t examples() const { return examples_; }
  [[nodiscard]] const std::map<std::string, SeenFeature>& features() const { return features_; }

  // The features to read: a FixedLenFeature if every example has the same number of values ([] for
  // one); otherwise a VarLenFeature. Features without any values are omitted.
  [[nodiscard]] std::map<std::string, FeatureOptions> Features() const;
  // The key `parse_example` as YAML, with a comment on each feature that the examples leave
  // ambiguous.
  [[nodiscard]] std::string Text() const;

 private:
  int64_t examples_ = 0;
  std::map<std::string, SeenFeature> features_;
};

}  // namespace tpuest::data
