#include "data/pipeline/stage_sources.h"

#include <utility>

#include "data/sources/joined_source.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

std::string KeyOfDatasets(const StageOptions& stage) {
  return stage.concatenate.empty() ? "sample_from_datasets.datasets" : "concatenate";
}

}  // namespace

std::vector<DatasetOptions> DatasetsOf(const StageOptions& stage) {
  return stage.sample_from_datasets ? stage.sample_from_datasets->datasets : stage.concatenate;
}

StageSources OpenStageSources(std::shared_ptr<IndexedSource> own,
                              const std::vector<StageOptions>& stages, bool cached,
                              const std::string& key, const DataErrors& errors) {
  StageSources opened{.own = {0, own->size()}, .datasets = {stages.size(), std::vector<Stretch>()}};
  std::vector<std::shared_ptr<IndexedSource>> parts = {std::move(own)};
  std::vector<std::string> keys = {key + ".source"};
  int64_t records = opened.own.size;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].interleave) opened.file_starts = FileStarts(*parts.front());
    const std::vector<DatasetOptions> datasets = DatasetsOf(stages[i]);
    for (size_t at = 0; at < datasets.size(); ++at) {
      keys.push_back(
          fmt::format("{}.stages[{}].{}[{}].source", key, i, KeyOfDatasets(stages[i]), at));
      AnySource source = OpenSource(datasets[at].source, cached, keys.back(), errors);
      auto* const indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source);
      if (indexed == nullptr) {
        throw Error(Code::kUsage,
                    "stages need records that can be read in any order; these are read front "
                    "to back",
                    "cache: memory keeps the decompressed records")
            .Key(keys.back());
      }
      opened.datasets[i].push_back({records, (*indexed)->size()});
      records += (*indexed)->size();
      parts.push_back(std::move(*indexed));
    }
  }
  opened.source = Chained(std::move(parts), keys);
  return opened;
}

}  // namespace tpuest::data
