#pragma once
// From a job's source options to the records: one function a kind, and one for any of them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"

namespace tpuest {

// `key` is the section's key path, for errors. cached: keep in memory what would otherwise be
// generated or inflated again in each epoch. Skip and take are applied. Bad records are left out as
// `errors` say, if the source can.
[[nodiscard]] AnySource OpenSource(const SourceOptions& options, bool cached,
                                   const std::string& key, const DataErrors& errors = {});

// The columns, as far as they are known without opening a file; nullopt: not known.
[[nodiscard]] std::optional<std::vector<TensorSpec>> KnownColumns(const SourceOptions& options,
                                                                  const std::string& key);

// The records of an epoch, likewise.
[[nodiscard]] std::optional<int64_t> KnownSize(const SourceOptions& options,
                                               const std::string& key);

// ---- one source each --------------------------------------------------------------------------

[[nodiscard]] AnySource OpenTFRecords(const TFRecordSource& options, bool cached,
                                      const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenIdx(const IdxSource& options,
                                                     const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenDigits(const DigitsSource& options, bool cached,
                                                        const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenSlices(const SlicesSource& options,
                                                        const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenRange(const RangeSource& options,
                                                       const std::string& key);

}  // namespace tpuest
