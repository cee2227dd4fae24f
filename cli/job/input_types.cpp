// The input_fns and specs of a job, as config reads and writes them.
#include "cli/job/job.h"

namespace tpuest::config {
template const Type* TypeOf<std::map<std::string, data::InputFnOptions>>();
template const Type* TypeOf<std::optional<TrainSpec>>();
template const Type* TypeOf<std::optional<EvalSpecs>>();
}  // namespace tpuest::config
