#pragma once
// The datasets that stages name beside the one before them, opened, as one source.

#include <memory>
#include <string>
#include <vector>

#include "data/options.h"
#include "data/source.h"

namespace tpuest::data {

// Records of a source.
struct Stretch {
  int64_t first = 0;
  int64_t size = 0;
};

struct StageSources {
  std::shared_ptr<IndexedSource> source;  // the input_fn's own, and the others behind it
  Stretch own;                            // the records of the input_fn's own source
  // By stage: the records of each dataset that it names.
  std::vector<std::vector<Stretch>> datasets;
  // For an interleave: where the records of each file of the own source begin, and the end.
  std::vector<int64_t> file_starts;
};

// The datasets that a stage names; none for most.
[[nodiscard]] std::vector<DatasetOptions> DatasetsOf(const StageOptions& stage);

// `key` is the input_fn's. Throws Error kUsage for a dataset that cannot be read in any order, or
// has other columns.
[[nodiscard]] StageSources OpenStageSources(std::shared_ptr<IndexedSource> own,
                                            const std::vector<StageOptions>& stages, bool cached,
                                            const std::string& key, const DataErrors& errors);

}  // namespace tpuest::data
