#pragma once
// Opens the input_fn's source and the further datasets that its stages name, as one source.

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
  // The input_fn's own records, followed by those of the other datasets.
  std::shared_ptr<IndexedSource> source;
  Stretch own;  // the records of the input_fn's own source
  // By stage: the records of its named datasets.
  std::vector<std::vector<Stretch>> datasets;
  // For an interleave: the first record of each file of the input_fn's own source, and the end.
  std::vector<int64_t> file_starts;
};

// The datasets that a stage names; none for most.
[[nodiscard]] std::vector<DatasetOptions> DatasetsOf(const StageOptions& stage);

// `key` is the input_fn's. Throws kUsage for a dataset that cannot be read in any order or has
// other columns.
[[nodiscard]] StageSources OpenStageSources(std::shared_ptr<IndexedSource> own,
                                            const std::vector<StageOptions>& stages, bool cached,
                                            const std::string& key, const DataErrors& errors);

}  // namespace tpuest::data
