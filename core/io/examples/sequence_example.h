#pragma once
// tf.SequenceExample (TensorFlow's example.proto): its context is read as an Example's features are
// (core/io/examples/example.h), its lists of features by this.

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/io/examples/example.h"

namespace tpuest {

// The list's name, the step and its feature; a list without steps is told once, as step -1 with a
// feature of FeatureKind::kNone.
using FeatureListVisitor =
    std::function<void(std::string_view name, int64_t step, const FeatureView& feature)>;

// Calls the visitor for each feature of each list, in the order of the bytes. Throws Error kData,
// with the byte.
void ParseFeatureLists(std::string_view example, const FeatureListVisitor& visitor);

}  // namespace tpuest
