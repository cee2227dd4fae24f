#pragma once
// What Keras layers have learned from data (adapt) and an archive stores outside the configuration:
// the vocabularies of StringLookup and IntegerLookup as assets; the weights of tf_idf, and the
// statistics of a Keras 2 Discretization, as variables.

#include <string>
#include <string_view>

#include "core/io/zip/zip.h"
#include "models/keras/keras_file.h"

namespace tpuest {

// Adds these to the configurations of the model's layers where they are missing: `vocabulary`,
// `idf_weights`, `bin_boundaries`. `name` is that of the archive. Throws Error kData for a
// vocabulary of integers that contains other words.
void AddLearned(const ZipReader& archive, const KerasObject& object, const std::string& name,
                KerasJson& model);

// Whether AddLearned reads the variables of a class (in snake case): layers of a job have no such
// variables.
[[nodiscard]] bool IsLearnedBeside(std::string_view class_name);

}  // namespace tpuest
