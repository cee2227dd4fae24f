#pragma once
// Reads tf.Example (TensorFlow's example.proto and feature.proto) directly from its wire bytes,
// without a copy, and writes it with sorted names. Lists of numbers may be packed or not. Errors
// are of Code::kData and name the byte of the Example; the caller adds the file and the record.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tpuest {

// The values are the field numbers of a Feature.
enum class FeatureKind { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

// "bytes_list", "float_list", "int64_list", "no list".
[[nodiscard]] std::string_view NameOf(FeatureKind kind);

// One feature of an Example. All views point into the Example's bytes, which have been checked:
// reading the values cannot fail.
struct FeatureView {
  std::string_view name;
  FeatureKind kind = FeatureKind::kNone;
  size_t count = 0;       // values in the list
  std::string_view list;  // the list message's bytes

  // Each writes `count` values; `kind` must match.
  void CopyBytes(std::span<std::string_view> values) const;
  void CopyFloats(std::span<float> values) const;
  void CopyInts(std::span<int64_t> values) const;
};

// Walks the features of an Example in the order of its bytes. If a name occurs twice, Next yields
// both, and the later one counts, as in any protobuf map.
class ExampleCursor {
 public:
  explicit ExampleCursor(std::string_view example);
  // Reads the next feature; returns false at the end.
  [[nodiscard]] bool Next(FeatureView& feature);

 private:
  std::string_view example_;   // the whole Example
  std::string_view rest_;      // bytes of the Example after `features_`
  std::string_view features_;  // of the Features message being walked
};

// Calls visitor(const FeatureView&) for each feature.
template <class Visitor>
void ParseExample(std::string_view example, Visitor&& visitor) {
  ExampleCursor cursor(example);
  FeatureView feature;
  while (cursor.Next(feature)) visitor(static_cast<const FeatureView&>(feature));
}

// Builds an Example; the order of the calls does not change the bytes.
class ExampleWriter {
 public:
  void Bytes(std::string_view name, std::span<const std::string_view> values);
  void Bytes(std::string_view name, std::string_view value);
  void Floats(std::string_view name, std::span<const float> values);
  void Ints(std::string_view name, std::span<const int64_t> values);
  void Int(std::string_view name, int64_t value);
  // Returns the Example's bytes and empties the writer.
  [[nodiscard]] std::string Finish();

 private:
  void Put(std::string_view name, FeatureKind kind, const std::string& list);
  std::map<std::string, std::string, std::less<>> features_;  // name to encoded Feature
};

}  // namespace tpuest
