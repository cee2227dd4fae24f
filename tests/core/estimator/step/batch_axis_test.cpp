// batch_axis: a batch on another axis than the first is split along that axis.

#include "core/estimator/step/batch_axis.h"

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

using Axes = std::vector<int64_t>;

// Images of 2 x 3 instead of x: every element of image i is x plus a pattern that sums to 0.
// [N,2,3], or [2,3,N] with `last`.
class Images final : public BatchStream {
 public:
  Images(std::unique_ptr<BatchStream> of, bool last) : of_(std::move(of)), last_(last) {
    spec_ = of_->spec();
    spec_.features[1].shape = {2, 3};
  }
  [[nodiscard]] const StreamSpec& spec() const override { return spec_; }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override { return of_->epoch_size(); }
  [[nodiscard]] bool endless() const override { return of_->endless(); }
  void Seek(const StreamPosition& position) override { of_->Seek(position); }
  [[nodiscard]] const std::vector<std::string>& files() const override { return of_->files(); }

  [[nodiscard]] std::optional<Batch> Next() override {
    constexpr float kPattern[] = {-1, 2, 0.5, -0.25, -2.5, 1.25};
    std::optional<Batch> batch = of_->Next();
    if (!batch) return batch;
    const Tensor x = batch->features[1];
    const int64_t n = x.elements();
    Tensor images(DType::kFloat, last_ ? Shape{2, 3, n} : Shape{n, 2, 3});
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t p = 0; p < 6; ++p) {
        images.data<float>()[last_ ? p * n + i : i * 6 + p] = x.data<float>()[i] + kPattern[p];
      }
    }
    batch->features[1] = images;
    return batch;
  }

 private:
  const std::unique_ptr<BatchStream> of_;
  const bool last_;
  StreamSpec spec_;
};

InputFn ImageInput(bool last, const RangeOptions& options = {}) {
  return [last, range = RangeInput(options)](const InputContext& context) {
    return std::make_unique<Images>(range(context), last);
  };
}

// The linear model on the mean of each image; `seen` receives the shape of its input.
ModelFn ImageModel(bool last, std::string* seen = nullptr) {
  return [last, seen](Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
    ModelInputs linear = inputs;
    Value& x = linear.features.at("x");
    if (seen != nullptr) *seen = x.shape().Text();
    if (last) x = ops::Transpose(x, {2, 0, 1});
    x = ops::ExpandDims(ops::Mean(x, {1, 2}), 1);
    return LinearModel()(graph, linear, mode, params);
  };
}

EstimatorOptions AxisOptions(const std::string& model_dir, int shards,
                             std::optional<Axes> batch_axis) {
  EstimatorOptions options = Options(model_dir, shards);
  options.batch_axis = std::move(batch_axis);
  return options;
}

}  // namespace

TEST_CASE("a batch on another axis trains as one on the first, and model_fn sees its axis") {
  for (const int shards : {0, 1, 2}) {
    CAPTURE(shards);
    TemporaryFolder folder;
    Home home;
    std::string seen;
    Estimator first(ImageModel(false), AxisOptions(folder.File("first"), shards, {}), home.get());
    Estimator last(ImageModel(true, &seen), AxisOptions(folder.File("last"), shards, Axes{0, 2, 0}),
                   home.get());
    const TrainResult a = first.Train(ImageInput(false), {.max_steps = 7});
    const TrainResult b = last.Train(ImageInput(true), {.max_steps = 7});
    CHECK(*b.loss == doctest::Approx(*a.loss).epsilon(1e-6));
    CHECK(seen == (shards == 2 ? "[2,3,2]" : "[2,3,4]"));
    // The last batch is short.
    const EvaluateResult c = first.Evaluate(ImageInput(false, {.count = 10, .repeat = 1}));
    const EvaluateResult d = last.Evaluate(ImageInput(true, {.count = 10, .repeat = 1}));
    CHECK(d.examples == 10);
    CHECK(d.metrics.at("average_loss").AsDouble(0) ==
          doctest::Approx(c.metrics.at("average_loss").AsDouble(0)).epsilon(1e-6));
  }
}

TEST_CASE("a stream with its batch on axis 0 is transposed only for model_fn") {
  class Front final : public BatchStream {
   public:
    explicit Front(std::unique_ptr<BatchStream> of) : of_(std::move(of)), spec_(of_->spec()) {
      spec_.batch_first = true;
    }
    [[nodiscard]] const StreamSpec& spec() const override { return spec_; }
    [[nodiscard]] std::optional<int64_t> epoch_size() const override { return of_->epoch_size(); }
    [[nodiscard]] bool endless() const override { return of_->endless(); }
    void Seek(const StreamPosition& position) override { of_->Seek(position); }
    [[nodiscard]] const std::vector<std::string>& files() const override { return of_->files(); }
    [[nodiscard]] std::optional<Batch> Next() override { return of_->Next(); }

   private:
    const std::unique_ptr<BatchStream> of_;
    StreamSpec spec_;
  };
  TemporaryFolder folder;
  Home home;
  const EstimatorOptions front = AxisOptions(folder.File("front"), 2, Axes{0, 2, 0});
  const EstimatorOptions last = AxisOptions(folder.File("last"), 2, Axes{0, 2, 0});
  const InputFn input = [](const InputContext& context) {
    return std::make_unique<Front>(ImageInput(false)(context));
  };
  (void)Estimator(ImageModel(true), front, home.get()).Train(input, {.max_steps = 3});
  (void)Estimator(ImageModel(true), last, home.get()).Train(ImageInput(true), {.max_steps = 3});
  CHECK(ReadFile(folder.File("front/model.ckpt-3.data-00000-of-00001")) ==
        ReadFile(folder.File("last/model.ckpt-3.data-00000-of-00001")));
}

TEST_CASE("axes that the inputs do not have are refused, most in TensorFlow's words") {
  TemporaryFolder folder;
  Home home;
  const auto message = [&](const Axes& axes, bool last = true) {
    const Error error = ErrorOf([&] {
      Estimator estimator(ImageModel(last), AxisOptions(folder.path(), 2, axes), home.get());
      (void)estimator.Train(ImageInput(last), {.max_steps = 1});
    });
    CHECK(error.code() == Code::kUsage);
    CHECK(error.faults().front().key == "batch_axis");
    return error.message();
  };
  CHECK(message({2, 0}) == "shard_dimensions is [2, 0], but must be a list of length 3");
  CHECK(message({0, 2, 0, 0}) ==
        "shard_dimensions is [0, 2, 0, 0], but must be a list of length 3");
  CHECK(message({0, 3, 0}) == "Shape [2,2,3] does not contain shard_dimension 3");
  CHECK(message({0, 2, 0}, false) ==
        "'x' is [4,2,3]: without axis 2 that gives [4,2], expected [2,3]");
  CHECK(message({0, -1, 0}) == "Dimension -1 must be >= 0");
  Estimator estimator(ImageModel(true), AxisOptions(folder.path(), 2, Axes{0, 2, 0}), home.get());
  const Error error = ErrorOf([&] {
    (void)estimator.Predict(ImageInput(true, {.repeat = 1}), {}, [](const auto&) { return true; });
  });
  CHECK(error.message() == "For mode PREDICT, batch_axis is not supported yet.");
}

TEST_CASE("without TPU a prediction also takes its batch from that axis") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(ImageModel(true), AxisOptions(folder.path(), 0, Axes{0, 2, 0}), home.get());
  (void)estimator.Train(ImageInput(true), {.max_steps = 1});
  int64_t rows = 0;
  (void)estimator.Predict(ImageInput(true, {.count = 6, .repeat = 1}), {},
                          [&](const PredictionRow& row) {
                            CHECK(row.values.at("index").AsDouble(0) == static_cast<double>(rows));
                            ++rows;
                            return true;
                          });
  CHECK(rows == 6);
}

}  // namespace tpuest
