#include "data/examples/example_parser.h"

#include "core/base/text.h"
#include "data/literal.h"

namespace tpuest {
namespace {

FeatureKind KindOf(DType dtype) {
  switch (dtype) {
    case DType::kString:
      return FeatureKind::kBytes;
    case DType::kFloat:
      return FeatureKind::kFloat;
    default:
      return FeatureKind::kInt64;
  }
}

DType FeatureDType(const std::string& name, const std::string& key) {
  const std::optional<DType> dtype = DTypeFromName(name);
  if (dtype == DType::kString || dtype == DType::kFloat || dtype == DType::kInt64) return *dtype;
  throw Error(Code::kUsage,
              fmt::format("dtype is '{}'; tf.Examples hold string, int64 and float32", name))
      .Key(key + ".dtype");
}

Shape FeatureShape(const std::vector<int64_t>& dims, const std::string& key) {
  for (const int64_t dim : dims) {
    if (dim >= 0) continue;
    throw Error(Code::kUsage, fmt::format("shape has the dimension {}; expected 0 or more", dim))
        .Key(key + ".shape");
  }
  return Shape(dims);
}

// A tensor of `shape` from as many values, or from one for all elements.
Tensor DefaultOf(const Raw& raw, DType dtype, const Shape& shape, const std::string& key) {
  const Tensor given = ParseLiteral(raw, key).As(dtype, key);
  const int64_t n = shape.elements();
  if (given.elements() == n) return given.Reshaped(shape);
  if (given.elements() != 1) {
    throw Error(Code::kUsage,
                fmt::format("default_value has {} values; expected 1, or {} for shape {}",
                            given.elements(), n, shape.Text()))
        .Key(key);
  }
  if (dtype == DType::kString) {
    return Tensor::Strings(
        shape, std::vector<std::string>(static_cast<size_t>(n), std::string(given.strings()[0])));
  }
  Tensor all(dtype, shape);
  const size_t width = SizeOf(dtype);
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    std::memcpy(static_cast<char*>(all.raw()) + i * width, given.raw(), width);
  }
  return all;
}

// Grows only, so that a worker stops allocating.
template <class T>
std::span<T> Room(std::vector<T>& values, size_t count) {
  if (values.size() < count) values.resize(count);
  return std::span(values).first(count);
}

std::string Found(const FeatureView& feature) {
  return fmt::format("{} of {} value{}", NameOf(feature.kind), feature.count,
                     feature.count == 1 ? "" : "s");
}

}  // namespace

ExampleParser::ExampleParser(const std::map<std::string, FeatureOptions>& features,
                             const std::string& key) {
  for (const auto& [name, options] : features) {
    const std::string place = fmt::format("{}.{}", key, name);
    Tensor value;
    if (const auto* fixed = std::get_if<FixedLenFeature>(&options)) {
      const DType dtype = FeatureDType(fixed->dtype, place);
      columns_.push_back({name, dtype, FeatureShape(fixed->shape, place), place});
      if (fixed->default_value) {
        value = DefaultOf(*fixed->default_value, dtype, columns_.back().shape,
                          place + ".default_value");
      }
      variable_.push_back(false);
    } else {
      const DType dtype = FeatureDType(std::get<VarLenFeature>(options).dtype, place);
      columns_.push_back({name, dtype, Shape({kUnknownDim}), place});
      variable_.push_back(true);
    }
    defaults_.push_back(std::move(value));
  }
  for (size_t i = 0; i < columns_.size(); ++i) by_name_.emplace(columns_[i].name, i);
}

size_t ExampleParser::Find(std::string_view name, size_t next) const {
  if (next < columns_.size() && columns_[next].name == name) return next;
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? columns_.size() : found->second;
}

void ExampleParser::Parse(std::string_view example, ParsedExample& parsed) const {
  parsed.columns.resize(columns_.size());
  parsed.values.resize(columns_.size());
  // Features are marked with the number of the parse, so that no marks need to be cleared.
  ++parsed.parses;
  size_t next = 0;  // writers put features in the order of their names, as columns_ has them
  ParseExample(example, [&](const FeatureView& feature) {
    const size_t column = Find(feature.name, next);
    // A feature that holds no list at all is as good as none.
    if (column == columns_.size() || feature.kind == FeatureKind::kNone) return;
    next = column + 1;
    Take(feature, column, parsed);
  });
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (parsed.columns[i].seen != parsed.parses) TakeDefault(i, example, parsed);
  }
}

void ExampleParser::Take(const FeatureView& feature, size_t column, ParsedExample& parsed) const {
  const TensorSpec& spec = columns_[column];
  const bool fits =
      feature.kind == KindOf(spec.dtype) &&
      (variable_[column] || static_cast<int64_t>(feature.count) == spec.shape.elements());
  if (!fits) {
    throw Error(Code::kData, fmt::format("feature \"{}\": expected {}, found {}", spec.name,
                                         Expected(column), Found(feature)));
  }
  ParsedExample::Column& memory = parsed.columns[column];
  memory.seen = parsed.parses;
  Values& values = parsed.values[column];
  values.count = static_cast<int64_t>(feature.count);
  switch (feature.kind) {
    case FeatureKind::kBytes:
      feature.CopyBytes(Room(memory.strings, feature.count));
      values.data = memory.strings.data();
      break;
    case FeatureKind::kFloat:
      feature.CopyFloats(Room(memory.floats, feature.count));
      values.data = memory.floats.data();
      break;
    default:
      feature.CopyInts(Room(memory.ints, feature.count));
      values.data = memory.ints.data();
  }
}

void ExampleParser::TakeDefault(size_t column, std::string_view example,
                                ParsedExample& parsed) const {
  const Tensor& value = defaults_[column];
  if (value.valid()) {
    parsed.values[column] = {value.raw(), value.elements()};
    return;
  }
  if (variable_[column]) {
    parsed.values[column] = {nullptr, 0};
    return;
  }
  // Nothing stands in. The example is read again for its features' names: only an error needs them.
  std::vector<std::string> names;
  ParseExample(example, [&](const FeatureView& feature) { names.emplace_back(feature.name); });
  const std::string& name = columns_[column].name;
  const std::optional<std::string> nearest = Nearest(name, names);
  throw Error(Code::kData,
              fmt::format("feature \"{}\": expected {}, found none; the record has {}", name,
                          Expected(column), names.empty() ? "no features" : Join(names, ", ")),
              nearest ? fmt::format("did you mean '{}'?", *nearest)
                      : std::string("a default_value stands in where a record has none"));
}

std::string ExampleParser::Expected(size_t column) const {
  const TensorSpec& spec = columns_[column];
  const std::string_view list = NameOf(KindOf(spec.dtype));
  if (variable_[column]) return fmt::format("{} (VarLenFeature)", list);
  const int64_t n = spec.shape.elements();
  return fmt::format("{} of {} value{} (FixedLenFeature {} {})", list, n, n == 1 ? "" : "s",
                     NameOf(spec.dtype), spec.shape.Text());
}

}  // namespace tpuest
