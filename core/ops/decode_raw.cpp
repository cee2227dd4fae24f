// Interprets the bytes of strings as numbers.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "core/graph/bound_op.h"
#include "core/ops/parsing.h"
#include "core/ops/shape_rules.h"
#include "core/tensor/bool_bytes.h"

namespace tpuest::ops {

Value DecodeRaw(Value bytes, DType out_type, bool little_endian, std::string_view name) {
  return bytes.graph().Add("DecodeRaw", {bytes},
                           {{"out_type", out_type}, {"little_endian", little_endian}}, name);
}

namespace {

// True for ops whose result has its input's shape, if the other input is no larger.
bool KeepsShape(const Node& node) {
  static constexpr std::string_view kOps[] = {"Cast", "Identity", "Mul", "Sub", "AddV2", "RealDiv"};
  return std::find(std::begin(kOps), std::end(kOps), node.type()) != std::end(kOps);
}

// Returns the number of elements of a row; nullopt unless all dimensions after the first are known.
std::optional<int64_t> ElementsOfRow(const Shape& shape) {
  if (!shape.known_rank() || shape.rank() == 0) return std::nullopt;
  const Shape row(std::vector<int64_t>(shape.dims().begin() + 1, shape.dims().end()));
  if (!row.fully_known()) return std::nullopt;
  return row.elements();
}

// Returns how many numbers each string has, from the shape to which a Reshape of x brings them; the
// numbers are x's last axis. Rows stay rows: a batch of any size is reshaped to [-1, ...] or
// [batch, ...].
std::optional<int64_t> CountFromReshape(const Shape& x, const Shape& result) {
  if (x.rank() == 2) return ElementsOfRow(result);
  const Shape strings(std::vector<int64_t>(x.dims().begin(), x.dims().end() - 1));
  if (!strings.fully_known() || !result.fully_known() || strings.elements() == 0) {
    return std::nullopt;
  }
  return result.elements() / strings.elements();
}

std::optional<int64_t> CountFromReaders(const Value& x) {
  if (!x.shape().known_rank()) return std::nullopt;
  for (const auto& reader : x.graph().nodes()) {
    const auto& inputs = reader->inputs();
    if (std::find(inputs.begin(), inputs.end(), x) == inputs.end()) continue;
    const Value result = reader->output(0);
    std::optional<int64_t> count;
    if (reader->type() == "Reshape") {
      count = CountFromReshape(x.shape(), result.shape());
    } else if (KeepsShape(*reader) && result.shape().rank() == x.shape().rank()) {
      const int64_t last = result.shape().dim(-1);
      count = last == kUnknownDim ? CountFromReaders(result) : last;
    }
    if (count) return count;
  }
  return std::nullopt;
}

void DecodeRawShape(ShapeContext& context) {
  const Shape& strings = context.Input(0);
  if (!strings.known_rank()) return context.Output(0, Shape::UnknownRank());
  std::vector<int64_t> dims = strings.dims();
  const bool counted = context.node().HasAttr("count");
  dims.push_back(counted ? context.node().Attr<int64_t>("count") : kUnknownDim);
  context.Output(0, Shape(std::move(dims)));
}

BoundOp BindDecodeRaw(const Node& node) {
  const std::optional<int64_t> count = CountFromReaders(Value{const_cast<Node*>(&node), 0});
  if (!count) {
    throw Error(
        Code::kUsage,
        fmt::format("{} '{}': the number of values in a string is known only when it is read",
                    node.type(), node.name()),
        "let a Reshape to known dimensions follow")
        .At(node.origin());
  }
  Attrs attrs = node.attrs();
  attrs["count"] = *count;
  return {"_DecodeRawOf", attrs};
}

void PlanUncounted(PlanContext& context) {
  Check(false, "'{}' must be bound before it is planned", context.node().name());
}

void PlanDecodeRaw(PlanContext& context) {
  const Node* const node = &context.node();
  const DType dtype = context.OutputDType(0);
  const size_t width = SizeOf(dtype);
  const size_t bytes = static_cast<size_t>(context.Attr<int64_t>("count")) * width;
  const bool machine_is_little = std::endian::native == std::endian::little;
  const bool swap = width > 1 && context.Attr<bool>("little_endian") != machine_is_little;
  const int64_t strings = context.InputShape(0).elements();
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < strings; ++i) {
      const std::string_view text = task.At<std::string_view>(x)[i];
      if (text.size() != bytes) {
        throw Error(Code::kData, fmt::format("DecodeRaw '{}': string {} of the batch has {} bytes, "
                                             "expected {} ({} of {} bytes)",
                                             node->name(), i, text.size(), bytes,
                                             width == 0 ? 0 : bytes / width, width))
            .At(node->origin());
      }
      char* const out = task.At<char>(y) + static_cast<size_t>(i) * bytes;
      std::memcpy(out, text.data(), bytes);
      NormalizeBools(dtype, out, bytes);
      for (size_t at = 0; swap && at < bytes; at += width) {
        std::reverse(out + at, out + at + width);
      }
    }
  });
}

const OpDef kRawOps[] = {
    {.name = "DecodeRaw",
     .signature = "bytes: string -> output: out_type; out_type: half|float|double|int32|uint16|"
                  "uint8|int16|int8|int64|bool|bfloat16; little_endian: bool = true",
     .shape = DecodeRawShape,
     .grad = NoGradient,
     .cpu = PlanUncounted,
     .bind = BindDecodeRaw,
     .host = true},
    // DecodeRaw of strings with `count` numbers each.
    {.name = "_DecodeRawOf",
     .signature = "bytes: string -> output: out_type; out_type: half|float|double|int32|uint16|"
                  "uint8|int16|int8|int64|bool|bfloat16; little_endian: bool; count: int >= 0",
     .shape = DecodeRawShape,
     .cpu = PlanDecodeRaw,
     .host = true},
};

}  // namespace

OpFamily RawOps() { return kRawOps; }

}  // namespace tpuest::ops
