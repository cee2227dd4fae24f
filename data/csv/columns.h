#pragma once
// The columns of a CSV source, their types, and the conversion of fields to values.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "data/csv/record.h"
#include "data/source_options.h"

namespace tpuest::data {

// A selected column: one scalar of `dtype` per example.
struct CsvColumn {
  std::string name;
  size_t field = 0;  // of the record, from 0
  DType dtype = DType::kInvalid;
  bool inferred = false;  // dtype was inferred from the first rows
  bool required = false;  // an empty field is an error
  // The value of an empty field: a number as its bits (ParseCsvNumber), or a string.
  uint64_t default_bits = 0;
  std::string default_text;
};

struct CsvColumns {
  std::vector<std::string> names;   // of all fields of a record
  std::vector<CsvColumn> selected;  // ascending by field

  // The selected columns, each of shape []. Errors about them point at `key`.
  [[nodiscard]] std::vector<TensorSpec> Specs(const std::string& key) const;
};

// The columns before type inference: dtype is kInvalid for a column without an entry in
// column_defaults. `names` are column_names, or the header's names; `key` is the source's key.
// Throws kUsage for contradictory options, and kData for names that are missing or repeated in the
// header.
[[nodiscard]] CsvColumns SelectCsvColumns(const CsvSource& options, std::vector<std::string> names,
                                          const std::string& key);

// The first type of int32, int64, float32, float64, string that fits both `before` (kInvalid: none
// yet) and this text; `before` if the text is empty or na_value. The rules are those of
// make_csv_dataset (TensorFlow's _infer_type): "nan" is a string. "+1" is a float32 here, because
// decode_csv refuses it in the int32 column that make_csv_dataset infers.
[[nodiscard]] DType InferCsvType(std::string_view text, std::string_view na_value, DType before);
// Ends inference: columns whose type is still open become strings, and missing defaults become 0 or
// "".
void FinishInference(CsvColumns& columns);

// Parses `text`, which may have spaces around it, and stores the number's 4 or 8 bytes at the start
// of `bits`; returns false if it is not a number of that type. dtype is int32, int64, float32 or
// float64. Accepts the numbers that decode_csv accepts, except a blank text (0 there) and numbers
// that round to infinity; a number may be longer than decode_csv's 31 characters.
[[nodiscard]] bool ParseCsvNumber(std::string_view text, DType dtype, uint64_t& bits);

// The name of a type in messages: "a whole number (int32)", "a number (float32)".
[[nodiscard]] std::string ExpectedCsvNumber(DType dtype);

}  // namespace tpuest::data
