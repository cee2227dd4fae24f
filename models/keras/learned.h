#pragma once
// What layers of Keras have learned from data (adapt) and an archive keeps beside its
// configuration: the vocabularies of StringLookup and IntegerLookup as assets, the weights of
// tf_idf and what a Discretization of Keras 2 has seen of its numbers as variables.

#include <string>
#include <string_view>

#include "core/io/zip/zip.h"
#include "models/keras/keras_file.h"

namespace tpuest {

// Puts it into the configurations of the model's layers, where these do not say it: `vocabulary`,
// `idf_weights`, `bin_boundaries`. `name`: of the archive. Error kData for a vocabulary of integers
// that has others.
void AddLearned(const ZipReader& archive, const KerasObject& object, const std::string& name,
                KerasJson& model);

// Whether the variables of a class, in snake case, are what AddLearned reads: no layer of a job has
// them as its own.
[[nodiscard]] bool IsLearnedBeside(std::string_view class_name);

}  // namespace tpuest
