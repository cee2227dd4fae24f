#pragma once
// Reads JSON rows: an object's keys are columns with the types that the job states or the first
// rows show. A null or a missing key is a gap.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"
#include "data/sources/json_scanner.h"

namespace tpuest::data {

struct JsonColumn {
  std::string name;
  DType dtype = DType::kString;  // int64, float32 or string
  Shape shape;                   // [?]: a list of any length
  Tensor value;                  // value of a gap; invalid: gaps are errors
  bool is_inferred = false;

  [[nodiscard]] bool is_list() const { return !shape.fully_known(); }
};

// The columns that `features` state. Throws Error kUsage at `key`, the features'.
[[nodiscard]] std::vector<JsonColumn> StatedColumns(
    const std::map<std::string, FeatureOptions>& features, const std::string& key);

// Infers columns: Add takes the first rows one by one, and throws kData, with the scanner at the
// place, for a value that fits no column.
class JsonInference {
 public:
  void Add(JsonScanner& scanner);
  [[nodiscard]] std::vector<JsonColumn> Columns() const;

 private:
  // The properties of a key's values so far.
  struct FoundKey {
    std::optional<DType> dtype;
    std::optional<std::vector<int64_t>> dims;
    bool varies = false;  // lists of several lengths
  };
  void AddValue(JsonScanner& scanner, FoundKey& found);
  void Walk(JsonScanner& scanner, FoundKey& found, std::vector<int64_t>& dims, size_t axis);
  void AddScalar(JsonScanner& scanner, FoundKey& found, JsonScanner::Kind kind);

  std::map<std::string, FoundKey> keys_;
  std::string unescaped_;
};

// Reads rows. Immutable; any thread, each with its own Row.
class JsonRows {
 public:
  explicit JsonRows(std::vector<JsonColumn> columns);
  [[nodiscard]] std::vector<TensorSpec> Specs(const std::string& key) const;
  // Fills row.columns from one row's text. Throws kData, with the scanner at the place.
  void Read(JsonScanner& scanner, size_t size, Row& row) const;

 private:
  std::vector<JsonColumn> columns_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

}  // namespace tpuest::data
