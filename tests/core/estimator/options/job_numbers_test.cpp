// An optimizer's numbers in a checkpoint and in the job.

#include "core/estimator/checkpoint/variables.h"
#include "core/nn/optimizers/minimize.h"
#include "core/ops/elementwise.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// A weight w that starts as 1, trained by Ftrl on w^2.
class Model {
 public:
  explicit Model(double learning_rate) : graph_(home_.registry) {
    const Variable* const w =
        graph_.AddVariable("w", DType::kFloat, Shape(), graph_.Scalar<float>(1));
    const nn::KerasOptimizer ftrl = nn::Ftrl{.options = {.learning_rate = learning_rate}};
    const nn::OptimizerPart part{ftrl, {}, ""};
    train_ = nn::MinimizeParts(ops::Square(w->value), {&part, 1}, {});
    InitializeVariables(*home_.backend, graph_, Which::kAll, 1, store_);
  }
  void Step() {
    const StepFeeds nothing;
    const ProgramSpec spec{.graph = &graph_, .targets = {train_.node}};
    (void)home_.backend->Compile(spec, {}, store_)->Run({&nothing, 1});
  }
  [[nodiscard]] SavedState Save() const {
    SavedState saved{.prefix = "folder/model.ckpt-1"};
    for (const auto& [name, tensor] : store_.tensors()) saved.tensors[name] = tensor.Clone();
    return saved;
  }
  void Restore(const SavedState& saved) { RestoreVariables(saved, graph_, store_, &home_.log); }
  float operator[](const std::string& name) { return *store_.Get(name).data<float>(); }
  [[nodiscard]] const std::vector<std::string>& lines() const { return home_.lines; }

 private:
  Home home_;
  Graph graph_;
  VariableStore store_;
  nn::TrainOp train_;
};

}  // namespace

TEST_CASE("the job's learning rate is used, not the checkpoint's, and the log says so") {
  Model first(0.2);
  first.Step();
  Model second(0.1);
  second.Restore(first.Save());
  CHECK(second["w"] == first["w"]);
  CHECK(second["training/Ftrl/w/accumulator"] == first["training/Ftrl/w/accumulator"]);
  CHECK(second["training/Ftrl/learning_rate"] == 0.1F);
  CHECK(second.lines() == std::vector<std::string>{
                              "model.ckpt-1: \"training/Ftrl/learning_rate\" is 0.2, but the job "
                              "sets 0.1: using the job's"});
}

TEST_CASE("a checkpoint that agrees with the job is restored without a log line") {
  Model first(0.2);
  Model second(0.2);
  second.Restore(first.Save());
  CHECK(second.lines().empty());
}

TEST_CASE("a checkpoint without one of the optimizer's numbers is refused") {
  Model first(0.2);
  SavedState saved = first.Save();
  saved.tensors.erase("training/Ftrl/beta");
  const Error error = ErrorOf([&] { first.Restore(saved); });
  CHECK(error.message() ==
        "model.ckpt-1: lacks 1 of the graph's 10 variables: \"training/Ftrl/beta\"; was the model "
        "or its optimizer changed?");
}

}  // namespace tpuest
