#pragma once
// Everything that a caller needs of config/:
//
//   using namespace tpuest::config;
//   Sources sources;
//   Loaded<Job> loaded;
//   try {
//     loaded = LoadJob<Job>("job.yaml", {.overrides = {{"train_batch_size=256"}}}, sources);
//     ... loaded.job; WriteResolved(loaded.job, loaded.tree) ...
//   } catch (const Error& error) {
//     fmt::print(stderr, "{}", Render(Placed(error, sources).faults(), sources));
//   }

#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/flatten.h"
#include "config/layers.h"
#include "config/overrides.h"
#include "config/reader.h"
#include "config/schema.h"
#include "config/tree.h"
#include "config/writer.h"

namespace tpuest::config {

template <class Job>
// A job that was read without faults, and the origins of its values.
struct Loaded {
  Job job;
  Tree tree;
  std::vector<AppliedOverride> overrides;  // for the log, if given and path differ
};

// Reads `text`, the contents of job file `file`, and its layers into the section. Throws Error
// kUsage with every fault, in the order of the lines; later errors of the job name only a key.
// Without a `name`, ${name} is the file's name without its extension.
std::vector<AppliedOverride> ParseJobInto(std::string_view text, const std::string& file,
                                          const Layers& layers, Sources& sources,
                                          const Value& section, Tree& tree);

template <class Job>
// Reads a job of type Job, which starts with its defaults, as above.
[[nodiscard]] Loaded<Job> ParseJob(std::string_view text, const std::string& file,
                                   const Layers& layers, Sources& sources) {
  Loaded<Job> loaded;
  loaded.overrides = ParseJobInto(text, file, layers, sources, ValueOf(loaded.job), loaded.tree);
  return loaded;
}

template <class Job>
// Reads a job file as above. Also throws what ReadJobFile throws.
[[nodiscard]] Loaded<Job> LoadJob(const std::string& file, const Layers& layers, Sources& sources) {
  return ParseJob<Job>(ReadJobFile(file), file, layers, sources);
}

}  // namespace tpuest::config
