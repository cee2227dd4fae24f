// Adagrad and Ftrl, dense and by rows. cases_training.cpp says where the steps come from.

#include "core/ops/array.h"
#include "core/ops/training.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

Tensor Three(float a, float b, float c) { return Floats({3}, {a, b, c}); }
Value Num(Graph& graph, double value) { return graph.ScalarOf(DType::kFloat, value); }

Value Slot(Graph& graph, const std::string& name, const Shape& shape) {
  return graph.AddVariable(name, DType::kFloat, shape, ops::Zeros(graph, DType::kFloat, shape))
      ->handle;
}

OpCase Step(std::string op, std::string claim, std::vector<Tensor> inputs,
            std::map<std::string, Tensor> before, std::map<std::string, Tensor> after,
            BuildFn build) {
  return {.op = std::move(op),
          .claim = std::move(claim),
          .inputs = std::move(inputs),
          .build = std::move(build),
          .tolerance = 3e-7,
          .variables = std::move(before),
          .updated = std::move(after),
          .in_double = false,
          .in_bfloat16 = false};
}

const std::vector<Tensor>& SecondGradient() {
  static const std::vector<Tensor> gradient = {Three(-0.4F, 0.5F, 0)};
  return gradient;
}

ops::AdagradInputs AdagradOf(Graph& graph, const In& in, const Shape& shape) {
  return {.var = Slot(graph, "var", shape),
          .accum = Slot(graph, "accum", shape),
          .lr = Num(graph, 0.5),
          .grad = in[0],
          .epsilon = Num(graph, 0.1)};
}

std::vector<OpCase> AdagradCases() {
  const Tensor accum = Three(0.11F, 0.14F, 0.19F);
  const Tensor next = Three(0.27F, 0.39F, 0.19F);
  const Tensor fixed = Three(0.1F, 0.1F, 0.1F);
  return {
      Step("ResourceApplyAdagrad", "", SecondGradient(),
           {{"var", Three(0.849244328F, -1.73273876F, 2.6558764F)}, {"accum", accum}},
           {{"var", Three(1.234144568F, -2.133059025F, 2.655876398F)}, {"accum", next}},
           [](Graph& graph, const In& in) {
             return Built{{}, {ops::ResourceApplyAdagrad(AdagradOf(graph, in, {3}))}};
           }),
      Step("ResourceApplyAdagrad", "with slots left alone", SecondGradient(),
           {{"var", Three(0.841886117F, -1.68377223F, 2.52565835F)}, {"accum", fixed}},
           {{"var", Three(1.474341631F, -2.47434163F, 2.525658369F)}, {"accum", fixed}},
           [](Graph& graph, const In& in) {
             ops::AdagradInputs inputs = AdagradOf(graph, in, {3});
             inputs.update_slots = false;
             return Built{{}, {ops::ResourceApplyAdagrad(inputs)}};
           }),
      Step("ResourceApplyAdagradV2", "", SecondGradient(),
           {{"var", Three(0.88416876F, -1.78910328F, 2.72009175F)}, {"accum", accum}},
           {{"var", Three(1.206949711F, -2.134168863F, 2.72009182F)}, {"accum", next}},
           [](Graph& graph, const In& in) {
             return Built{{}, {ops::ResourceApplyAdagradV2(AdagradOf(graph, in, {3}))}};
           }),
  };
}

// The differences between the three kinds of Ftrl.
struct FtrlKind {
  double lr_power = -0.5;
  bool multiply_linear_by_lr = false;
  bool v2 = false;
};

ops::FtrlInputs FtrlOf(Graph& graph, const In& in, const Shape& shape, const FtrlKind& kind) {
  return {.var = Slot(graph, "var", shape),
          .accum = Slot(graph, "accum", shape),
          .linear = Slot(graph, "linear", shape),
          .grad = in[0],
          .lr = Num(graph, 0.5),
          .l1 = Num(graph, 0.05),
          .l2 = Num(graph, 0.2),
          .lr_power = Num(graph, kind.lr_power),
          .l2_shrinkage = Num(graph, 0.3),
          .multiply_linear_by_lr = kind.multiply_linear_by_lr};
}

OpCase Ftrl(std::string claim, const FtrlKind& kind, Tensor var, Tensor linear, Tensor next_var,
            Tensor next_linear) {
  return Step(
      kind.v2 ? "ResourceApplyFtrlV2" : "ResourceApplyFtrl", std::move(claim), SecondGradient(),
      {{"var", std::move(var)},
       {"accum", Three(0.11F, 0.14F, 0.19F)},
       {"linear", std::move(linear)}},
      {{"var", std::move(next_var)},
       {"accum", Three(0.27F, 0.39F, 0.19F)},
       {"linear", std::move(next_linear)}},
      [kind](Graph& graph, const In& in) {
        const ops::FtrlInputs inputs = FtrlOf(graph, in, {3}, kind);
        return Built{{},
                     {kind.v2 ? ops::ResourceApplyFtrlV2(inputs) : ops::ResourceApplyFtrl(inputs)}};
      });
}

std::vector<OpCase> FtrlCases() {
  return {
      Ftrl("", {}, Three(-0.0179912771F, 0, 0.289336859F),
           Three(0.069130574F, 0.0317518906F, -0.41797277F),
           Three(0.190453455F, -0.292147994F, 0.28933689F),
           Three(-0.324106425F, 0.531751931F, -0.417972803F)),
      Ftrl("by another power", {.lr_power = -0.7}, Three(-0.0271819284F, 0, 0.320890599F),
           Three(0.0724681555F, 0.0119607573F, -0.379041053F),
           Three(0.222858489F, -0.322012156F, 0.320890576F),
           Three(-0.317386955F, 0.511960745F, -0.379041016F)),
      Ftrl("with linear times the rate", {.multiply_linear_by_lr = true},
           Three(-0.0179912771F, 0, 0.289336859F),
           Three(0.034565287F, 0.0158759453F, -0.208986385F),
           Three(0.190453455F, -0.292147994F, 0.28933689F),
           Three(-0.162053212F, 0.265875965F, -0.208986401F)),
      Ftrl("", {.v2 = true}, Three(-0.582259044F, 0.97380254F, -1.04737254F),
           Three(0.669130574F, -1.16824811F, 1.38202723F),
           Three(-0.061595089F, 0.316263527F, -0.553243398F),
           Three(0.138649523F, -0.571518421F, 0.753603756F)),
      Ftrl("by another power", {.lr_power = -0.7, .v2 = true},
           Three(-0.753060698F, 1.25745629F, -1.33699984F),
           Three(0.672468155F, -1.18803924F, 1.42095895F),
           Three(-0.043082207F, 0.383018792F, -0.554670631F),
           Three(0.101690292F, -0.599481284F, 0.618758976F)),
      Ftrl("with linear times the rate", {.multiply_linear_by_lr = true, .v2 = true},
           Three(-0.582259044F, 0.97380254F, -1.04737254F),
           Three(0.334565287F, -0.584124055F, 0.691013615F),
           Three(-0.061595089F, 0.316263527F, -0.553243398F),
           Three(0.069324762F, -0.28575921F, 0.376801878F)),
  };
}

// Rows 2 and 0 of three; -1 means no row.
std::vector<OpCase> RowCases() {
  const std::vector<Tensor> inputs = {Floats({3, 2}, {0.1F, -0.2F, 9, 9, 0.3F, 0.4F}),
                                      Ints({3}, {2, -1, 0})};
  const Tensor var = Floats({3, 2}, {1, -2, 3, 4, 5, -6});
  const Tensor accum = Floats({3, 2}, {0.1F, 0.1F, 0.1F, 0.1F, 0.1F, 0.1F});
  const Tensor next_accum = Floats({3, 2}, {0.19F, 0.26F, 0.1F, 0.1F, 0.11F, 0.14F});
  return {
      Step("ResourceSparseApplyAdagrad", "", inputs, {{"var", var}, {"accum", accum}},
           {{"var",
             Floats({3, 2}, {0.655876398F, -2.392232179F, 3, 4, 4.849244118F, -5.732738972F})},
            {"accum", next_accum}},
           [](Graph& graph, const In& in) {
             return Built{{},
                          {ops::ResourceSparseApplyAdagrad(AdagradOf(graph, in, {3, 2}), in[1])}};
           }),
      Step("ResourceSparseApplyFtrl", "rows of one element",
           {Floats({3, 1}, {0.1F, 9, 0.3F}), Ints({3}, {2, -1, 0})},
           {{"var", Floats({3, 1}, {1, 3, 5})},
            {"accum", Floats({3, 1}, {0.1F, 0.1F, 0.1F})},
            {"linear", Floats({3, 1}, {0, 0, 0})}},
           {{"var", Floats({3, 1}, {-0.00839433F, 3, 0.004088232F})},
            {"accum", Floats({3, 1}, {0.19F, 0.1F, 0.11F})},
            {"linear", Floats({3, 1}, {0.06067574F, 0, -0.05434712F})}},
           [](Graph& graph, const In& in) {
             return Built{{}, {ops::ResourceSparseApplyFtrl(FtrlOf(graph, in, {3, 1}, {}), in[1])}};
           }),
      Step("ResourceSparseApplyAdagradV2", "", inputs, {{"var", var}, {"accum", accum}},
           {{"var", Floats({3, 2}, {0.72009176F, -2.32792163F, 3, 4, 4.88416862F, -5.78910351F})},
            {"accum", next_accum}},
           [](Graph& graph, const In& in) {
             return Built{{},
                          {ops::ResourceSparseApplyAdagradV2(AdagradOf(graph, in, {3, 2}), in[1])}};
           }),
      Step("ResourceSparseApplyFtrlV2", "", inputs,
           {{"var", var}, {"accum", accum}, {"linear", Floats({3, 2}, {0, 0, 0, 0, 0, 0})}},
           {{"var", Floats({3, 2}, {-0.480174124F, 0, 3, 4, -2.72320604F, 2.66015911F})},
            {"accum", next_accum},
            {"linear",
             Floats({3, 2}, {0.660675764F, -0.0253031254F, 0, 0, 2.94565272F, -3.10474443F})}},
           [](Graph& graph, const In& in) {
             return Built{{},
                          {ops::ResourceSparseApplyFtrlV2(FtrlOf(graph, in, {3, 2}, {}), in[1])}};
           }),
      Step("ResourceSparseApplyFtrl", "", inputs,
           {{"var", var}, {"accum", accum}, {"linear", Floats({3, 2}, {0, 0, 0, 0, 0, 0})}},
           {{"var",
             Floats({3, 2}, {-0.00839433F, -0.792149484F, 3, 4, 0.004088232F, -0.387741476F})},
            {"accum", next_accum},
            {"linear",
             Floats({3, 2}, {0.06067574F, 1.174696922F, 0, 0, -0.05434712F, 0.495255768F})}},
           [](Graph& graph, const In& in) {
             return Built{{}, {ops::ResourceSparseApplyFtrl(FtrlOf(graph, in, {3, 2}, {}), in[1])}};
           }),
  };
}

}  // namespace

std::vector<OpCase> AdaptiveCases() {
  std::vector<OpCase> all;
  for (const auto cases : {AdagradCases, FtrlCases, RowCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
