#pragma once
// Opens the source that a job's options name: one function per kind, and one for all kinds.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"

namespace tpuest::data {

// Opens the source and applies skip and take. `key` is the section's key path, for errors. cached:
// keeps records in memory that would otherwise be generated or decompressed in each epoch. Treats
// bad records as `errors` says, if the source supports it (CSV). Throws kUsage for options, kData
// for files.
[[nodiscard]] AnySource OpenSource(const SourceOptions& options, bool cached,
                                   const std::string& key, const DataErrors& errors = {});

// The columns, if they are known without opening a file; nullopt otherwise. Throws Error kUsage.
[[nodiscard]] std::optional<std::vector<TensorSpec>> KnownColumns(const SourceOptions& options,
                                                                  const std::string& key);

// The number of records per epoch; nullopt if a file must be opened to know it.
[[nodiscard]] std::optional<int64_t> KnownSize(const SourceOptions& options,
                                               const std::string& key);

// Whether records come from the standard input, which only one reader can read.
[[nodiscard]] bool ReadsStandardInput(const SourceOptions& options);

// ---- one source each --------------------------------------------------------------------------

// TFRecordDataset; streamed if a file is compressed and `cached` is false. Applies skip and take.
[[nodiscard]] AnySource OpenTFRecords(const TFRecordSource& options, bool cached,
                                      const std::string& key);
// The following sources are read at any index; OpenSource applies skip and take.
[[nodiscard]] std::shared_ptr<IndexedSource> OpenIdx(const IdxSource& options,
                                                     const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenTextLines(const TextLineSource& options,
                                                           const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenFixedLength(const FixedLengthSource& options,
                                                             const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenJsonLines(const JsonLinesSource& options,
                                                           const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenLibsvm(const LibsvmSource& options,
                                                        const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenNpy(const NpySource& options,
                                                     const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenNpz(const NpzSource& options,
                                                     const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenDigits(const DigitsSource& options, bool cached,
                                                        const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenShapes(const ShapesSource& options,
                                                        const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenSlices(const SlicesSource& options,
                                                        const std::string& key);
[[nodiscard]] std::shared_ptr<IndexedSource> OpenRange(const RangeSource& options,
                                                       const std::string& key);

// Reads all rows. Throws kUsage in a build without SQLite.
[[nodiscard]] std::shared_ptr<IndexedSource> OpenSql(const SqlSource& options,
                                                     const std::string& key);

// Applies skip and take.
[[nodiscard]] std::unique_ptr<StreamedSource> OpenGenerator(const GeneratorSource& options,
                                                            const std::string& key);
// Columns that are known without a file; nullopt if types are inferred from the rows.
[[nodiscard]] std::optional<std::vector<TensorSpec>> KnownJsonColumns(
    const JsonLinesSource& options, const std::string& key);
[[nodiscard]] std::optional<std::vector<TensorSpec>> KnownLibsvmColumns(const LibsvmSource& options,
                                                                        const std::string& key);
[[nodiscard]] std::vector<TensorSpec> GeneratorColumns(const GeneratorSource& options,
                                                       const std::string& key);
[[nodiscard]] TensorSpec TextColumn();    // of TextLineDataset
[[nodiscard]] TensorSpec RecordColumn();  // of FixedLengthRecordDataset

}  // namespace tpuest::data
