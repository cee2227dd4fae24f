#pragma once
// Decodes single CSV records that do not come from an indexed file.

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
  // Fills row.columns from a record without its line end, or returns the error.
  [[nodiscard]] virtual std::optional<CsvFault> Read(std::string_view record, Row& row) const = 0;

 private:
  std::vector<TensorSpec> columns_;
};

// `first` is the header, or the first record if there is no header. Throws the errors of OpenCsv,
// and kUsage for a column without a stated type.
[[nodiscard]] std::shared_ptr<const CsvRowReader> MakeCsvRowReader(const CsvSource& options,
                                                                   const std::string& key,
                                                                   std::string_view first);

[[nodiscard]] CsvDialect CsvDialectOf(const CsvSource& options, const std::string& key);

}  // namespace tpuest::data
