#pragma once
// Encodes rows of a source as tf.Examples, and decodes them: `tpuest convert` writes columns this
// way, and parsing receivers read them.

#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/io/examples/example.h"
#include "data/source.h"

namespace tpuest::data {

// The feature that holds a column. uint8 arrays become bytes under "<column>_raw"; integers and
// bools become an int64_list, floats a float_list, and strings a bytes_list, under the column's
// name. Throws kUsage for other types (a tf.Example has no float64).
struct EncodedColumn {
  std::string key;
  DType dtype = DType::kInvalid;  // float, int64 or string
  Shape shape;                    // of one example
};
[[nodiscard]] EncodedColumn EncodingOf(const TensorSpec& column);

// Adds nodes to the feature's graph that compute the column's values [batch, ...] from the
// feature's.
[[nodiscard]] Value DecodedNodes(const TensorSpec& column, Value feature);

// Adds a feature with these values of type `dtype`: strings unchanged, numbers converted to `as`,
// float or int64.
void WriteFeature(ExampleWriter& writer, std::string_view key, DType as, DType dtype,
                  const Values& values);

// The form of a feature in a request: numbers are float or int64, and a value equal to the default,
// of that dtype, is omitted. Without a default (an invalid tensor) the feature is always present.
struct RequestFeature {
  DType dtype = DType::kInvalid;
  Tensor default_value;
};
using RequestFeatures = std::map<std::string, RequestFeature>;
[[nodiscard]] bool IsDefault(const RequestFeature& feature, DType dtype, const Values& values);

// Writes rows as tf.Examples. Belongs to one thread.
class ExampleEncoder {
 public:
  // Writes the columns in `requests` as it says, and all others by EncodingOf.
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
