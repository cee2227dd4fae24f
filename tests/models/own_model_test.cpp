// The model_fn that docs/developing.md shows: it compiles, learns and is evaluated as it stands
// there.

#include <doctest/doctest.h>

#include <string>

#include "core/backend/cpu/program.h"
#include "core/base/process/files.h"
#include "core/estimator/estimator.h"
#include "core/ops/all_ops.h"
#include "tests/temporary_folder.h"

namespace tpuest {

TPUEstimatorSpec OwnModelFn(Graph& graph, const ModelInputs& inputs, Mode mode,
                            const Params& params);

namespace {

// x in [0, 1), label x^2; the batch is the same every time.
class Squares final : public BatchStream {
 public:
  Squares(int64_t rows, bool endless) : rows_(rows), endless_(endless) {}
  [[nodiscard]] const StreamSpec& spec() const override { return spec_; }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override { return rows_; }
  [[nodiscard]] bool endless() const override { return endless_; }
  void Seek(const StreamPosition& position) override { at_ = position; }
  [[nodiscard]] const std::vector<std::string>& files() const override { return files_; }
  [[nodiscard]] std::optional<Batch> Next() override {
    if (!endless_ && at_.epoch > 0) return std::nullopt;
    ++at_.epoch;
    Tensor x(DType::kFloat, {rows_, 1});
    Tensor y(DType::kFloat, {rows_, 1});
    for (int64_t row = 0; row < rows_; ++row) {
      const float value = static_cast<float>(row) / static_cast<float>(rows_);
      x.data<float>()[row] = value;
      y.data<float>()[row] = value * value;
    }
    return Batch{.features = {x}, .labels = y, .examples = rows_, .after = at_};
  }

 private:
  const int64_t rows_;
  const bool endless_;
  const StreamSpec spec_{.features = {{"x", DType::kFloat, {1}}},
                         .labels = TensorSpec{"y", DType::kFloat, {1}}};
  const std::vector<std::string> files_;
  StreamPosition at_;
};

std::string CodeInManual() {
  const std::string page = ReadFile(JoinPath(SOURCE_ROOT, "docs/developing.md"));
  const std::string fence = "```cpp\n";
  const size_t begin = page.find(fence);
  REQUIRE(begin != std::string::npos);
  const size_t code = begin + fence.size();
  return page.substr(code, page.find("```", code) - code);
}

}  // namespace

TEST_CASE("the manual shows the model_fn that is compiled here") {
  CHECK(CodeInManual() == ReadFile(JoinPath(SOURCE_ROOT, "tests/models/own_model.cpp")));
}

TEST_CASE("the manual's model_fn learns, on one replica and on four") {
  for (const bool use_tpu : {false, true}) {
    TemporaryFolder folder;
    OpRegistry registry{ops::AllOps()};
    const std::unique_ptr<Backend> backend = MakeCpuBackend();
    Log log;
    const SystemClock clock;
    StopSignal stop;
    EstimatorOptions options{.use_tpu = use_tpu, .train_batch_size = 32};
    options.run_config.model_dir = folder.path();
    options.run_config.tf_random_seed = 3;
    options.run_config.tpu_config.num_shards = 4;
    Estimator estimator(
        OwnModelFn, options,
        {.registry = registry, .backend = *backend, .log = log, .clock = clock, .stop = stop});
    const InputFn input_fn = [](const InputContext& context) {
      return std::make_unique<Squares>(context.batch_size, context.mode == Mode::kTrain);
    };
    const TrainResult trained = estimator.Train(input_fn, {.max_steps = 300});
    CHECK(trained.global_step == 300);
    CHECK(trained.loss.value() < 1e-3F);
    const EvaluateResult evaluated = estimator.Evaluate(input_fn);
    CHECK(evaluated.metrics.at("mean_error").AsDouble(0) < 0.03);
    CHECK(evaluated.examples == 32);
  }
}

}  // namespace tpuest
