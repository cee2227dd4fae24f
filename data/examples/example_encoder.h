#pragma once
// Rows of a source as tf.Examples, and back: how `tpuest convert` writes columns and how a parsing
// receiver reads them.

#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/io/examples/example.h"
#include "data/source.h"

namespace tpuest::data {

// The feature that holds a column. Arrays of uint8 are bytes under "<column>_raw"; whole numbers
// and truth values an int64_list, floats a float_list, strings a bytes_list under the column's
// name. Throws Error kUsage for another type (float64: a tf.Example has none).
struct EncodedColumn {
  std::string key;
  DType dtype = DType::kInvalid;  // float, int64 or string
  Shape shape;                    // of one example
};
[[nodiscard]] EncodedColumn EncodingOf(const TensorSpec& column);

// The column's values [batch, ...] from those of its feature, by nodes added to the feature's
// graph.
[[nodiscard]] Value DecodedNodes(const TensorSpec& column, Value feature);

// Adds a feature with these values of type `dtype`: strings as they are, numbers as `as`, float or
// int64.
void WriteFeature(ExampleWriter& writer, std::string_view key, DType as, DType dtype,
                  const Values& values);

// How a request holds a feature: numbers are float or int64, and a value that is the default, of
// that dtype, is left out. Without a default (an invalid tensor) it is always there.
struct RequestFeature {
  DType dtype = DType::kInvalid;
  Tensor default_value;
};
using RequestFeatures = std::map<std::string, RequestFeature>;
[[nodiscard]] bool IsDefault(const RequestFeature& feature, DType dtype, const Values& values);

// Writes rows as tf.Examples. Belongs to one thread.
class ExampleEncoder {
 public:
  // Columns are written as `requests` says, others as EncodingOf says.
  explicit ExampleEncoder(std::vector<TensorSpec> columns, RequestFeatures requests = {});
  // The serialized tf.Example of a row with these columns.
  [[nodiscard]] std::string Encode(const Row& row);

 private:
  void Add(const TensorSpec& column, const EncodedColumn& as, const Values& values);

  std::vector<TensorSpec> columns_;
  std::vector<EncodedColumn> encoded_;
  RequestFeatures requests_;
  ExampleWriter writer_;
};

}  // namespace tpuest::data
