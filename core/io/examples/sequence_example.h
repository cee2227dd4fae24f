#pragma once
// Reads the feature lists of a tf.SequenceExample (TensorFlow's example.proto). Its context is read
// as the features of an Example are (core/io/examples/example.h).

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/io/examples/example.h"

namespace tpuest {

// Takes the list's name, the step and its feature. A list without steps is reported once, as step
// -1 with a feature of FeatureKind::kNone.
using FeatureListVisitor =
    std::function<void(std::string_view name, int64_t step, const FeatureView& feature)>;

// Calls the visitor for each feature of each list, in the order of the bytes. Throws Error kData,
// with the byte.
void ParseFeatureLists(std::string_view example, const FeatureListVisitor& visitor);

}  // namespace tpuest
