#include "data/examples/map_step.h"

#include <cmath>
#include <cstring>

#include "core/base/text.h"
#include "core/kernels/fingerprint.h"
#include "core/kernels/isa/cast.h"
#include "core/nn/formula/formula.h"

namespace tpuest::data {
namespace {

// Throws the errors of one op; they name the op, its column and the column's type.
class Refusal {
 public:
  Refusal(const MapOptions& options, const TensorSpec& spec, std::string key)
      : op_(OpName(options)), columns_(ColumnsOf(options)), spec_(spec), key_(std::move(key)) {}
  [[noreturn]] void operator()(const std::string& what, const std::string& hint = "") const {
    throw Error(Code::kUsage,
                fmt::format("{} of \"{}\" ({} {}): {}", op_, columns_.in, NameOf(spec_.dtype),
                            spec_.shape.Text(), what),
                hint)
        .Key(key_);
  }

 private:
  std::string_view op_;
  const MapColumns& columns_;
  const TensorSpec& spec_;
  std::string key_;
};

// True for lists of any length and images of any size.
bool IsRagged(const TensorSpec& spec) { return !spec.shape.fully_known(); }

DType DTypeNamed(const std::string& name, const Refusal& refuse) {
  const std::optional<DType> dtype = DTypeFromName(name);
  // Strings have no size here, and no kernel computes in half.
  if (!dtype || SizeOf(*dtype) == 0 || *dtype == DType::kHalf) {
    refuse(fmt::format("no numeric dtype is named '{}'", name));
  }
  return *dtype;
}

// Converts as static_cast does: fractions are truncated, and any number but 0 is true. Looks up the
// kernel when a step runs, because jobs are checked before the processor's kernels are chosen.
class CastStep final : public MapStep {
 public:
  CastStep(DType from, DType to) : from_(from), to_(to) {}
  void Run(const void* in, int64_t count, void* out) const override {
    FindCast(from_, to_)(in, out, static_cast<size_t>(count));
  }

 private:
  DType from_, to_;
};

// The bytes of a number of a type.
std::vector<char> BytesOf(double value, DType dtype) {
  std::vector<char> bytes(SizeOf(dtype));
  DispatchDType(dtype, [&]<class T>() {
    const T converted = ConvertTo<T>(value);
    std::memcpy(bytes.data(), &converted, sizeof converted);
  });
  return bytes;
}

// Rescaling: x * scale + offset in T; bfloat16 is computed in float and rounded. The product is
// rounded once, so a scale of 1/255 gives the same as a division by 255.
template <class T>
class AffineStep final : public MapStep {
 public:
  using Wide = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
  AffineStep(double scale, double offset) : scale_(scale), offset_(static_cast<Wide>(offset)) {}
  void Run(const void* in, int64_t count, void* out) const override {
    const auto* const from = static_cast<const T*>(in);
    auto* const to = static_cast<T*>(out);
    for (int64_t i = 0; i < count; ++i) {
      const auto scaled = static_cast<Wide>(static_cast<double>(ConvertTo<Wide>(from[i])) * scale_);
      to[i] = ConvertTo<T>(scaled + offset_);
    }
  }
  [[nodiscard]] bool in_place() const override { return true; }

 private:
  double scale_;
  Wide offset_;
};

template <class T>
class AddStep final : public MapStep {
 public:
  using Wide = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
  explicit AddStep(double value) : value_(static_cast<Wide>(value)) {}
  void Run(const void* in, int64_t count, void* out) const override {
    auto* const to = static_cast<T*>(out);
    if (in != out) std::memcpy(to, in, static_cast<size_t>(count) * sizeof(T));
    for (int64_t i = 0; i < count; ++i) to[i] = Sum(to[i]);
  }
  [[nodiscard]] bool in_place() const override { return true; }

 private:
  [[nodiscard]] T Sum(T x) const {
    if constexpr (std::is_integral_v<T>) {
      // Integers wrap around, as in TensorFlow.
      return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(value_));
    } else {
      return ConvertTo<T>(ConvertTo<Wide>(x) + value_);
    }
  }
  Wide value_;
};

template <class T>
// Normalization: (x - mean) / std over rows with as many values as there are means: the last axis,
// or single values.
class NormalizeStep final : public MapStep {
 public:
  using Wide = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
  NormalizeStep(const std::vector<double>& mean, const std::vector<double>& std)
      : mean_(mean.begin(), mean.end()), std_(std.begin(), std.end()) {}
  void Run(const void* in, int64_t count, void* out) const override {
    auto* const to = static_cast<T*>(out);
    if (in != out) std::memcpy(to, in, static_cast<size_t>(count) * sizeof(T));
    const auto channels = static_cast<int64_t>(mean_.size());
    for (int64_t first = 0; first < count; first += channels) {
      for (int64_t c = 0; c < channels; ++c) {
        const auto at = static_cast<size_t>(c);
        to[first + c] = ConvertTo<T>((ConvertTo<Wide>(to[first + c]) - mean_[at]) / std_[at]);
      }
    }
  }
  [[nodiscard]] bool in_place() const override { return true; }

 private:
  std::vector<Wide> mean_;
  std::vector<Wide> std_;
};

// One-hot vectors: count values become count * depth; fills them with `off`, then writes `on` at
// each valid index.
class OneHotStep final : public MapStep {
 public:
  OneHotStep(DType from, DType to, const OneHotMap& options)
      : depth_(options.depth), from_(from), on_(BytesOf(options.on_value, to)) {
    const std::vector<char> off = BytesOf(options.off_value, to);
    for (int64_t i = 0; i < depth_; ++i) off_row_.insert(off_row_.end(), off.begin(), off.end());
  }
  void Run(const void* in, int64_t count, void* out) const override {
    const auto* from = static_cast<const char*>(in);
    auto* row = static_cast<char*>(out);
    const CastKernel to_index = FindCast(from_, DType::kInt64);
    for (int64_t i = 0; i < count; ++i, from += SizeOf(from_), row += off_row_.size()) {
      int64_t index = 0;
      to_index(from, &index, 1);
      std::memcpy(row, off_row_.data(), off_row_.size());
      if (index < 0 || index >= depth_) continue;
      std::memcpy(row + static_cast<size_t>(index) * on_.size(), on_.data(), on_.size());
    }
  }
  [[nodiscard]] int64_t outputs_per_input() const override { return depth_; }

 private:
  int64_t depth_;
  DType from_;
  std::vector<char> on_;       // one value
  std::vector<char> off_row_;  // depth_ values
};

// Casts to float and runs a step of floats in place on the result.
class FloatFirstStep final : public MapStep {
 public:
  FloatFirstStep(std::unique_ptr<MapStep> cast, std::unique_ptr<MapStep> step)
      : cast_(std::move(cast)), step_(std::move(step)) {}
  void Run(const void* in, int64_t count, void* out) const override {
    cast_->Run(in, count, out);
    step_->Run(out, count, out);
  }

 private:
  std::unique_ptr<MapStep> cast_;
  std::unique_ptr<MapStep> step_;
};

// Makes a step by make.operator()<T>() for the column's type; for integers, makes one for float32
// after a cast.
template <class Make>
MappedColumn FloatStep(const TensorSpec& spec, Make make) {
  MappedColumn mapped{spec, nullptr, std::nullopt};
  if (!IsFloating(spec.dtype)) mapped.spec.dtype = DType::kFloat;
  DispatchDType(mapped.spec.dtype, [&]<class T>() {
    if constexpr (!std::is_integral_v<T>) mapped.step = make.template operator()<T>();
  });
  if (IsFloating(spec.dtype)) return mapped;
  mapped.step = std::make_unique<FloatFirstStep>(
      std::make_unique<CastStep>(spec.dtype, DType::kFloat), std::move(mapped.step));
  return mapped;
}

void CheckKnownShape(const Shape& shape, const Refusal& refuse) {
  for (const int64_t dim : shape.dims()) {
    if (dim < 0) refuse(fmt::format("shape {} must be known", shape.Text()));
  }
}

MappedColumn Resolve(const DecodeRawMap& o, const TensorSpec& spec, const Refusal& refuse) {
  if (spec.dtype != DType::kString || spec.shape.rank() != 0) {
    refuse("expected one string an example");
  }
  const DType dtype = DTypeNamed(o.out_type, refuse);
  const Shape shape(o.shape);
  CheckKnownShape(shape, refuse);
  const bool swap = !o.little_endian && SizeOf(dtype) > 1;
  return {{spec.name, dtype, shape}, nullptr, RawDecoder{dtype, shape.elements(), swap}};
}

MappedColumn Resolve(const CastMap& o, const TensorSpec& spec, const Refusal& refuse) {
  const DType dtype = DTypeNamed(o.dtype, refuse);
  MappedColumn mapped{{spec.name, dtype, spec.shape}, nullptr, std::nullopt};
  if (dtype == spec.dtype) return mapped;
  mapped.step = std::make_unique<CastStep>(spec.dtype, dtype);
  return mapped;
}

MappedColumn Resolve(const RescalingMap& o, const TensorSpec& spec, const Refusal&) {
  return FloatStep(spec, [&]<class T>() -> std::unique_ptr<MapStep> {
    return std::make_unique<AffineStep<T>>(o.scale, o.offset);
  });
}

MappedColumn Resolve(const ReshapeMap& o, const TensorSpec& spec, const Refusal& refuse) {
  if (IsRagged(spec)) refuse("the number of values is not fixed");
  const int64_t elements = spec.shape.elements();
  std::vector<int64_t> dims = o.shape;
  int64_t known = 1;
  int64_t* free = nullptr;
  for (int64_t& dim : dims) {
    if (dim < -1 || (dim == -1 && free != nullptr)) {
      refuse(fmt::format("shape {}: one dimension may be -1, none less", Shape(o.shape).Text()));
    }
    if (dim == -1) {
      free = &dim;
    } else {
      known *= dim;
    }
  }
  // -1 is the size that fills the shape; the check below refuses shapes that no size fills.
  if (free != nullptr) *free = known == 0 ? 0 : elements / known;
  if (Shape(dims).elements() != elements) {
    refuse(fmt::format("{} values do not fill shape {}", elements, Shape(o.shape).Text()));
  }
  return {{spec.name, spec.dtype, Shape(dims)}, nullptr, std::nullopt};
}

MappedColumn Resolve(const OneHotMap& o, const TensorSpec& spec, const Refusal& refuse) {
  if (!IsInteger(spec.dtype)) refuse("expected whole numbers", "put a cast before it");
  if (IsRagged(spec)) refuse("the number of values is not fixed");
  if (o.depth < 1) refuse(fmt::format("depth is {}; expected 1 or more", o.depth));
  const DType dtype = DTypeNamed(o.dtype, refuse);
  std::vector<int64_t> dims = spec.shape.dims();
  dims.push_back(o.depth);
  MappedColumn mapped{{spec.name, dtype, Shape(dims)}, nullptr, std::nullopt};
  mapped.step = std::make_unique<OneHotStep>(spec.dtype, dtype, o);
  return mapped;
}

MappedColumn Resolve(const AddMap& o, const TensorSpec& spec, const Refusal& refuse) {
  if (spec.dtype == DType::kBool) refuse("truth values cannot be added", "put a cast before it");
  if (IsInteger(spec.dtype) && o.value != std::floor(o.value)) {
    refuse(fmt::format("{} is not whole", NumberText(o.value)), "put a cast before it");
  }
  MappedColumn mapped{spec, nullptr, std::nullopt};
  DispatchDType(spec.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      // A cast of a negative double to an unsigned type is undefined; through int64 it wraps
      // around.
      if constexpr (std::is_unsigned_v<T>) {
        // A negative value wraps around.
        mapped.step = std::make_unique<AddStep<T>>(
            static_cast<double>(static_cast<T>(static_cast<int64_t>(o.value))));
      } else {
        mapped.step = std::make_unique<AddStep<T>>(o.value);
      }
    }
  });
  return mapped;
}

MappedColumn Resolve(const NormalizeMap& o, const TensorSpec& spec, const Refusal& refuse) {
  if (o.mean.empty() || o.mean.size() != o.std.size()) {
    refuse(fmt::format("mean has {} values, std has {}; expected as many, 1 or more", o.mean.size(),
                       o.std.size()));
  }
  for (const double std : o.std) {
    if (std == 0) refuse("std holds 0");
  }
  const auto n = static_cast<int64_t>(o.mean.size());
  const int64_t last = spec.shape.rank() == 0 ? 1 : spec.shape.dim(-1);
  if (n != 1 && n != last) {
    refuse(
        fmt::format("mean has {} values; expected 1, or one for each index of the last axis", n));
  }
  return FloatStep(spec, [&]<class T>() -> std::unique_ptr<MapStep> {
    return std::make_unique<NormalizeStep<T>>(o.mean, o.std);
  });
}

template <class Op>
MappedColumn ResolveImage(const Op& o, const TensorSpec& spec, const std::string& name,
                          const Refusal& refuse) {
  try {
    ImageColumn column = ResolveImageOp(o, spec, Fingerprint64(name));
    return {std::move(column.spec), nullptr, std::nullopt, std::move(column.op)};
  } catch (const Error& error) {
    refuse(error.message(), error.faults().front().hint);
  }
}

}  // namespace

const MapColumns& ColumnsOf(const MapOptions& options) {
  return std::visit([](const auto& o) -> const MapColumns& { return o; }, options);
}

std::vector<KeyedMap> MapOf(const InputFnOptions& options, std::optional<size_t> end) {
  std::vector<KeyedMap> ops;
  const auto add = [&](const std::vector<MapOptions>& map, const std::string& key) {
    for (size_t i = 0; i < map.size(); ++i) ops.push_back({&map[i], fmt::format("{}[{}]", key, i)});
  };
  if (options.stages.empty()) add(options.map, "map");
  for (size_t i = 0; i < end.value_or(options.stages.size()); ++i) {
    add(options.stages[i].map, fmt::format("stages[{}].map", i));
  }
  return ops;
}

std::set<std::string> ColumnsIn(const Formula& formula, const std::set<std::string>& columns) {
  std::set<std::string> found;
  for (const std::string& name : nn::NamesIn(formula)) {
    if (name == "features") return columns;
    if (columns.contains(name)) found.insert(name);
  }
  return found;
}

std::set<std::string> InputsOf(const MapOptions& options, const std::set<std::string>& columns) {
  const auto* const expr = std::get_if<ExprMap>(&options);
  if (expr == nullptr) return {ColumnsOf(options).in};
  return ColumnsIn(expr->value, columns);
}

bool IsRandom(const MapOptions& options) {
  return std::visit(
      []<class Op>(const Op& /*o*/) {
        return std::is_same_v<Op, DecodeRandomCropMap> || std::is_same_v<Op, RandomCropMap> ||
               std::is_same_v<Op, DistortedBoxMap> || std::is_same_v<Op, FlipLeftRightMap> ||
               std::is_same_v<Op, FlipUpDownMap> || std::is_same_v<Op, RandomBrightnessMap> ||
               std::is_same_v<Op, RandomContrastMap> || std::is_same_v<Op, RandomSaturationMap> ||
               std::is_same_v<Op, RandomHueMap>;
      },
      options);
}

std::string_view OpName(const MapOptions& options) {
  return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kType; }, options);
}

MappedColumn ResolveMap(const MapOptions& options, const TensorSpec& spec, const std::string& key,
                        const std::string& name) {
  const Refusal refuse(options, spec, key);
  return std::visit(
      [&]<class Op>(const Op& o) -> MappedColumn {
        if constexpr (std::is_same_v<Op, ExprMap>) {
          refuse("a formula is of several columns");
        } else if constexpr (std::is_base_of_v<ImageMap, Op>) {
          return ResolveImage(o, spec, name, refuse);
        } else {
          constexpr bool kTakesStrings =
              std::is_same_v<Op, DecodeRawMap> || std::is_same_v<Op, ReshapeMap>;
          if (spec.dtype == DType::kString && !kTakesStrings) {
            refuse("expected numbers", "decode_raw makes numbers of bytes, decode_image pixels");
          }
          return Resolve(o, spec, refuse);
        }
      },
      options);
}

}  // namespace tpuest::data
