#pragma once
// tpuest inspect shows a file of Keras'.

#include <string>

#include "cli/shell/invocation.h"

namespace tpuest::cli {

// True if the file begins as one that Keras writes: HDF5, a zip archive, or JSON of a model.
[[nodiscard]] bool BeginsAsKeras(const std::string& path);

// Prints the kind, Keras' version, layers with their weights, and what the model was compiled with,
// and returns exit code 0; with --json a document {kind: "keras", path, format, keras_version,
// layers: [{name, class, weights: [{name, shape, dtype}]}], parameters, compiled}.
int ShowKeras(const Invocation& invocation, const std::string& path);

}  // namespace tpuest::cli
