#include "core/io/examples/example.h"
#include "core/io/wire.h"

namespace tpuest {
namespace {

void AppendField(std::string& out, uint32_t field, std::string_view bytes) {
  AppendVarint(out, field << 3 | kLengthDelimited);
  AppendVarint(out, bytes.size());
  out += bytes;
}

}  // namespace

void ExampleWriter::Put(std::string_view name, FeatureKind kind, const std::string& list) {
  std::string feature;
  AppendField(feature, static_cast<uint32_t>(kind), list);
  features_.insert_or_assign(std::string(name), std::move(feature));
}

void ExampleWriter::Bytes(std::string_view name, std::span<const std::string_view> values) {
  std::string list;
  for (const std::string_view value : values) AppendField(list, 1, value);
  Put(name, FeatureKind::kBytes, list);
}

void ExampleWriter::Bytes(std::string_view name, std::string_view value) {
  Bytes(name, std::span(&value, 1));
}

void ExampleWriter::Floats(std::string_view name, std::span<const float> values) {
  std::string list;
  if (!values.empty()) {
    AppendField(list, 1, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  Put(name, FeatureKind::kFloat, list);
}

void ExampleWriter::Ints(std::string_view name, std::span<const int64_t> values) {
  std::string run;
  for (const int64_t value : values) AppendVarint(run, static_cast<uint64_t>(value));
  std::string list;
  if (!values.empty()) AppendField(list, 1, run);
  Put(name, FeatureKind::kInt64, list);
}

void ExampleWriter::Int(std::string_view name, int64_t value) { Ints(name, {&value, 1}); }

std::string ExampleWriter::Finish() {
  std::string features;
  for (const auto& [name, feature] : features_) {
    std::string entry;
    AppendField(entry, 1, name);
    AppendField(entry, 2, feature);
    AppendField(features, 1, entry);
  }
  features_.clear();
  std::string example;
  AppendField(example, 1, features);
  return example;
}

}  // namespace tpuest
