#include "core/backend/cpu/fusion.h"

#include <string>
#include <utility>

#include "core/backend/cpu/norm_fusion.h"
#include "core/backend/cpu/rewriter.h"
#include "core/graph/recompute.h"

namespace tpuest {
namespace {

// Fuses products with the nodes after them, and pools with the nodes before them.
class ProductFuser final : GraphRewriter {
 public:
  using GraphRewriter::GraphRewriter;

  BoundGraph Run() {
    const auto& nodes = graph().nodes();
    // Pools first: the nodes that they move are not fused elsewhere.
    for (const auto& node : nodes) MatchPool(*node);
    for (const auto& node : nodes) MatchPoolOfAgain(*node);
    for (const auto& node : nodes) MatchBias(*node);
    for (const auto& node : nodes) MatchFilterGrad(*node);
    return Rewritten();
  }

 private:
  using Method = void (ProductFuser::*)(const Node&);
  Rule By(Method method) {
    return [this, method](const Node& node) { (this->*method)(node); };
  }

  // ---- The patterns

  // Matches Relu(x) that only this pool reads, and in training the gradients of both. max(relu(x))
  // over a window equals relu(max(x)). If that is zero, the gate stops the gradient; otherwise the
  // window's first maximum is the same before and after Relu.
  void MatchPool(const Node& pool) {
    if (!IsOp(&pool, "MaxPool") || !IsOp(pool.input(0).node, "Relu")) return;
    const Node& relu = *pool.input(0).node;
    const Node* pool_grad = nullptr;
    const Node* relu_grad = nullptr;
    for (const Node* const reader : ReadersOf(pool.input(0))) {
      if (reader == &pool) continue;
      if (IsOp(reader, "MaxPoolGrad") && pool_grad == nullptr) {
        pool_grad = reader;
      } else if (IsOp(reader, "ReluGrad") && relu_grad == nullptr) {
        relu_grad = reader;
      } else {
        return;
      }
    }
    if (!IsFree(pool) || !IsFree(relu)) return;
    if (pool_grad != nullptr || relu_grad != nullptr) {
      if (!IsGradOfPool(pool, pool_grad, relu_grad)) return;
      FusePoolGrad(*relu_grad, *pool_grad);
    }
    Fuse(pool, By(&ProductFuser::EmitPool), {&relu});
  }

  void FusePoolGrad(const Node& relu_grad, const Node& pool_grad) {
    Fuse(relu_grad, By(&ProductFuser::EmitPoolGrad), {&pool_grad});
    for (const Node* const reader : ReadersOf({const_cast<Node*>(&relu_grad), 0})) {
      if (IsOp(reader, "BiasAddGrad") && IsFree(*reader)) {
        Fuse(*reader, By(&ProductFuser::EmitPooledBiasGrad), {});
      }
    }
  }

  // Matches both gradients if Relu(x) or its pool was recomputed for them: the sums are those of
  // kept values.
  void MatchPoolOfAgain(const Node& relu_grad) {
    if (!IsOp(&relu_grad, "ReluGrad") || !IsFreeGradient(relu_grad)) return;
    const Node& pool_grad = *relu_grad.input(0).node;
    if (!IsOp(&pool_grad, "MaxPoolGrad") || !IsFreeGradient(pool_grad)) return;
    const Value relu = FirstOf(relu_grad.input(1));
    const bool is_again = relu_grad.input(1) != relu || pool_grad.input(0) != relu;
    const bool fits = is_again && IsOp(relu.node, "Relu") && FirstOf(pool_grad.input(0)) == relu &&
                      OnlyReader(pool_grad) == &relu_grad && OnlyPoolReads(relu, relu_grad);
    if (fits) FusePoolGrad(relu_grad, pool_grad);
  }

  // True if in the forward pass only a pool reads the value.
  [[nodiscard]] bool OnlyPoolReads(Value relu, const Node& relu_grad) const {
    int pools = 0;
    for (const Node* const reader : ReadersOf(relu)) {
      const bool is_backward = reader == &relu_grad || reader == relu_grad.input(0).node;
      if (reader != nullptr && (is_backward || reader->HasAttr(kRecomputed))) continue;
      if (!IsOp(reader, "MaxPool")) return false;
      ++pools;
    }
    return pools == 1;
  }

  [[nodiscard]] bool IsGradOfPool(const Node& pool, const Node* pool_grad,
                                  const Node* relu_grad) const {
    const Value relu = pool.input(0);
    return pool_grad != nullptr && relu_grad != nullptr && IsFreeGradient(*pool_grad) &&
           IsFreeGradient(*relu_grad) && OnlyReader(*pool_grad) == relu_grad &&
           pool_grad->input(0) == relu && pool_grad->input(1).node == &pool &&
           relu_grad->input(0).node == pool_grad && relu_grad->input(1) == relu;
  }

  // Matches BiasAdd, the product that only it reads, and its only reader if that is a Relu.
  void MatchBias(const Node& bias) {
    if (!IsOp(&bias, "BiasAdd") || !IsFree(bias)) return;
    const Node& product = *bias.input(0).node;
    const bool fits = IsOp(&product, "Conv2D") ||
                      (IsOp(&product, "MatMul") && !product.Attr<bool>("transpose_a"));
    if (!fits || !IsFree(product) || OnlyReader(product) != &bias) return;
    const Node* const reader = OnlyReader(bias);
    if (IsOp(reader, "Relu") && IsFree(*reader)) {
      Fuse(*reader, By(&ProductFuser::EmitProduct), {&product, &bias});
    } else {
      Fuse(bias, By(&ProductFuser::EmitProduct), {&product});
    }
  }

  // A recomputed node waits at most for dy.
  static bool IsBefore(const Node& image, const Node& bias_grad) {
    return image.id() < bias_grad.id() || image.HasAttr(kRecomputed);
  }

  // Matches the gradients of filter and bias from one dy. The filter's gradient moves to the
  // position of the bias's, so its other inputs must precede that.
  void MatchFilterGrad(const Node& bias_grad) {
    if (!IsOp(&bias_grad, "BiasAddGrad") || !IsFree(bias_grad)) return;
    for (const Node* const reader : ReadersOf(bias_grad.input(0))) {
      if (!IsOp(reader, "Conv2DBackpropFilter") || !IsFree(*reader)) continue;
      const bool there = IsBefore(*reader->input(0).node, bias_grad) &&
                         IsOp(reader->input(1).node, "Const") &&
                         reader->input(2) == bias_grad.input(0);
      if (!there) continue;
      bias_grads_[reader] = &bias_grad;
      return Fuse(*reader, By(&ProductFuser::EmitFilterGrad), {&bias_grad});
    }
  }

  // ---- The new graph

  static Attrs With(const Node& node, std::string activation) {
    Attrs attrs = node.attrs();
    attrs.erase("use_cudnn_on_gpu");
    attrs["activation"] = std::move(activation);
    return attrs;
  }

  void EmitPool(const Node& pool) {
    const Node& relu = *pool.input(0).node;
    const Value x = At(relu.input(0));
    MapVanished(relu, x);
    Map(pool, 0, Add(pool, "_FusedMaxPool", {x}, With(pool, "Relu"))->output(0));
  }

  void EmitPoolGrad(const Node& relu_grad) {
    const Node& pool_grad = *relu_grad.input(0).node;
    const Value relu = relu_grad.input(1);
    const Value x = At(IsOp(relu.node, "Relu") ? relu.node->input(0) : relu);
    const Value y = At(pool_grad.input(1));
    const Value gated =
        Add(pool_grad, "ReluGrad", {At(pool_grad.input(2)), y}, relu_grad.attrs())->output(0);
    const Value dx = Add(relu_grad, "MaxPoolGrad", {x, y, gated}, pool_grad.attrs())->output(0);
    gated_[&relu_grad] = gated;
    MapVanished(pool_grad, dx);
    Map(relu_grad, 0, dx);
  }

  // The pool's gradient routes every non-zero number to one element, so the sum before it is the
  // same.
  void EmitPooledBiasGrad(const Node& bias_grad) {
    const Node& relu_grad = *bias_grad.input(0).node;
    Emit(relu_grad);
    Map(bias_grad, 0,
        Add(bias_grad, "BiasAddGrad", {gated_.at(&relu_grad)}, bias_grad.attrs())->output(0));
  }

  void EmitProduct(const Node& last) {
    const bool relu = last.type() == "Relu";
    const Node& bias = relu ? *last.input(0).node : last;
    const Node& product = *bias.input(0).node;
    Attrs attrs = With(product, relu ? "Relu" : "");
    if (last.HasAttr(kRecomputed)) {
      attrs[std::string(kRecomputed)] = last.Attr<std::string>(kRecomputed);
    }
    const Value y =
        Add(last, product.type() == "MatMul" ? "_FusedMatMul" : "_FusedConv2D",
            {At(product.input(0)), At(product.input(1)), At(bias.input(1))}, std::move(attrs))
            ->output(0);
    for (const Node* const part : {&product, &bias}) MapVanished(*part, y);
    Map(last, 0, y);
  }

  void EmitFilterGrad(const Node& filter_grad) {
    std::vector<Value> inputs;
    for (const Value& input : filter_grad.inputs()) inputs.push_back(At(input));
    Attrs attrs = filter_grad.attrs();
    attrs.erase("use_cudnn_on_gpu");
    Node* const both =
        Add(filter_grad, "_Conv2DBackpropFilterBias", std::move(inputs), std::move(attrs));
    Map(filter_grad, 0, both->output(0));
    Map(*bias_grads_.at(&filter_grad), 0, both->output(1));
  }

  std::map<const Node*, const Node*> bias_grads_;  // by the filter's gradient
  std::map<const Node*, Value> gated_;             // by the Relu's gradient
};

}  // namespace

BoundGraph Fused(BoundGraph bound) { return FusedNorms(ProductFuser(std::move(bound)).Run()); }

}  // namespace tpuest
