#pragma once
// A model of Keras as a job: its configuration in the dialects of Keras 2 and 3, which may be mixed
// in one file, as layers, head and optimizer.

#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "models/keras/keras_file.h"

namespace tpuest {

// An input of the model: the InputLayer's name, and an example's shape, -1 where a side is not
// known.
struct KerasInput {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype = "float32";
};

// Sections of a job as JSON objects, whose keys are the job's.
struct KerasJob {
  // `inputs`, `outputs` (only where they are not the last layer, or layers of their names),
  // `layers` and, of a mixed policy, `precision`.
  KerasJson model;
  KerasJson head;       // null: the model was not compiled
  KerasJson optimizer;  // null: not compiled, or none that is known (then a note says so)
  std::vector<KerasInput> inputs;    // those whose shape the file says
  std::vector<std::string> outputs;  // names of predictions
  std::vector<std::string> notes;    // what is other than in the file
  // What the file says of the head and of the optimizer that those above cannot: they are not to be
  // used then.
  std::vector<Fault> head_faults;
  std::vector<Fault> optimizer_faults;
};

// The job of a file with a configuration. `metric_names_map` renames metrics, as
// model_to_estimator's does. Error kData with every layer that cannot be, each with its place,
// class and name.
[[nodiscard]] KerasJob KerasJobOf(const KerasFile& file,
                                  const std::map<std::string, std::string>& metric_names_map = {});

// A section as YAML: keys in lines of their own, each layer in one, those of models that are layers
// below it; all lines indented by so many spaces.
[[nodiscard]] std::string KerasYaml(const KerasJson& section, int indent);

}  // namespace tpuest
