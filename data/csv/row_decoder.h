#pragma once
// Single records of CSV as rows, where there is no file to look them up in.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/csv/columns.h"
#include "data/source.h"

namespace tpuest::data {

// Any thread.
class CsvRowReader {
 public:
  explicit CsvRowReader(std::vector<TensorSpec> columns) : columns_(std::move(columns)) {}
  virtual ~CsvRowReader() = default;
  CsvRowReader(const CsvRowReader&) = delete;
  CsvRowReader& operator=(const CsvRowReader&) = delete;
  [[nodiscard]] const std::vector<TensorSpec>& columns() const { return columns_; }
  // Fills row.columns with a record without its line end, or says what is wrong with it.
  [[nodiscard]] virtual std::optional<CsvFault> Read(std::string_view record, Row& row) const = 0;

 private:
  std::vector<TensorSpec> columns_;
};

// `first` is the header, or without one the first record. Throws Error kUsage and kData as OpenCsv,
// and kUsage for a column whose type is not stated.
[[nodiscard]] std::shared_ptr<const CsvRowReader> MakeCsvRowReader(const CsvSource& options,
                                                                   const std::string& key,
                                                                   std::string_view first);

[[nodiscard]] CsvDialect CsvDialectOf(const CsvSource& options, const std::string& key);

}  // namespace tpuest::data
