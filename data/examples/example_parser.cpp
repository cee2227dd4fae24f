#include "data/examples/example_parser.h"

#include <utility>

#include "core/base/text.h"
#include "core/io/examples/sequence_example.h"
#include "data/literal.h"

namespace tpuest::data {
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

// A tensor of `shape` from that many values, or from one value for all elements.
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

// Only grows, so that a worker stops allocating.
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

Tensor DefaultTensor(const FixedLenFeature& feature, const std::string& key) {
  if (!feature.default_value) return {};
  return DefaultOf(*feature.default_value, FeatureDType(feature.dtype, key),
                   FeatureShape(feature.shape, key), key + ".default_value");
}

ExampleParser::ExampleParser(const std::map<std::string, FeatureOptions>& features,
                             const std::string& key) {
  for (const auto& [name, options] : features) {
    AddFeature(name, options, fmt::format("{}.{}", key, name));
  }
  const auto sparse = [&](const auto& options, size_t column) {
    if (const auto* const found = std::get_if<SparseFeature>(&options)) {
      AddSparse(*found, column, columns_[column].key);
    }
  };
  size_t column = 0;
  for (const auto& [name, options] : features) sparse(options, column++);
  // All names are set now, so views of them stay valid.
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].feature.empty()) continue;
    const auto [found, is_new] = by_name_.emplace(slots_[i].feature, i);
    if (is_new) continue;
    slots_[i].same_name = slots_[found->second].same_name;
    slots_[found->second].same_name = i;
    slots_[i].is_shared = slots_[found->second].is_shared = true;
  }
}

ExampleParser::ExampleParser(const SequenceExampleOptions& options, const std::string& key)
    : ExampleParser(options.context_features, key + ".context_features") {
  for (const auto& [name, feature] : options.context_features) {
    const bool is_sparse = std::holds_alternative<SparseFeature>(feature);
    if (!is_sparse && !options.sequence_features.contains(name)) continue;
    throw Error(Code::kUsage,
                is_sparse ? "SparseFeature stands in parse_example"
                          : fmt::format("\"{}\" is a feature of the context and of steps", name))
        .Key(fmt::format("{}.context_features.{}", key, name));
  }
  steps_begin_ = columns_.size();
  for (const auto& [name, feature] : options.sequence_features) {
    AddFeature(name, std::get<FixedLenSequenceFeature>(feature),
               fmt::format("{}.sequence_features.{}", key, name));
  }
  steps_end_ = columns_.size();
  // The added slots may have moved the names.
  by_name_.clear();
  for (size_t i = 0; i < steps_begin_; ++i) by_name_.emplace(slots_[i].feature, i);
  for (size_t i = steps_begin_; i < steps_end_; ++i) steps_by_name_.emplace(slots_[i].feature, i);
}

void ExampleParser::AddSlot(const std::string& feature, TensorSpec spec, Kind kind, Tensor value,
                            bool is_optional) {
  Slot slot{.feature = feature, .spec = std::move(spec), .kind = kind, .is_optional = is_optional};
  for (int i = 1; i < slot.spec.shape.rank(); ++i) {
    if (kind == Kind::kSteps) slot.of_step *= slot.spec.shape.dim(i);
  }
  slots_.push_back(std::move(slot));
  defaults_.push_back(std::move(value));
}

void ExampleParser::AddFeature(const std::string& name, const FeatureOptions& options,
                               const std::string& place) {
  const auto dtype =
      std::visit([&](const auto& o) { return FeatureDType(o.dtype, place); }, options);
  const auto column = [&](Shape shape) {
    return columns_.emplace_back(TensorSpec{name, dtype, std::move(shape), place});
  };
  if (const auto* const fixed = std::get_if<FixedLenFeature>(&options)) {
    const TensorSpec spec = column(FeatureShape(fixed->shape, place));
    Tensor value;
    if (fixed->default_value) {
      value = DefaultOf(*fixed->default_value, dtype, spec.shape, place + ".default_value");
    }
    AddSlot(name, spec, Kind::kFixed, std::move(value));
  } else if (const auto* const steps = std::get_if<FixedLenSequenceFeature>(&options)) {
    std::vector<int64_t> dims = FeatureShape(steps->shape, place).dims();
    if (Shape(dims).elements() == 0) {
      throw Error(Code::kUsage, "an element of no values: how many there are is not known")
          .Key(place + ".shape");
    }
    dims.insert(dims.begin(), kUnknownDim);
    AddSlot(name, column(Shape(dims)), Kind::kSteps, Tensor(), steps->allow_missing);
  } else if (const auto* const sparse = std::get_if<SparseFeature>(&options)) {
    if (sparse->size < 1) {
      throw Error(Code::kUsage, fmt::format("size is {}; expected 1 or more", sparse->size))
          .Key(place + ".size");
    }
    // The column is computed from two features and has none of its own name.
    AddSlot("", column(Shape({sparse->size})), Kind::kSparse, Tensor());
  } else {
    const auto* const ragged = std::get_if<RaggedFeature>(&options);
    const std::string feature = ragged == nullptr ? name : ragged->value_key.value_or(name);
    AddSlot(feature, column(Shape({kUnknownDim})), Kind::kList, Tensor());
  }
}

void ExampleParser::AddSparse(const SparseFeature& options, size_t column,
                              const std::string& place) {
  const TensorSpec& spec = columns_[column];
  Sparse sparse{.column = column, .indices = slots_.size(), .values = slots_.size() + 1};
  const Raw filler = options.default_value.value_or(Raw{spec.dtype == DType::kString ? "''" : "0"});
  sparse.filler = DefaultOf(filler, spec.dtype, spec.shape, place + ".default_value");
  const Shape list({kUnknownDim});
  AddSlot(options.index_key, {options.index_key, DType::kInt64, list, place}, Kind::kList,
          Tensor());
  AddSlot(options.value_key, {options.value_key, spec.dtype, list, place}, Kind::kList, Tensor());
  sparse_.push_back(std::move(sparse));
}

const Tensor& ExampleParser::filler(size_t i) const {
  const auto found = std::find_if(sparse_.begin(), sparse_.end(),
                                  [i](const Sparse& sparse) { return sparse.column == i; });
  Check(found != sparse_.end(), "column {} is no SparseFeature", i);
  return found->filler;
}

size_t ExampleParser::Find(std::string_view name, size_t next) const {
  if (next < columns_.size() && slots_[next].feature == name) return next;
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? kNone : found->second;
}

void ExampleParser::Parse(std::string_view example, ParsedExample& parsed) const {
  parsed.columns.resize(slots_.size());
  parsed.values.resize(slots_.size());
  // Marks features with the number of the parse, so that marks need not be cleared.
  ++parsed.parses;
  size_t next = 0;  // writers usually sort features by name, as columns_ is sorted
  ParseExample(example, [&](const FeatureView& feature) {
    size_t slot = Find(feature.name, next);
    // A feature without a list counts as missing.
    if (slot == kNone || feature.kind == FeatureKind::kNone) return;
    next = slot + 1;
    // The first slot of the feature.
    if (slots_[slot].is_shared) slot = by_name_.find(feature.name)->second;
    for (; slot != kNone; slot = slots_[slot].same_name) Take(feature, slot, parsed);
  });
  if (steps_begin_ != kNone) TakeSteps(example, parsed);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (parsed.columns[i].seen != parsed.parses && slots_[i].kind != Kind::kSparse) {
      TakeDefault(i, example, parsed);
    }
  }
  for (const Sparse& sparse : sparse_) TakeSparse(sparse, parsed);
}

void ExampleParser::Take(const FeatureView& feature, size_t slot, ParsedExample& parsed) const {
  const TensorSpec& spec = slots_[slot].spec;
  const auto count = static_cast<int64_t>(feature.count);
  const bool has_count = slots_[slot].kind == Kind::kFixed ? count == spec.shape.elements()
                                                           : count % slots_[slot].of_step == 0;
  if (feature.kind != KindOf(spec.dtype) || !has_count) {
    throw Error(Code::kData, fmt::format("feature \"{}\": expected {}, found {}", spec.name,
                                         Expected(slot), Found(feature)));
  }
  ParsedExample::Column& memory = parsed.columns[slot];
  memory.seen = parsed.parses;
  Values& values = parsed.values[slot];
  values.count = count;
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

// Each step of a list is a separate feature; the steps are concatenated.
void ExampleParser::TakeSteps(std::string_view example, ParsedExample& parsed) const {
  ParseFeatureLists(example, [&](std::string_view name, int64_t step, const FeatureView& feature) {
    const auto found = steps_by_name_.find(name);
    if (found == steps_by_name_.end()) return;
    const Slot& slot = slots_[found->second];
    ParsedExample::Column& memory = parsed.columns[found->second];
    Values& values = parsed.values[found->second];
    if (step == 0) values.count = 0;
    memory.seen = parsed.parses;
    if (feature.kind == FeatureKind::kNone && step < 0) return;  // a list without steps
    const auto count = static_cast<int64_t>(feature.count);
    if (feature.kind != KindOf(slot.spec.dtype) || count != slot.of_step) {
      throw Error(
          Code::kData,
          fmt::format("feature list \"{}\", step {}: expected {} of {} values, found {}", name,
                      step, NameOf(KindOf(slot.spec.dtype)), slot.of_step, Found(feature)));
    }
    const auto before = static_cast<size_t>(values.count);
    const size_t all = before + feature.count;
    values.count = static_cast<int64_t>(all);
    switch (feature.kind) {
      case FeatureKind::kBytes:
        feature.CopyBytes(Room(memory.strings, all).subspan(before));
        values.data = memory.strings.data();
        break;
      case FeatureKind::kFloat:
        feature.CopyFloats(Room(memory.floats, all).subspan(before));
        values.data = memory.floats.data();
        break;
      default:
        feature.CopyInts(Room(memory.ints, all).subspan(before));
        values.data = memory.ints.data();
    }
  });
}

void ExampleParser::TakeSparse(const Sparse& sparse, ParsedExample& parsed) const {
  const TensorSpec& spec = columns_[sparse.column];
  const Values& indices = parsed.values[sparse.indices];
  const Values& values = parsed.values[sparse.values];
  const auto refuse = [&](const std::string& found) {
    throw Error(Code::kData, fmt::format("feature \"{}\": {}", spec.name, found));
  };
  if (indices.count != values.count) {
    refuse(fmt::format("{} values of \"{}\" and {} of \"{}\"", indices.count,
                       slots_[sparse.indices].feature, values.count,
                       slots_[sparse.values].feature));
  }
  const int64_t size = spec.shape.dim(0);
  ParsedExample::Column& memory = parsed.columns[sparse.column];
  parsed.values[sparse.column].count = size;
  const auto* const places = static_cast<const int64_t*>(indices.data);
  // Marks the positions that already have a value, in the column's own memory.
  std::vector<int64_t>& taken = parsed.columns[sparse.indices].marks;
  taken.assign(static_cast<size_t>(size), 0);
  const auto scatter = [&]<class T>(std::vector<T>& row, const T* filler) {
    row.assign(filler, filler + size);
    for (int64_t i = 0; i < indices.count; ++i) {
      const int64_t place = places[i];
      if (place < 0 || place >= size)
        refuse(fmt::format("there is no place {} of {}", place, size));
      if (std::exchange(taken[static_cast<size_t>(place)], 1) != 0) {
        refuse(fmt::format("place {} has two values", place));
      }
      row[static_cast<size_t>(place)] = static_cast<const T*>(values.data)[i];
    }
    parsed.values[sparse.column].data = row.data();
  };
  if (spec.dtype == DType::kString) return scatter(memory.strings, sparse.filler.strings().data());
  if (spec.dtype == DType::kFloat) return scatter(memory.floats, sparse.filler.data<float>());
  scatter(memory.ints, sparse.filler.data<int64_t>());
}

void ExampleParser::TakeDefault(size_t slot, std::string_view example,
                                ParsedExample& parsed) const {
  const Tensor& value = defaults_[slot];
  if (value.valid()) {
    parsed.values[slot] = {value.raw(), value.elements()};
    return;
  }
  if (slots_[slot].kind != Kind::kFixed && slots_[slot].is_optional) {
    parsed.values[slot] = {nullptr, 0};
    return;
  }
  // There is no default. Only an error needs the features' names, so the example is read again for
  // them.
  std::vector<std::string> names;
  ParseExample(example, [&](const FeatureView& feature) { names.emplace_back(feature.name); });
  const std::string& name = slots_[slot].feature;
  const std::optional<std::string> nearest = Nearest(name, names);
  const bool is_fixed = slots_[slot].kind == Kind::kFixed;
  throw Error(Code::kData,
              fmt::format("feature \"{}\": expected {}, found none; the record has {}", name,
                          Expected(slot), names.empty() ? "no features" : Join(names, ", ")),
              nearest    ? fmt::format("did you mean '{}'?", *nearest)
              : is_fixed ? std::string("set default_value for records that lack the feature")
                         : std::string("allow_missing: true takes none as an empty list"));
}

std::string ExampleParser::Expected(size_t slot) const {
  const TensorSpec& spec = slots_[slot].spec;
  const std::string_view list = NameOf(KindOf(spec.dtype));
  if (slots_[slot].kind == Kind::kSteps) {
    return fmt::format("{} of elements of {} values (FixedLenSequenceFeature)", list,
                       slots_[slot].of_step);
  }
  if (slots_[slot].kind != Kind::kFixed) return fmt::format("{} (VarLenFeature)", list);
  const int64_t n = spec.shape.elements();
  return fmt::format("{} of {} value{} (FixedLenFeature {} {})", list, n, n == 1 ? "" : "s",
                     NameOf(spec.dtype), spec.shape.Text());
}

}  // namespace tpuest::data
