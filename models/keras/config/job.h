#pragma once
// Converts a Keras model to a job: its configuration, in the dialects of Keras 2 and 3, which one
// file may mix, becomes layers, head and optimizer.

#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "models/keras/keras_file.h"

namespace tpuest {

// An input of the model: the InputLayer's name and an example's shape, with -1 for an unknown size.
struct KerasInput {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype = "float32";
};

// Sections of a job as JSON objects with the job's keys.
struct KerasJob {
  // `inputs`, `outputs` (only if they are not the last layer, or layers of their names), `layers`
  // and, for a mixed policy, `precision`.
  KerasJson model;
  KerasJson head;                    // null: the model was not compiled
  KerasJson optimizer;               // null: not compiled, or unknown (then a note says so)
  std::vector<KerasInput> inputs;    // inputs whose shape is in the file
  std::vector<std::string> outputs;  // names of predictions
  std::vector<std::string> notes;    // differences from the file
  // Parts of the file's head and optimizer that the sections above cannot express: then the
  // sections must not be used.
  std::vector<Fault> head_faults;
  std::vector<Fault> optimizer_faults;
};

// Returns the job for a file with a configuration. `metric_names_map` renames metrics, as in
// model_to_estimator. Throws Error kData with every layer that cannot be converted: its place,
// class and name.
[[nodiscard]] KerasJob KerasJobOf(const KerasFile& file,
                                  const std::map<std::string, std::string>& metric_names_map = {});

// Returns a section as YAML: one line per key and per layer, with the layers of nested models below
// them, indented by `indent` spaces.
[[nodiscard]] std::string KerasYaml(const KerasJson& section, int indent);

}  // namespace tpuest
