// Optimizers: the second of two steps from (1, -2, 3) with the gradients (.1, -.2, .3) and (-.4,
// .5, 0). The numbers are those of TensorFlow 2's kernels, which compute 1 - beta in float.

#include "core/ops/array.h"
#include "core/ops/training.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

Tensor Three(float a, float b, float c) { return Floats({3}, {a, b, c}); }

// Handles of variables whose values the row gives.
class Slots {
 public:
  explicit Slots(Graph& graph, Shape shape = {3}) : graph_(graph), shape_(std::move(shape)) {}
  Value operator()(const std::string& name) {
    return graph_
        .AddVariable(name, DType::kFloat, shape_, ops::Zeros(graph_, DType::kFloat, shape_))
        ->handle;
  }

 private:
  Graph& graph_;
  Shape shape_;
};

Value Num(Graph& graph, double value) { return graph.ScalarOf(DType::kFloat, value); }

// Starts from the state after the first step, which the row gives, and runs the second.
OpCase Step(std::string op, std::string claim, std::map<std::string, Tensor> before,
            std::map<std::string, Tensor> after, BuildFn build) {
  return {.op = std::move(op),
          .claim = std::move(claim),
          .inputs = {Three(-0.4F, 0.5F, 0)},
          .build = std::move(build),
          .tolerance = 3e-7,
          .variables = std::move(before),
          .updated = std::move(after),
          .in_double = false,
          .in_bfloat16 = false};
}

ops::MomentumInputs MomentumOf(Graph& graph, const In& in, bool use_nesterov,
                               const Shape& shape = {3}) {
  Slots slot(graph, shape);
  return {.var = slot("var"),
          .accum = slot("accum"),
          .lr = Num(graph, 0.5),
          .grad = in[0],
          .momentum = Num(graph, 0.9),
          .use_nesterov = use_nesterov};
}

Built Momentum(Graph& graph, const In& in, bool use_nesterov) {
  return {{}, {ops::ResourceApplyMomentum(MomentumOf(graph, in, use_nesterov))}};
}

Built KerasMomentum(Graph& graph, const In& in, bool use_nesterov) {
  return {{}, {ops::ResourceApplyKerasMomentum(MomentumOf(graph, in, use_nesterov))}};
}

Built Adam(Graph& graph, const In& in, bool use_nesterov) {
  Slots slot(graph);
  return {{},
          {ops::ResourceApplyAdam({.var = slot("var"),
                                   .m = slot("m"),
                                   .v = slot("v"),
                                   .beta1_power = Num(graph, 0.81),
                                   .beta2_power = Num(graph, 0.998001),
                                   .lr = Num(graph, 0.1),
                                   .beta1 = Num(graph, 0.9),
                                   .beta2 = Num(graph, 0.999),
                                   .epsilon = Num(graph, 1e-8),
                                   .grad = in[0],
                                   .use_nesterov = use_nesterov})}};
}

std::vector<OpCase> MomentumCases() {
  const auto plain = [](Graph& graph, const In& in) { return Momentum(graph, in, false); };
  const auto nesterov = [](Graph& graph, const In& in) { return Momentum(graph, in, true); };
  return {
      Step("ResourceApplyGradientDescent", "", {{"var", Three(0.95F, -1.9F, 2.85F)}},
           {{"var", Three(1.15F, -2.15F, 2.85F)}},
           [](Graph& graph, const In& in) {
             Slots slot(graph);
             return Built{{},
                          {ops::ResourceApplyGradientDescent(slot("var"), Num(graph, 0.5), in[0])}};
           }),
      Step("ResourceApplyMomentum", "",
           {{"var", Three(0.95F, -1.9F, 2.85F)}, {"accum", Three(0.1F, -0.2F, 0.3F)}},
           {{"var", Three(1.105F, -2.06F, 2.715F)}, {"accum", Three(-0.31F, 0.32F, 0.27F)}}, plain),
      Step("ResourceApplyKerasMomentum", "",
           {{"var", Three(0.95F, -1.9F, 2.85F)}, {"accum", Three(-0.05F, 0.1F, -0.15F)}},
           {{"var", Three(1.105F, -2.06F, 2.715F)}, {"accum", Three(0.155F, -0.16F, -0.135F)}},
           [](Graph& graph, const In& in) { return KerasMomentum(graph, in, false); }),
      Step("ResourceApplyKerasMomentum", "Nesterov's",
           {{"var", Three(0.95F, -1.9F, 2.85F)}, {"accum", Three(-0.05F, 0.1F, -0.15F)}},
           {{"var", Three(1.2895F, -2.294F, 2.7285F)}, {"accum", Three(0.155F, -0.16F, -0.135F)}},
           [](Graph& graph, const In& in) { return KerasMomentum(graph, in, true); }),
      Step("ResourceApplyMomentum", "Nesterov's",
           {{"var", Three(0.905F, -1.81F, 2.715F)}, {"accum", Three(0.1F, -0.2F, 0.3F)}},
           {{"var", Three(1.2445F, -2.204F, 2.5935F)}, {"accum", Three(-0.31F, 0.32F, 0.27F)}},
           nesterov),
  };
}

// After the first step m is .1 of the gradient and v .001 of its square, so each element has moved
// by almost lr, with Nesterov by 1.9 lr.
std::vector<OpCase> AdamCases() {
  const Tensor m = Three(0.01F, -0.02F, 0.03F);
  const Tensor v = Three(1e-5F, 4e-5F, 9e-5F);
  const Tensor next_m = Three(-0.0310000088F, 0.0320000127F, 0.0269999988F);
  const Tensor next_v = Three(1.6998795e-4F, 2.89956806e-4F, 8.9910005e-5F);
  return {
      Step("ResourceApplyAdam", "",
           {{"var", Three(0.900000316F, -1.90000016F, 2.90000011F)}, {"m", m}, {"v", v}},
           {{"var", Three(0.955951273F, -1.94422221F, 2.83299398F)}, {"m", next_m}, {"v", next_v}},
           [](Graph& graph, const In& in) { return Adam(graph, in, false); }),
      Step("ResourceApplyAdam", "Nesterov's",
           {{"var", Three(0.810000601F, -1.8100003F, 2.8100002F)}, {"m", m}, {"v", v}},
           {{"var", Three(0.932551205F, -1.91889691F, 2.74969459F)}, {"m", next_m}, {"v", next_v}},
           [](Graph& graph, const In& in) { return Adam(graph, in, true); }),
  };
}

ops::RMSPropInputs RMSPropOf(Graph& graph, const In& in, bool centered, const Shape& shape = {3}) {
  Slots slot(graph, shape);
  ops::RMSPropInputs inputs{.var = slot("var"),
                            .ms = slot("ms"),
                            .mom = slot("mom"),
                            .lr = Num(graph, 0.5),
                            .rho = Num(graph, 0.9),
                            .momentum = Num(graph, 0.5),
                            .epsilon = Num(graph, 0.01),
                            .grad = in[0]};
  if (centered) inputs.mg = slot("mg");
  return inputs;
}

Built RMSProp(Graph& graph, const In& in, bool centered) {
  const ops::RMSPropInputs inputs = RMSPropOf(graph, in, centered);
  return {
      {},
      {centered ? ops::ResourceApplyCenteredRMSProp(inputs) : ops::ResourceApplyRMSProp(inputs)}};
}

// Before: ms = .1 g^2, mom = .5 g / sqrt(ms + .01) (centered: - (.1 g)^2), var = (1, -2, 3) - mom.
std::vector<OpCase> RMSPropCases() {
  const Tensor ms = Three(1e-3F, 4e-3F, 9e-3F);
  const Tensor next_ms = Three(0.0169000048F, 0.0286000073F, 0.00809999928F);
  return {
      Step("ResourceApplyRMSProp", "",
           {{"var", Three(0.523268705F, -1.15484575F, 1.91178562F)},
            {"ms", ms},
            {"mom", Three(0.476731295F, -0.845154255F, 1.08821438F)}},
           {{"var", Three(1.504324436F, -2.004734993F, 1.367678404F)},
            {"ms", next_ms},
            {"mom", Three(-0.981055737F, 0.849889278F, 0.544107199F)}},
           [](Graph& graph, const In& in) { return RMSProp(graph, in, false); }),
      Step("ResourceApplyCenteredRMSProp", "",
           {{"var", Three(0.521086857F, -1.14250707F, 1.88505878F)},
            {"mg", Three(0.01F, -0.02F, 0.03F)},
            {"ms", ms},
            {"mom", Three(0.478913143F, -0.857492926F, 1.11494122F)}},
           {{"var", Three(1.523435116F, -2.003448725F, 1.327588081F)},
            {"mg", Three(-0.0310000088F, 0.0320000127F, 0.0269999988F)},
            {"ms", next_ms},
            {"mom", Three(-1.002348304F, 0.860941648F, 0.55747062F)}},
           [](Graph& graph, const In& in) { return RMSProp(graph, in, true); }),
  };
}

// Rows 2 and 0 of three; -1 means no row. All slots start as .1.
OpCase RowStep(std::string op, std::string claim, const std::vector<std::string>& slots,
               std::map<std::string, Tensor> after, BuildFn build) {
  const Tensor tenth = Floats({3, 2}, {0.1F, 0.1F, 0.1F, 0.1F, 0.1F, 0.1F});
  std::map<std::string, Tensor> before = {{"var", Floats({3, 2}, {1, -2, 3, 4, 5, -6})}};
  for (const std::string& slot : slots) before[slot] = tenth;
  OpCase op_case =
      Step(std::move(op), std::move(claim), std::move(before), std::move(after), std::move(build));
  op_case.inputs = {Floats({3, 2}, {0.1F, -0.2F, 9, 9, 0.3F, 0.4F}), Ints({3}, {2, -1, 0})};
  return op_case;
}

std::vector<OpCase> RowCases() {
  const Shape shape{3, 2};
  const Tensor accum = Floats(shape, {-0.06F, -0.11F, 0.1F, 0.1F, 0.04F, 0.19F});
  const Tensor sum = Floats(shape, {0.39F, 0.49F, 0.1F, 0.1F, 0.19F, -0.11F});
  const Tensor ms = Floats(shape, {0.099F, 0.106F, 0.1F, 0.1F, 0.091F, 0.094F});
  return {
      RowStep("ResourceSparseApplyMomentum", "", {"accum"},
              {{"var", Floats(shape, {0.805F, -2.245F, 3, 4, 4.905F, -5.945F})}, {"accum", sum}},
              [=](Graph& graph, const In& in) {
                return Built{
                    {},
                    {ops::ResourceSparseApplyMomentum(MomentumOf(graph, in, false, shape), in[1])}};
              }),
      RowStep(
          "ResourceSparseApplyMomentum", "Nesterov's", {"accum"},
          {{"var", Floats(shape, {0.6745F, -2.4205F, 3, 4, 4.8645F, -5.8505F})}, {"accum", sum}},
          [=](Graph& graph, const In& in) {
            return Built{
                {}, {ops::ResourceSparseApplyMomentum(MomentumOf(graph, in, true, shape), in[1])}};
          }),
      RowStep("ResourceSparseApplyKerasMomentum", "", {"accum"},
              {{"var", Floats(shape, {0.94F, -2.11F, 3, 4, 5.04F, -5.81F})}, {"accum", accum}},
              [=](Graph& graph, const In& in) {
                return Built{{},
                             {ops::ResourceSparseApplyKerasMomentum(
                                 MomentumOf(graph, in, false, shape), in[1])}};
              }),
      RowStep("ResourceSparseApplyKerasMomentum", "Nesterov's", {"accum"},
              {{"var", Floats(shape, {0.796F, -2.299F, 3, 4, 4.986F, -5.729F})}, {"accum", accum}},
              [=](Graph& graph, const In& in) {
                return Built{{},
                             {ops::ResourceSparseApplyKerasMomentum(
                                 MomentumOf(graph, in, true, shape), in[1])}};
              }),
      RowStep(
          "ResourceSparseApplyRMSProp", "", {"ms", "mom"},
          {{"var", Floats(shape, {0.495663047F, -2.63722014F, 3, 4, 4.79267073F, -5.73991299F})},
           {"ms", ms},
           {"mom",
            Floats(shape, {0.504336953F, 0.637220204F, 0.1F, 0.1F, 0.207329199F, -0.260086834F})}},
          [=](Graph& graph, const In& in) {
            return Built{
                {}, {ops::ResourceSparseApplyRMSProp(RMSPropOf(graph, in, false, shape), in[1])}};
          }),
      RowStep("ResourceSparseApplyCenteredRMSProp", "", {"mg", "ms", "mom"},
              {{"var", Floats(shape, {0.46230793F, -2.68532085F, 3, 4, 4.78425169F, -5.73233938F})},
               {"mg", Floats(shape, {0.12F, 0.13F, 0.1F, 0.1F, 0.1F, 0.07F})},
               {"ms", ms},
               {"mom", Floats(shape, {0.53769207F, 0.685320973F, 0.1F, 0.1F, 0.215748399F,
                                      -0.267660469F})}},
              [=](Graph& graph, const In& in) {
                return Built{{},
                             {ops::ResourceSparseApplyCenteredRMSProp(
                                 RMSPropOf(graph, in, true, shape), in[1])}};
              }),
  };
}

}  // namespace

std::vector<OpCase> TrainingCases() {
  std::vector<OpCase> all = MomentumCases();
  for (const auto cases : {AdamCases, RMSPropCases, RowCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
