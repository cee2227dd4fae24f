#include "core/backend/cpu/norm_fusion.h"

#include <algorithm>
#include <string>

#include "core/backend/cpu/rewriter.h"

namespace tpuest {
namespace {

// Doubles are not fused: their results serve as a reference.
bool IsOfNarrow(const Value& value) { return value.dtype() != DType::kDouble; }

class NormFuser final : GraphRewriter {
 public:
  using GraphRewriter::GraphRewriter;

  BoundGraph Run() {
    const auto& nodes = graph().nodes();
    for (const auto& node : nodes) MatchMoments(*node);
    for (const auto& node : nodes) MatchApply(*node);
    for (const auto& node : nodes) MatchGrad(*node);
    return Rewritten();
  }

 private:
  // ---- The patterns

  // Matches mean = _BatchNormSum(x) / count and the sum of (x - mean)^2.
  void MatchMoments(const Node& squares) {
    if (!IsOp(&squares, "_BatchNormCenteredSquareSum") || !IsFree(squares)) return;
    if (!IsOfNarrow(squares.input(0)) || squares.output_dtype(0) != DType::kFloat) return;
    const Node& mean = *squares.input(1).node;
    if (!IsOp(&mean, "RealDiv") || !IsFree(mean)) return;
    const Node& sum = *mean.input(0).node;
    const bool fits = IsOp(&sum, "_BatchNormSum") && IsFree(sum) && OnlyReader(sum) == &mean &&
                      sum.input(0) == squares.input(0) && IsOp(mean.input(1).node, "Const");
    if (!fits || sum.output_dtype(0) != DType::kFloat) return;
    const Shape& x = sum.input(0).shape();
    const int64_t count = x.elements() / std::max<int64_t>(x.dim(-1), 1);
    const auto& divisor = mean.input(1).node->Attr<Tensor>("value");
    if (divisor.elements() != 1 || divisor.AsDouble(0) != static_cast<double>(count)) return;
    Fuse(
        mean,
        [this, &sum, &squares, count](const Node& node) { EmitMoments(node, sum, squares, count); },
        {&sum, &squares});
  }

  // Matches a normalisation, the addition that is its only reader, and the activation that is the
  // addition's only reader.
  void MatchApply(const Node& apply) {
    if (!IsOp(&apply, "_BatchNormApply") || !IsFree(apply) || !IsOfNarrow(apply.input(0))) return;
    if (apply.input(1).dtype() != DType::kFloat) return;
    const Node* last = &apply;
    const Node* add = OnlyReader(apply);
    if ((IsOp(add, "AddV2") || IsOp(add, "Add")) && IsFree(*add) && AddsAlike(*add)) {
      last = add;
    } else {
      add = nullptr;
    }
    const Node* const reader = OnlyReader(*last);
    const bool active = (IsOp(reader, "Relu") || IsOp(reader, "Relu6")) && IsFree(*reader);
    const auto emit = [this, &apply, add](const Node& node) { EmitApply(node, apply, add); };
    if (active && add != nullptr) {
      Fuse(*reader, emit, {&apply, add});
    } else if (active) {
      Fuse(*reader, emit, {&apply});
      activations_[&apply] = reader;
    } else if (add != nullptr) {
      Fuse(*add, emit, {&apply});
    } else {
      Fuse(apply, emit, {});
    }
  }

  // True if both inputs have the result's shape and are different values.
  static bool AddsAlike(const Node& add) {
    return add.input(0) != add.input(1) && add.input(0).shape() == add.output_shape(0) &&
           add.input(1).shape() == add.output_shape(0);
  }

  // Matches both parts of a normalisation's gradient, and the activation's gradient that only they
  // read.
  void MatchGrad(const Node& grad) {
    if (!IsOp(&grad, "_BatchNormGradApply") || !IsFreeGradient(grad)) return;
    if (!IsOfNarrow(grad.input(0))) return;
    const Node& sums = *grad.input(5).node;
    const bool fits = IsOp(&sums, "_BatchNormGradSums") && IsFree(sums) &&
                      grad.input(6) == Value{&const_cast<Node&>(sums), 1} &&
                      sums.input(0) == grad.input(0) && sums.input(1) == grad.input(1) &&
                      sums.input(2) == grad.input(3) && sums.input(3) == grad.input(4);
    if (!fits || grad.input(2).dtype() != DType::kFloat) return;
    const Node* const apply = ApplyOf(grad);
    if (apply == nullptr) return;
    const Node* gate = grad.input(0).node;
    const auto activation = activations_.find(apply);
    if (activation == activations_.end() || !IsGateOf(*gate, *activation->second, sums, grad)) {
      gate = nullptr;
    }
    const auto emit_sums = [this, apply, gate](const Node& node) { EmitSums(node, *apply, gate); };
    if (gate != nullptr) {
      Fuse(sums, emit_sums, {gate});
    } else {
      Fuse(sums, emit_sums, {});
    }
    Fuse(grad, [this, apply, gate, &sums](const Node& node) { EmitGrad(node, *apply, gate, sums); },
         {});
  }

  // The normalisation that belongs to this gradient: it has the same x and the same statistics.
  [[nodiscard]] const Node* ApplyOf(const Node& grad) const {
    const Value x = FirstOf(grad.input(1));
    for (const Node* const reader : ReadersOf(x)) {
      if (IsOp(reader, "_BatchNormApply") && reader->input(0) == x &&
          reader->input(1) == grad.input(2) && reader->input(3) == grad.input(3) &&
          reader->input(4) == grad.input(4)) {
        return reader;
      }
    }
    return nullptr;
  }

  // True if `gate` is the gradient of this activation by its result, and only these two nodes read
  // it.
  [[nodiscard]] bool IsGateOf(const Node& gate, const Node& activation, const Node& sums,
                              const Node& grad) const {
    const std::string type = std::string(activation.type()) + "Grad";
    if (!IsOp(&gate, type) || !IsFree(gate)) return false;
    if (FirstOf(gate.input(1)).node != &activation) return false;
    const auto readers = ReadersOf({const_cast<Node*>(&gate), 0});
    return std::all_of(readers.begin(), readers.end(),
                       [&](const Node* reader) { return reader == &sums || reader == &grad; });
  }

  // ---- The new graph

  void EmitMoments(const Node& mean, const Node& sum, const Node& squares, int64_t count) {
    Node* const moments = Add(sum, "_BatchNormMoments", {At(sum.input(0))}, {});
    Node* const statistics = Add(mean, "_BatchNormStatistics",
                                 {moments->output(0), moments->output(1)}, {{"count", count}});
    MapVanished(sum, statistics->output(0));
    Map(mean, 0, statistics->output(0));
    Map(squares, 0, statistics->output(1));
  }

  void EmitApply(const Node& last, const Node& apply, const Node* add) {
    std::vector<Value> inputs;
    for (const Value& input : apply.inputs()) inputs.push_back(At(input));
    if (add != nullptr) {
      const bool is_first = add->input(0).node == &apply;
      inputs.push_back(At(add->input(is_first ? 1 : 0)));
    }
    const bool active = &last != &apply && &last != add;
    const Attrs attrs = {{"epsilon", apply.Attr<float>("epsilon")},
                         {"activation", active ? std::string(last.type()) : std::string()}};
    const Value y = Add(last, add == nullptr ? "_FusedBatchNormApply" : "_FusedBatchNormAdd",
                        std::move(inputs), attrs)
                        ->output(0);
    if (&apply != &last) MapVanished(apply, y);
    if (add != nullptr && add != &last) MapVanished(*add, y);
    Map(last, 0, y);
  }

  // The inputs of a fused gradient: dy before the activation's gradient, and the normalisation's
  // own inputs; its x is that of the gradient, which may be recomputed.
  std::vector<Value> GradInputs(Value dy, Value x, const Node& apply, const Node* gate) {
    std::vector<Value> inputs = {At(gate == nullptr ? dy : gate->input(0)), At(x)};
    for (size_t i = 1; i < apply.inputs().size(); ++i) inputs.push_back(At(apply.inputs()[i]));
    return inputs;
  }

  [[nodiscard]] Attrs GradAttrs(const Node& apply, const Node* gate) const {
    const std::string activation =
        gate == nullptr ? std::string() : std::string(activations_.at(&apply)->type());
    return {{"epsilon", apply.Attr<float>("epsilon")}, {"activation", activation}};
  }

  void EmitSums(const Node& sums, const Node& apply, const Node* gate) {
    Node* const fused =
        Add(sums, "_FusedBatchNormGradSums", GradInputs(sums.input(0), sums.input(1), apply, gate),
            GradAttrs(apply, gate));
    if (gate != nullptr) MapVanished(*gate, fused->input(0));
    for (int i = 0; i < 2; ++i) Map(sums, i, fused->output(i));
  }

  void EmitGrad(const Node& grad, const Node& apply, const Node* gate, const Node& sums) {
    std::vector<Value> inputs = GradInputs(grad.input(0), grad.input(1), apply, gate);
    for (int i = 0; i < 2; ++i) inputs.push_back(At({&const_cast<Node&>(sums), i}));
    Attrs attrs = GradAttrs(apply, gate);
    attrs["count"] = grad.Attr<int64_t>("count");
    Map(grad, 0, Add(grad, "_FusedBatchNormGradApply", std::move(inputs), attrs)->output(0));
  }

  std::map<const Node*, const Node*> activations_;  // by the normalisation, whose only reader it is
};

}  // namespace

BoundGraph FusedNorms(BoundGraph bound) { return NormFuser(std::move(bound)).Run(); }

}  // namespace tpuest
