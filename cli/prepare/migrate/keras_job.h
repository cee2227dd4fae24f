#pragma once
// The job of a model that Keras saved.

#include <string>

#include "cli/prepare/migrate/job.h"
#include "models/keras/config/job.h"

namespace tpuest::cli {

struct KerasSource {
  std::string file;  // the model
  std::string name;  // of the run
  std::string path;  // of the job, whose folder the file's name counts from
};

// The whole job, of type Functional, starting with the file's weights where it has any.
[[nodiscard]] MigratedJob WriteKerasJob(const KerasSource& source, const KerasFile& file,
                                        const KerasJob& model);

}  // namespace tpuest::cli
