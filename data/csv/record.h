#pragma once
// CSV by RFC 4180 and TensorFlow's CsvDataset. A record ends with LF, CRLF or CR. A field that
// begins with a double quote extends to the next double quote that is not doubled, and may contain
// delimiters and line ends. A double quote anywhere else is an error.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest::data {

// The two choices that the format leaves open.
struct CsvDialect {
  char delimiter = ',';
  bool quotes = true;  // false: a double quote is an ordinary character
};

// An error in a record: message, hint (may be empty) and position.
struct CsvFault {
  std::string message;
  std::string hint;
  size_t offset = 0;  // bytes from the start of the record
};

// A field of a record. Its text is a view into the record, without enclosing quotes.
struct CsvField {
  std::string_view text;
  bool doubled = false;  // contains doubled quotes, which mean one quote each
};

// The size in bytes of the record at the start of `text`, including its line end; nullopt if `text`
// may end in the middle of the record. `last`: no text follows, so the rest is a record.
[[nodiscard]] std::optional<size_t> CsvRecordSize(std::string_view text, bool last,
                                                  const CsvDialect& dialect);

// The record without its LF, CRLF or CR.
[[nodiscard]] std::string_view WithoutLineEnd(std::string_view record);

// Splits a record without its line end into at least one field; fields are views into the record.
// Returns the error if it is not a valid record.
[[nodiscard]] std::optional<CsvFault> SplitCsvRecord(std::string_view record,
                                                     const CsvDialect& dialect,
                                                     std::vector<CsvField>& fields);

// Appends the text of a field, with doubled quotes replaced by single ones.
void AppendUnquoted(std::string_view text, std::string& to);

}  // namespace tpuest::data
