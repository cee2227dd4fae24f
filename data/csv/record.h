#pragma once
// CSV as RFC 4180 and TensorFlow's CsvDataset have it. A record ends with LF, CRLF or CR; a field
// that begins with a double quote reaches to the next one that is not doubled, and may hold
// delimiters and line ends; a double quote anywhere else is a fault.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest::data {

// The two choices that a CSV file leaves open.
struct CsvDialect {
  char delimiter = ',';
  bool quotes = true;  // false: a double quote is a character as any other
};

// The fault of a record: what is wrong, the way out (may be empty), and where.
struct CsvFault {
  std::string message;
  std::string hint;
  size_t offset = 0;  // bytes from the start of the record
};

// A field of a record. Its text is what stands between the quotes, where it has some; a view into
// the record.
struct CsvField {
  std::string_view text;
  bool doubled = false;  // holds doubled quotes, which stand for one each
};

// The size in bytes of the record at the start of `text`, its line end included; nullopt if `text`
// may end in the middle of it. `last`: nothing follows `text`, and all of it is a record then.
[[nodiscard]] std::optional<size_t> CsvRecordSize(std::string_view text, bool last,
                                                  const CsvDialect& dialect);

// The record without its LF, CRLF or CR.
[[nodiscard]] std::string_view WithoutLineEnd(std::string_view record);

// Splits a record without its line end into fields, views into it; at least one. The fault, if it
// is no record.
[[nodiscard]] std::optional<CsvFault> SplitCsvRecord(std::string_view record,
                                                     const CsvDialect& dialect,
                                                     std::vector<CsvField>& fields);

// Appends the text that a field with doubled quotes stands for.
void AppendUnquoted(std::string_view text, std::string& to);

}  // namespace tpuest::data
