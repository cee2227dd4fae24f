#pragma once
// The job by name, for headers that pass it on: the whole of it brings every part's options along.

namespace tpuest::config {

template <class Job>
struct Loaded;

}  // namespace tpuest::config

namespace tpuest::cli {

struct Job;
struct TpuestOptions;
using LoadedJob = config::Loaded<Job>;

}  // namespace tpuest::cli
