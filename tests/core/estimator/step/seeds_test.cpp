// Ops with their own seed, in new runs and in runs whose checkpoints have no seed_rule.

#include <algorithm>
#include <array>

#include "core/base/random.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/io/bundle.h"
#include "core/kernels/fingerprint.h"
#include "core/nn/global_step.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

constexpr const char* kSeedRuleEntry = "tpuest/seed_rule";

using DrawnSums = std::array<float, 4>;

// Each step adds the numbers of two ops with the seeds (1, 2) to the variables "one" and "two".
TPUEstimatorSpec SeededModel(Graph& graph, const ModelInputs& inputs, Mode mode,
                             const Params& /*params*/) {
  const auto add = [&](const std::string& name) {
    const Variable* const sum =
        graph.AddVariable(name, DType::kFloat, {4}, ops::Zeros(graph, DType::kFloat, Shape({4})));
    const Attrs seeds = {{"dtype", DType::kFloat}, {"seed", int64_t{1}}, {"seed2", int64_t{2}}};
    return ops::AssignAddVariableOp(
        sum->handle,
        graph.Add("RandomUniform", {ops::Int32s(graph, {4})}, seeds, name + "/uniform"));
  };
  TPUEstimatorSpec spec{.mode = mode};
  spec.loss = ops::Mean(inputs.features.at("x"));
  const Variable* const step = nn::GetOrCreateGlobalStep(graph);
  Node* const next = ops::AssignAddVariableOp(step->handle, graph.Scalar<int64_t>(1));
  spec.train_op = ops::NoOp(graph, {add("one"), add("two"), next}, "train");
  return spec;
}

std::string TrainSeeded(const std::string& model_dir, int64_t max_steps) {
  Home home;
  return Estimator(SeededModel, Options(model_dir), home.get())
      .Train(RangeInput({}), {.max_steps = max_steps})
      .checkpoint;
}

DrawnSums SumsOf(const std::string& checkpoint, const std::string& variable) {
  const Tensor sums = BundleReader(checkpoint).Read(variable);
  DrawnSums values = {};
  std::copy_n(sums.data<float>(), values.size(), values.begin());
  return values;
}

// Changes a checkpoint to one of a program without seed_rule.
void MakeOld(const std::string& checkpoint) {
  std::vector<NamedTensor> entries;
  {
    const BundleReader reader(checkpoint);
    for (const std::string& name : reader.Names()) {
      if (name != kSeedRuleEntry) entries.push_back({name, reader.Read(name).Clone()});
    }
  }
  WriteBundle(checkpoint, entries, {.fsync = false});
}

DrawnSums Plus(DrawnSums sums, std::string_view name, uint64_t step) {
  const RandomKey key{.seed = 7, .name = Fingerprint64(name)};
  const std::array<uint32_t, 4> words = Philox(key, step, 0);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += UniformFloat(words[i]);
  return sums;
}

}  // namespace

TEST_CASE("two ops with one seed draw the same numbers, and the checkpoint has the rule's number") {
  const TemporaryFolder folder;
  const std::string checkpoint = TrainSeeded(folder.path(), 3);
  CHECK(SumsOf(checkpoint, "one") == SumsOf(checkpoint, "two"));
  CHECK(*BundleReader(checkpoint).Read(kSeedRuleEntry).data<int64_t>() == 2);
}

TEST_CASE("a run whose checkpoint has no seed_rule continues with the names of its ops") {
  const TemporaryFolder folder;
  const std::string begun = TrainSeeded(folder.File("whole"), 1);
  MakeOld(begun);
  const DrawnSums first = SumsOf(begun, "one");
  const std::string whole = TrainSeeded(folder.File("whole"), 3);
  for (const std::string name : {"one", "two"}) {
    const std::string of = name + "/uniform/1/2";
    CHECK(SumsOf(whole, name) == Plus(Plus(first, of, 1), of, 2));
  }
  CHECK(!BundleReader(whole).Has(kSeedRuleEntry));

  MakeOld(TrainSeeded(folder.File("cut"), 1));
  TrainSeeded(folder.File("cut"), 2);
  CHECK(CheckpointBytes(TrainSeeded(folder.File("cut"), 3)) == CheckpointBytes(whole));
}

TEST_CASE("an old run is trained again from its start with the names of its ops") {
  const TemporaryFolder folder;
  const auto again = [&](const std::string& name) {
    Home home;
    Estimator estimator(SeededModel, Options(folder.File(name)), home.get());
    estimator.StartByNames();
    return estimator.Train(RangeInput({}), {.max_steps = 3}).checkpoint;
  };
  const std::string old = again("old");
  CHECK(SeedsByName(old));
  DrawnSums sums = {};
  for (uint64_t step = 0; step < 3; ++step) sums = Plus(sums, "one/uniform/1/2", step);
  CHECK(SumsOf(old, "one") == sums);
  const std::string other = TrainSeeded(folder.File("new"), 1);
  CHECK(!SeedsByName(other));
  CHECK(!SeedsByName(folder.File("missing")));
  // A checkpoint in the folder takes precedence.
  const std::string whole = TrainSeeded(folder.File("whole"), 3);
  CHECK(CheckpointBytes(again("new")) == CheckpointBytes(whole));
}

TEST_CASE("a run with seeds gives the same bytes with and without interruptions") {
  const TemporaryFolder folder;
  const std::string whole = TrainSeeded(folder.File("whole"), 6);
  TrainSeeded(folder.File("cut"), 1);
  TrainSeeded(folder.File("cut"), 4);
  CHECK(CheckpointBytes(TrainSeeded(folder.File("cut"), 6)) == CheckpointBytes(whole));
}

TEST_CASE("the input of training, evaluation and prediction keeps an old run's rule") {
  const TemporaryFolder folder;
  std::vector<bool> by_name;
  const InputFn input = [&](const InputContext& context) {
    by_name.push_back(context.seeds_by_name);
    return RangeInput({.repeat = context.mode == Mode::kTrain ? -1 : 1})(context);
  };
  const auto run = [&](int64_t max_steps) {
    by_name.clear();
    Home home;
    std::string checkpoint = Estimator(LinearModel(), Options(folder.path()), home.get())
                                 .Train(input, {.max_steps = max_steps})
                                 .checkpoint;
    // Each run is a separate Estimator, as separate commands would be.
    (void)Estimator(LinearModel(), Options(folder.path()), home.get()).Evaluate(input, {});
    (void)Estimator(LinearModel(), Options(folder.path()), home.get())
        .Predict(input, {}, [](const PredictionRow&) { return true; });
    return checkpoint;
  };
  const std::string checkpoint = run(1);
  CHECK(by_name == std::vector<bool>{false, false, false});
  MakeOld(checkpoint);
  run(2);
  CHECK(by_name == std::vector<bool>{true, true, true});
}

TEST_CASE("a checkpoint without a seed, as TensorFlow's, sets the new rule") {
  CHECK(!ReadResumePoint({}).seeds_by_name);
  const auto back = [](const ResumePoint& point) {
    std::map<std::string, Tensor> tensors;
    for (const NamedTensor& entry : ResumeEntries(point)) tensors[entry.name] = entry.tensor;
    return ReadResumePoint(tensors).seeds_by_name;
  };
  CHECK(!back({.seed = 0}));
  CHECK(back({.seed = 0, .seeds_by_name = true}));
}

}  // namespace tpuest
