// The bounds of ops that write variables, for the gate of updates: every op has bounds, and no
// number that is not finite passes the gate, whatever the values are.

#include "core/graph/update_bounds.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>

#include "core/backend/cpu/compiled_program.h"
#include "core/backend/cpu/program.h"
#include "core/backend/plan.h"
#include "core/ops/all_ops.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"
#include "core/ops/training.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

constexpr int64_t kElements = 8;

std::vector<const RegisteredOp*> Updates() {
  std::vector<const RegisteredOp*> updates;
  for (const auto& [name, op] : TestRegistry().ops()) {
    if (op.def->writes && !op.def->host) updates.push_back(&op);
  }
  return updates;
}

bool MayBeFloating(const Signature& signature, const ArgDef& input) {
  if (input.type_attr.empty()) return IsFloating(input.dtype);
  const std::vector<DType>& allowed = signature.FindAttr(input.type_attr)->allowed;
  return allowed.empty() || std::any_of(allowed.begin(), allowed.end(), IsFloating);
}

// A program of one update. Its variables, and its gradient or value, have kElements numbers.
class UpdateProgram {
 public:
  // reads_rates: scalars are read from variables; otherwise they are fed.
  UpdateProgram(const RegisteredOp& op, bool reads_rates) {
    const Value guard = graph_.Placeholder(DType::kFloat, {}, "guard");
    spec_.feeds.push_back({guard, {}, false});
    feeds_.push_back(Tensor::Scalar(1.0F));
    spec_.guard = guard;
    std::vector<Value> inputs;
    for (const ArgDef& input : op.signature.inputs) inputs.push_back(Input(input, reads_rates));
    spec_.graph = &graph_;
    spec_.targets = {graph_.AddNode(op.def->name, inputs, {})};
    program_ = MakeCpuBackend()->Compile(spec_, {}, variables_);
  }

  [[nodiscard]] const std::vector<std::string>& variables() const { return names_; }
  [[nodiscard]] const std::vector<std::string>& fed() const { return fed_; }
  [[nodiscard]] bool IsScalar(const std::string& input) const {
    return shapes_.at(input).rank() == 0;
  }
  void Set(const std::string& input, const std::vector<float>& values) {
    const Tensor tensor = Tensor::Of<float>(shapes_.at(input), values);
    const auto fed = feed_of_.find(input);
    if (fed == feed_of_.end()) {
      variables_.Set(input, tensor);
    } else {
      feeds_[fed->second] = tensor;
    }
  }
  void SetIndices(const std::vector<int32_t>& indices) {
    const auto fed = feed_of_.find("indices");
    if (fed != feed_of_.end()) feeds_[fed->second] = Tensor::Of<int32_t>({kElements}, indices);
  }
  // True if all steps were applied.
  bool Run(int steps) {
    StepFeeds step;
    for (const Tensor& feed : feeds_) step.push_back({feed});
    const auto results = program_->Run(std::vector<StepFeeds>(static_cast<size_t>(steps), step));
    return results.back().applied;
  }
  // The values of all variables.
  [[nodiscard]] std::vector<float> Values() const {
    std::vector<float> all;
    for (const std::string& name : names_) {
      const auto values = variables_.Get(name).values<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  Value Input(const ArgDef& input, bool reads_rates) {
    const bool is_long = input.name == "grad" || input.name == "delta" || input.name == "value" ||
                         input.name == "updates" || input.name == "indices";
    const bool is_variable = input.dtype == DType::kResource;
    const Shape shape = is_long || is_variable ? Shape({kElements}) : Shape();
    shapes_[input.name] = shape;
    if (is_variable || (reads_rates && !is_long)) {
      names_.push_back(input.name);
      variables_.Set(input.name, Tensor(DType::kFloat, shape));
      const Variable* const variable = graph_.AddVariable(input.name, DType::kFloat, shape,
                                                          ops::Zeros(graph_, DType::kFloat, shape));
      return is_variable ? variable->handle : variable->value;
    }
    const DType dtype = input.name == "indices" ? DType::kInt32 : DType::kFloat;
    if (dtype == DType::kFloat) fed_.push_back(input.name);
    const Value value = graph_.Placeholder(dtype, shape, input.name);
    feed_of_[input.name] = feeds_.size();
    feeds_.emplace_back(dtype, shape);
    spec_.feeds.push_back({value, shape, false});
    return value;
  }

  Graph graph_{TestRegistry()};
  VariableStore variables_;
  ProgramSpec spec_;
  std::vector<std::string> names_;
  std::vector<std::string> fed_;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, size_t> feed_of_;
  std::vector<Tensor> feeds_;
  std::unique_ptr<Program> program_;
};

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

constexpr std::array kIndices = {std::array<int32_t, kElements>{0, 1, 2, 3, 4, 5, 6, 7},
                                 std::array<int32_t, kElements>{3, 3, 3, 3, 3, 3, 3, 3},
                                 std::array<int32_t, kElements>{5, -1, 2, 5, -1, -1, 2, 7}};

// Sets the program's inputs: draw(input) returns a number for one of its elements.
template <class Draw>
void SetAll(UpdateProgram& program, std::mt19937& random, Draw draw) {
  for (const auto* const names : {&program.variables(), &program.fed()}) {
    for (const std::string& name : *names) {
      std::vector<float> values(program.IsScalar(name) ? 1 : kElements);
      for (float& value : values) value = draw(name);
      program.Set(name, values);
    }
  }
  const auto& indices = kIndices[random() % kIndices.size()];
  program.SetIndices({indices.begin(), indices.end()});
}

TEST_CASE("every op that writes variables states bounds for all of its inputs, or is never sure") {
  int stated = 0;
  for (const RegisteredOp* const op : Updates()) {
    INFO(op->def->name);
    const UpdateBounds* const bounds = op->def->bounds;
    REQUIRE((bounds != nullptr));
    if (bounds->never_sure()) continue;
    ++stated;
    for (const ArgDef& input : op->signature.inputs) {
      INFO(input.name);
      const InputBounds* const of_input = bounds->Find(input.name);
      const bool needs_bounds =
          input.dtype == DType::kResource || MayBeFloating(op->signature, input);
      CHECK((of_input != nullptr) == needs_bounds);
      if (of_input != nullptr) CHECK(of_input->least <= of_input->most);
    }
    for (const InputBounds& of_input : bounds->inputs) {
      INFO(of_input.input);
      CHECK(std::any_of(op->signature.inputs.begin(), op->signature.inputs.end(),
                        [&](const ArgDef& input) { return input.name == of_input.input; }));
    }
  }
  CHECK(stated == 24);
}

TEST_CASE("the defaults of optimizers are within their bounds") {
  const std::map<std::string, std::vector<double>> usual = {{"lr", {1e-4, 0.001, 0.1, 0.5}},
                                                            {"alpha", {0.001, 1}},
                                                            {"momentum", {0, 0.9, 0.99}},
                                                            {"rho", {0.9, 0.99}},
                                                            {"beta1", {0.9}},
                                                            {"beta2", {0.99, 0.999}},
                                                            {"beta1_power", {0.9, 0}},
                                                            {"beta2_power", {0.999, 0}},
                                                            {"epsilon", {1e-10, 1e-7, 1}},
                                                            {"accum", {0.1, 1}},
                                                            {"ms", {0, 1}},
                                                            {"v", {0}},
                                                            {"l1", {0, 0.01, 1}},
                                                            {"l2", {0, 0.01, 5}},
                                                            {"l2_shrinkage", {0, 0.001}},
                                                            {"lr_power", {-0.5}},
                                                            {"grad", {-1, 1e4}},
                                                            {"linear", {0}}};
  for (const RegisteredOp* const op : Updates()) {
    for (const InputBounds& bounds : op->def->bounds->inputs) {
      const auto values = usual.find(std::string(bounds.input));
      if (values == usual.end()) continue;
      for (const double value : values->second) {
        INFO(op->def->name, " ", bounds.input, " ", value);
        CHECK(static_cast<float>(value) >= static_cast<float>(bounds.least));
        CHECK(value <= bounds.most);
      }
    }
  }
}

TEST_CASE("no value makes an update leave a number that is not finite") {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  const std::vector<float> extremes = {
      0,       -0.0F,  kSmallest, -kSmallest, 1e-39F, -1e-39F, 1.2e-38F, 1e-30F,
      -1e-20F, 1e-12F, 1e-10F,    1e-8F,      -1e-6F, 1e-3F,   0.1F,     -0.5F,
      0.9F,    0.99F,  1,         -1,         2,      -3,      1e3F,     1e6F,
      -1e9F,   1e9F,   1e18F,     -1e18F,     1e19F,  -1e30F,  kMost,    -kMost};
  int applied = 0;
  int refused = 0;
  for (const bool reads_rates : {false, true}) {
    for (const RegisteredOp* const op : Updates()) {
      INFO(op->def->name, ", scalars ", std::string(reads_rates ? "read from variables" : "fed"));
      std::mt19937 random(7);
      UpdateProgram program(*op, reads_rates);
      for (int trial = 0; trial < 150; ++trial) {
        // In most trials most inputs are ordinary, so that the rest decides.
        const auto share = static_cast<uint32_t>(trial % 5);
        std::map<std::string, bool> is_extreme;
        SetAll(program, random, [&](const std::string& name) {
          const InputBounds& bounds = *op->def->bounds->Find(name);
          const auto [place, is_new] = is_extreme.try_emplace(name, false);
          if (is_new) place->second = random() % 5 <= share;
          if (place->second) return extremes[random() % extremes.size()];
          return static_cast<float>(std::clamp(0.1, bounds.least, bounds.most));
        });
        const std::vector<float> before = program.Values();
        if (program.Run(2)) {
          ++applied;
        } else {
          ++refused;
        }
        REQUIRE(AllFinite(program.Values()));
      }
    }
  }
  CHECK(applied > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("values at the bounds stay finite for as many steps as are not checked") {
  for (const RegisteredOp* const op : Updates()) {
    INFO(op->def->name);
    std::mt19937 random(11);
    UpdateProgram program(*op, false);
    for (int trial = 0; trial < 40; ++trial) {
      SetAll(program, random, [&](const std::string& name) {
        const InputBounds& bounds = *op->def->bounds->Find(name);
        const double most = trial == 0 ? bounds.most : 0;
        const std::array<double, 6> corners = {bounds.least, bounds.most, -bounds.most, 0,
                                               1e-40,        most};
        const double corner = trial == 0 ? most : corners[random() % corners.size()];
        return static_cast<float>(std::clamp(corner, bounds.least, bounds.most));
      });
      const bool applied = program.Run(trial == 0 ? static_cast<int>(kSureSteps) : 20);
      CHECK((applied || op->def->bounds->divides_by_root_of_variance));
      REQUIRE(AllFinite(program.Values()));
    }
  }
}

// Compiles a step that first subtracts `delta` from x and then runs `late` on x's new value.
class LateUpdate {
 public:
  explicit LateUpdate(const std::function<Node*(Graph&, const Value& x, const Variable& y)>& late) {
    const Value delta = graph_.Placeholder(DType::kFloat, {}, "delta");
    const Variable* const x = graph_.AddVariable("x", DType::kFloat, {}, graph_.Scalar(0.0F));
    const Variable* const y = graph_.AddVariable("y", DType::kFloat, {}, graph_.Scalar(0.0F));
    Node* const first = ops::AssignSubVariableOp(x->handle, delta);
    const Value after = ops::ReadVariableOp(x->handle);
    after.node->AddControlInput(first);
    Node* const last = late(graph_, after, *y);
    variables_.Set("x", Tensor::Scalar(2.0F));
    variables_.Set("y", Tensor::Scalar(5.0F));
    spec_ = {&graph_, {{delta, {}, false}}, {}, {last}, delta};
    program_ = MakeCpuBackend()->Compile(spec_, {}, variables_);
  }
  // False: the gate copies and checks what every step writes.
  [[nodiscard]] bool IsBounded() {
    return CompiledProgram(spec_, {}, variables_).plan.updates_are_bounded;
  }
  std::vector<StepResult> Run(const std::vector<float>& deltas) {
    std::vector<StepFeeds> steps;
    for (const float delta : deltas) steps.push_back({{Tensor::Scalar(delta)}});
    return program_->Run(steps);
  }
  [[nodiscard]] float Get(const std::string& name) const {
    return variables_.Get(name).values<float>()[0];
  }

 private:
  Graph graph_{TestRegistry()};
  VariableStore variables_;
  ProgramSpec spec_;
  std::unique_ptr<Program> program_;
};

TEST_CASE("an input that is computed after the first update cannot bring in infinity") {
  LateUpdate inverse([](Graph& graph, const Value& x, const Variable& y) {
    return ops::AssignVariableOp(y.handle, ops::RealDiv(graph.Scalar(1.0F), x));
  });
  CHECK(!inverse.IsBounded());
  const auto results = inverse.Run({1, 1});  // x: 1, then 0
  REQUIRE(results.size() == 2);
  CHECK(results[0].applied);
  CHECK(results[1].not_finite == "y");
  CHECK(inverse.Get("x") == 1);
  CHECK(inverse.Get("y") == 1);
}

TEST_CASE("a variable that a step doubles after another update never becomes infinite") {
  LateUpdate twice([](Graph& /*graph*/, const Value& x, const Variable& y) {
    return ops::AssignAddVariableOp(y.handle, ops::AddV2(y.value, ops::Mul(x, 0.0F)));
  });
  const auto results = twice.Run(std::vector<float>(140, 1e-3F));
  CHECK(results.back().not_finite == "y");
  CHECK(std::isfinite(twice.Get("y")));
}

TEST_CASE("an average of a variable after its update needs no check") {
  LateUpdate average([](Graph& graph, const Value& x, const Variable& y) {
    return ops::AssignSubVariableOp(y.handle, ops::Mul(ops::Sub(y.value, x), graph.Scalar(0.5F)));
  });
  CHECK(average.IsBounded());
  CHECK(average.Run({1, 1}).back().applied);
  CHECK(average.Get("y") == 1.5F);  // 5, 3, 1.5

  // A step of gradient accumulation keeps the value before the update, or takes the new one.
  LateUpdate kept([](Graph& graph, const Value& /*x*/, const Variable& y) {
    const Value takes = graph.Constant(Tensor::Scalar(true));
    return ops::AssignVariableOp(y.handle, ops::SelectV2(takes, y.value, y.value));
  });
  CHECK(kept.IsBounded());

  // ExponentialMovingAverage with num_updates; a decay below 0 overshoots.
  const auto share_of = [](Graph& graph, const Variable& step, double decay) {
    const Value updates = ops::Cast(ops::ReadVariableOp(step.handle), DType::kFloat);
    const Value by_step = ops::RealDiv(ops::AddV2(updates, 1.0), ops::AddV2(updates, 10.0));
    return ops::Sub(1.0, ops::Minimum(graph.ScalarOf(DType::kFloat, decay), by_step));
  };
  for (const double decay : {0.9, -3.0}) {
    LateUpdate counted([&](Graph& graph, const Value& x, const Variable& y) {
      const Variable* const step =
          graph.AddVariable("step", DType::kInt64, {}, graph.Constant(Tensor::Scalar(int64_t{0})));
      return ops::AssignSubVariableOp(
          y.handle, ops::Mul(ops::Sub(y.value, x), share_of(graph, *step, decay)));
    });
    CHECK(counted.IsBounded() == (decay == 0.9));
  }
}

TEST_CASE("an accumulator that another update empties is checked after each step") {
  Graph graph(TestRegistry());
  const Value guard = graph.Placeholder(DType::kFloat, {}, "guard");
  const auto variable = [&](const std::string& name) {
    return graph.AddVariable(name, DType::kFloat, {2}, ops::Zeros(graph, DType::kFloat, {2}))
        ->handle;
  };
  const Value zeros = ops::Zeros(graph, DType::kFloat, {2});
  const ops::AdagradInputs inputs{
      .var = variable("var"), .accum = variable("accum"), .lr = graph.Scalar(0.1F), .grad = zeros};
  Node* const update = ops::ResourceApplyAdagrad(inputs);
  Node* const empty = ops::AssignVariableOp(inputs.accum, zeros);
  empty->AddControlInput(update);
  VariableStore variables;
  variables.Set("var", Tensor::Of<float>({2}, {1, 2}));
  variables.Set("accum", Tensor::Of<float>({2}, {1, 1}));
  const auto program =
      MakeCpuBackend()->Compile({&graph, {{guard, {}, false}}, {}, {empty}, guard}, {}, variables);
  const StepFeeds feeds = {{Tensor::Scalar(1.0F)}};
  const auto results = program->Run(std::vector<StepFeeds>(3, feeds));
  REQUIRE(results.size() == 2);  // 0 / sqrt(0) in the second step
  CHECK(results[1].not_finite == "var");
  CHECK(variables.Get("var").values<float>()[0] == 1);
}

// Assigns 1 / value: infinity for 0, which any bounds would accept.
void PlanInverse(PlanContext& context) {
  const Buffer variable = context.VariableInput(0);
  const Buffer value = context.Input(1);
  context.Run([=](const Task& task) { *task.At<float>(variable) = 1 / *task.At<float>(value); });
}

constexpr OpDef InverseDef(std::string_view name, const UpdateBounds* bounds) {
  return {.name = name,
          .signature = "resource: resource, value: dtype ->; dtype: type",
          .shape = [](ShapeContext& /*context*/) {},
          .grad = NoGradient,
          .cpu = PlanInverse,
          .stateful = true,
          .writes = true,
          .bounds = bounds};
}

TEST_CASE("the results of an op that states no bounds, or is never sure, are always checked") {
  static const OpDef kInverses[] = {InverseDef("AssignInverse", nullptr),
                                    InverseDef("AssignInverseNeverSure", &kNeverSure)};
  std::vector<OpFamily> families = ops::AllOps();
  families.push_back(kInverses);
  const OpRegistry registry(families);
  for (const OpDef& inverse : kInverses) {
    INFO(inverse.name);
    Graph graph(registry);
    const Value value = graph.Placeholder(DType::kFloat, {}, "value");
    const Variable* const x = graph.AddVariable("x", DType::kFloat, {}, graph.Scalar(0.0F));
    Node* const update = graph.AddNode(inverse.name, {x->handle, value});
    VariableStore variables;
    variables.Set("x", Tensor::Scalar(3.0F));
    const auto program = MakeCpuBackend()->Compile(
        {&graph, {{value, {}, false}}, {}, {update}, value}, {}, variables);
    const std::vector<StepFeeds> steps = {{{Tensor::Scalar(2.0F)}}, {{Tensor::Scalar(0.0F)}}};
    const auto results = program->Run(steps);
    REQUIRE(results.size() == 2);
    CHECK(results[0].applied);
    CHECK(results[1].not_finite == "x");
    CHECK(*variables.Get("x").data<float>() == 0.5F);
  }
}

TEST_CASE("a centred RMSProp is not sure of a row that a step updates twice") {
  const RegisteredOp& op = *TestRegistry().Find("ResourceSparseApplyCenteredRMSProp");
  UpdateProgram program(op, false);
  // rho is small, and all gradients equal mg, so each update leaves a tenth of the variance.
  const std::map<std::string, float> values = {
      {"var", 1},     {"mg", 1},       {"ms", 1.0001F},     {"mom", 0}, {"lr", 0.1F},
      {"rho", 0.01F}, {"momentum", 0}, {"epsilon", 1e-10F}, {"grad", 1}};
  for (const auto& [name, value] : values) {
    program.Set(name, std::vector<float>(program.IsScalar(name) ? 1 : kElements, value));
  }
  program.SetIndices(std::vector<int32_t>(kElements, 3));
  program.Run(1);
  CHECK(AllFinite(program.Values()));
}

}  // namespace
}  // namespace tpuest
