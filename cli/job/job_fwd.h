#pragma once
// Declares the job for headers that only pass it on, because job.h includes every part's options.

namespace tpuest::config {

template <class Job>
struct Loaded;

}  // namespace tpuest::config

namespace tpuest::cli {

struct Job;
struct TpuestOptions;
using LoadedJob = config::Loaded<Job>;

}  // namespace tpuest::cli
