// The job itself, as config reads and writes it: code for hundreds of options, made once.
#include "cli/job/job.h"

namespace tpuest::cli {

Job::Job() = default;
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;
Job::~Job() = default;

}  // namespace tpuest::cli

template const tpuest::config::Type* tpuest::config::TypeOf<tpuest::cli::Job>();
