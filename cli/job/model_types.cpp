// The models of a job, as config reads and writes them.
#include "cli/job/job.h"

namespace tpuest::config {
template const Type* TypeOf<models::AnyModel>();
}  // namespace tpuest::config
