#pragma once
// The columns of a CSV source, their types, and how their fields become values.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "data/csv/record.h"
#include "data/source_options.h"

namespace tpuest::data {

// A selected column: a scalar of `dtype` an example.
struct CsvColumn {
  std::string name;
  size_t field = 0;  // of the record, from 0
  DType dtype = DType::kInvalid;
  bool inferred = false;  // dtype is that of the first rows
  bool required = false;  // an empty field is a fault
  // The value of an empty field: a number as its bits (ParseCsvNumber), or a string.
  uint64_t default_bits = 0;
  std::string default_text;
};

struct CsvColumns {
  std::vector<std::string> names;   // of all fields of a record
  std::vector<CsvColumn> selected;  // ascending by field

  // The selected columns, each []; `key` is where errors about them point.
  [[nodiscard]] std::vector<TensorSpec> Specs(const std::string& key) const;
};

// The columns without what inference has to add: dtype is kInvalid where column_defaults does not
// say it. `names` are column_names, or the header's. Throws Error kUsage for options that
// contradict themselves; for names that the header lacks or has twice it is kData. `key` is the
// source's.
[[nodiscard]] CsvColumns SelectCsvColumns(const CsvSource& options, std::vector<std::string> names,
                                          const std::string& key);

// The least type of int32, int64, float32, float64, string that `before` (kInvalid: none yet) and
// this text fit; `before` where the text is empty or na_value. As make_csv_dataset has it
// (TensorFlow's _infer_type): "nan" is a string. "+1" is a float32, since decode_csv refuses it in
// the int32 column that make_csv_dataset makes of it.
[[nodiscard]] DType InferCsvType(std::string_view text, std::string_view na_value, DType before);
// Ends inference: types that the rows left open are strings, and defaults are 0 or "".
void FinishInference(CsvColumns& columns);

// Parses `text`, spaces around it allowed, and puts the number's 4 or 8 bytes at the start of
// `bits`; false if it is not a number of that type. dtype is int32, int64, float32 or float64.
// Takes what decode_csv takes, but for blanks alone (0 there) and what rounds to infinity; a
// number may be longer than its 31 characters.
[[nodiscard]] bool ParseCsvNumber(std::string_view text, DType dtype, uint64_t& bits);

// The words of a message for a type: "a whole number (int32)", "a number (float32)".
[[nodiscard]] std::string ExpectedCsvNumber(DType dtype);

}  // namespace tpuest::data
