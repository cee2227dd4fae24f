#include "core/ops/batch_norm.h"

#include "core/graph/flops.h"
#include "core/graph/gradient.h"
#include "core/ops/array.h"
#include "core/ops/batch_norm_parts.h"
#include "core/ops/elementwise.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

bool IsTraining(const Node& node) { return node.Attr<bool>("is_training"); }
float EpsilonOf(const Node& node) { return node.Attr<float>("epsilon"); }

// The number of values per channel.
int64_t CountOf(const Shape& x) { return LinesOf(x); }

const std::string& FormatOf(const Node& node) { return node.Attr<std::string>("data_format"); }
bool IsChannelsFirst(const Node& node) { return FormatOf(node) == "NCHW"; }

// Returns an input of the node as [N, H, W, C].
Value ChannelsLast(const Node& node, int input) {
  const Value x = node.input(input);
  return IsChannelsFirst(node) ? Transpose(x, {0, 2, 3, 1}) : x;
}

// Returns an image [N, H, W, C] in the node's format.
Value InFormatOf(const Node& node, Value image) {
  return IsChannelsFirst(node) ? Transpose(image, {0, 3, 1, 2}) : image;
}

void CheckImage(const ShapeContext& c, const Shape& x, DType statistics) {
  const std::string& format = FormatOf(c.node());
  if (format != "NHWC" && format != "NCHW") {
    c.Fail(fmt::format("data_format is {}, expected NHWC or NCHW", format));
  }
  NeedRank(c, x, 4, "the image");
  const DType wide = c.node().input(0).dtype() == DType::kDouble ? DType::kDouble : DType::kFloat;
  if (statistics != wide) {
    c.Fail(
        fmt::format("scale and statistics are {}, expected {}", NameOf(statistics), NameOf(wide)));
  }
}

Shape Channels(const Node& node, const Shape& x) {
  return {x.known_rank() ? x.dim(IsChannelsFirst(node) ? 1 : 3) : kUnknownDim};
}

void CheckChannels(const ShapeContext& c, const Shape& channels, int first, int last) {
  for (int i = first; i <= last; ++i) {
    if (!Compatible(channels, c.Input(i))) {
      c.Fail(fmt::format("the image has {} channels, but {} is {}", channels.dim(0),
                         c.node().signature().inputs[static_cast<size_t>(i)].name,
                         c.Input(i).Text()));
    }
  }
}

void BatchNormShape(ShapeContext& c) {
  const Shape& x = c.Input(0);
  CheckImage(c, x, c.node().input(1).dtype());
  const Shape channels = Channels(c.node(), x);
  const bool reads_moving =
      !IsTraining(c.node()) || c.node().Attr<float>("exponential_avg_factor") != 1.0F;
  CheckChannels(c, channels, 1, reads_moving ? 4 : 2);
  c.Output(0, x);
  for (int i = 1; i <= 4; ++i) c.Output(i, channels);
  c.Output(5, Shape());
}

void BatchNormGradShape(ShapeContext& c) {
  const Shape& x = c.Input(1);
  CheckImage(c, x, c.node().input(2).dtype());
  if (!Compatible(x, c.Input(0))) {
    c.Fail(fmt::format("the image is {}, but its gradient is {}", x.Text(), c.Input(0).Text()));
  }
  const Shape channels = Channels(c.node(), x);
  CheckChannels(c, channels, 2, 4);
  c.Output(0, x);
  for (const int i : {1, 2}) c.Output(i, channels);
  for (const int i : {3, 4}) c.Output(i, {0});
}

// TensorFlow's gradient of the inference op uses the given moving statistics; that of the training
// op uses the statistics in its reserved outputs.
void BatchNormGradient(GradContext& c) {
  if (!c.Dy(0).valid()) return;
  const bool training = IsTraining(c.node());
  Attrs attrs{{"epsilon", EpsilonOf(c.node())}, {"is_training", training}};
  if (IsChannelsFirst(c.node())) attrs.emplace("data_format", FormatOf(c.node()));
  Node* const grad =
      c.graph().AddNode("FusedBatchNormGradV3",
                        {c.Dy(0), c.input(0), c.input(1), training ? c.output(3) : c.input(3),
                         training ? c.output(4) : c.input(4), c.output(5)},
                        std::move(attrs));
  for (int i = 0; i < 3; ++i) c.SetDx(i, grad->output(i));
}

// Mixes the moving value and the batch's value by the op's attributes.
Value Mixed(const Node& node, Value moving, Value batch) {
  const float factor = node.Attr<float>("exponential_avg_factor");
  if (factor == 1.0F) return batch;
  return AddV2(Mul(moving, 1.0 - static_cast<double>(factor)),
               Mul(batch, static_cast<double>(factor)));
}

bool ExpandBatchNorm(Node& node, std::vector<Value>& results) {
  const Value x = ChannelsLast(node, 0);
  const Value scale = node.input(1);
  const Value offset = node.input(2);
  const float epsilon = EpsilonOf(node);
  const Value reserved = node.graph().ScalarOf(scale.dtype(), 0.0, "reserve_space_3");
  if (!IsTraining(node)) {
    const Value mean = node.input(3);
    const Value variance = node.input(4);
    const Value y = BatchNormApply(x, scale, offset, mean, variance, epsilon);
    results = {InFormatOf(node, y), mean, variance, mean, variance, reserved};
    return true;
  }
  const auto count = static_cast<double>(CountOf(x.shape()));
  const Value mean = RealDiv(BatchNormSum(x, scale.dtype()), count, "mean");
  const Value squares = BatchNormCenteredSquareSum(x, mean);
  const Value variance = RealDiv(squares, count, "variance");
  const Value unbiased = RealDiv(squares, count > 1 ? count - 1 : 1.0, "unbiased_variance");
  const Value y = BatchNormApply(x, scale, offset, mean, variance, epsilon);
  results = {InFormatOf(node, y),
             Mixed(node, node.input(3), mean),
             Mixed(node, node.input(4), unbiased),
             mean,
             variance,
             reserved};
  return true;
}

bool ExpandBatchNormGrad(Node& node, std::vector<Value>& results) {
  const Value dy = ChannelsLast(node, 0);
  const Value x = ChannelsLast(node, 1);
  const Value scale = node.input(2);
  const Value mean = node.input(3);
  const Value variance = node.input(4);
  const float epsilon = EpsilonOf(node);
  const int64_t count = IsTraining(node) ? CountOf(x.shape()) : 0;
  const auto sums = BatchNormGradSums(dy, x, mean, variance, epsilon);
  const Value dx = BatchNormGradApply(dy, x, scale, mean, variance, sums, epsilon, count);
  const Value none = Zeros(node.graph(), scale.dtype(), {0}, "reserve_space");
  results = {InFormatOf(node, dx), sums.dot, sums.dy_sum, none, none};
  return true;
}

const OpDef kBatchNormOps[] = {
    {.name = "FusedBatchNormV3",
     .signature = "x: T, scale: U, offset: U, mean: U, variance: U -> y: T, batch_mean: U, "
                  "batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U; "
                  "T: bfloat16|float|double; U: float|double; epsilon: float = 0.0001; "
                  "exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW', 'NDHWC', "
                  "'NCDHW'} = NHWC; "
                  "is_training: bool = true",
     .shape = BatchNormShape,
     .grad = BatchNormGradient,
     .expand = ExpandBatchNorm,
     .flops = OutputFlops},
    {.name = "FusedBatchNormGradV3",
     .signature = "y_backprop: T, x: T, scale: U, reserve_space_1: U, reserve_space_2: U, "
                  "reserve_space_3: U -> x_backprop: T, scale_backprop: U, offset_backprop: U, "
                  "reserve_space_4: U, reserve_space_5: U; T: bfloat16|float|double; "
                  "U: float|double; epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW', "
                  "'NDHWC', 'NCDHW'} = NHWC; "
                  "is_training: bool = true",
     .shape = BatchNormGradShape,
     .grad = NoSecondGradient,
     .expand = ExpandBatchNormGrad,
     .flops = OutputFlops},
};

}  // namespace

BatchNormResult FusedBatchNormV3(Value x, Value scale, Value offset, Value mean, Value variance,
                                 const BatchNormOptions& options, std::string_view name) {
  Node* const node = x.graph().AddNode("FusedBatchNormV3", {x, scale, offset, mean, variance},
                                       {{"epsilon", options.epsilon},
                                        {"exponential_avg_factor", options.exponential_avg_factor},
                                        {"is_training", options.is_training}},
                                       name);
  return {node->output(0), node->output(1), node->output(2)};
}

OpFamily BatchNormOps() { return kBatchNormOps; }

}  // namespace tpuest::ops
