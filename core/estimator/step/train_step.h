#pragma once
// The training step: a model built for TRAIN, its programs by the shapes of their inputs, and where
// in their results the loss, the learning rate, the summaries and the host_call's tensors stand.
// Training, a plan and a bench all make their steps here, so what one of them compiles is what the
// others do.
//
// In: batches of the training stream and the store of the variables. Out: the variables as the
// steps left them, and of each step its loss, learning rate, summaries and host_call's tensors.
//
//   thread that reads                        thread that steps
//   Batch [8, ...] ─▶ Prepare ─▶ InfeedItem ─▶ Run(items) ─▶ StepsMade ─▶ Values(0), Values(1), ...
//                     2 feeds of             one call of a
//                     [4, ...] each          StepProgram
//
// What holds:
//   - The steps of one Run have inputs of the same shapes. They go in order, each on the variables
//     that the one before it left.
//   - A step whose loss, or any number that it writes, is not finite changes no variable, and none
//     comes after it in its call.
//   - Prepare reads no variable, so it may be any number of steps ahead. It is the one member that
//     a second thread may call meanwhile.
//   - A program is compiled once for its shapes, whoever asks for it first.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/step_trace.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/infeed.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/estimator/step/programs/step_program.h"
#include "core/io/events/event.h"

namespace tpuest {

// Calls the model_fn for TRAIN and global batches of so many rows. Throws what BuildModel throws.
[[nodiscard]] std::shared_ptr<const BuiltModel> BuildTrainModel(const EstimatorContext& context,
                                                                const StreamSpec& stream,
                                                                int64_t rows, bool with_scaffold);

// How the steps of training are compiled: their replicas, threads, seed and device.
[[nodiscard]] CompileOptions CompileOptionsOf(const EstimatorContext& context);

// The context, whose seed random ops draw by, and the variables outlive the step.
struct TrainStepArgs {
  const EstimatorContext& context;
  VariableStore& variables;
  const StreamSpec& stream;
  std::shared_ptr<const BuiltModel> model;  // for batches of BatchSize(kTrain) rows
};

// The numbers that one step gave; means are over replicas.
struct StepValues {
  float loss = 0;  // before the update
  // The loss, or a variable after the update, is not finite: the update was not applied, no step
  // came after.
  bool diverged = false;
  std::string not_finite;  // the first such variable; "" where it is the loss
  std::optional<float> learning_rate;
  // [summaries of the spec], in its order. A summary of variables alone is NaN where it was not
  // computed.
  std::vector<float> summaries;
};

class StepsMade;

class TrainStep {
 public:
  explicit TrainStep(const TrainStepArgs& args);
  ~TrainStep();
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  // The model for full batches. Where they are filled up, for those: they have an example_weight.
  [[nodiscard]] const BuiltModel& model() const;
  [[nodiscard]] const StreamSpec& stream() const { return stream_; }
  // Whether the model has summaries that are computed where they are written, not at every step.
  [[nodiscard]] bool has_rare_summaries() const;

  // Whether whoever gets the steps' results needs all rows of a batch, not only those of its own
  // replicas.
  [[nodiscard]] bool reads_whole_batches() const;

  // The shapes of what a global batch feeds the model with.
  [[nodiscard]] std::vector<Shape> ShapesOf(const Batch& batch) const;
  // The program for inputs of these shapes, compiled on first use. Error kUsage, with the node's
  // place, for what the device cannot do.
  std::shared_ptr<const StepProgram> ProgramFor(const std::vector<Shape>& shapes);

  // The feeds of a batch; empty where its program is not there yet: Run makes both then. Any
  // thread. Error kUsage on TPU for a batch of another size than the model's.
  [[nodiscard]] StepFeeds Prepare(const Batch& batch);

  struct How {
    bool with_rare_summaries = false;  // the first step computes them
    // Gets an event for each kernel, from a device a single one for all the steps. nullptr: nothing
    // is measured.
    StepTrace* trace = nullptr;
    // Called when what this process computes alone is there, before the first step.
    std::function<void()> begins = {};
  };
  // Steps on the first items: as many as have the shapes of the very first, in one call of their
  // program. The items' feeds are used up. Without TPU a batch may be short: the model is built
  // once more for it.
  [[nodiscard]] StepsMade Run(std::span<InfeedItem> items, const How& how);

 private:
  friend class StepsMade;
  struct Sized;  // model, programs and places for batches of one size

  [[nodiscard]] Sized& SizedFor(int64_t rows);
  [[nodiscard]] std::shared_ptr<StepProgram> Traced(const Sized& sized,
                                                    const std::vector<Shape>& shapes,
                                                    StepTrace* trace);

  const EstimatorContext& context_;
  VariableStore& variables_;
  const StreamSpec stream_;
  const int64_t batch_size_;
  const CompileOptions options_;
  const bool broadcast_;                             // every replica gets the whole batch
  std::map<int64_t, std::unique_ptr<Sized>> sized_;  // by rows of the global batch
  Sized& full_;
  // The program of the last trace is kept for the next step that leaves its events in the same one.
  struct {
    StepTrace* trace = nullptr;
    std::vector<Shape> shapes;
    std::shared_ptr<StepProgram> program;
  } traced_;
};

// Steps that one call of a program made, and what they left. The TrainStep outlives it.
class StepsMade {
 public:
  // Fewer than the items where the shapes changed, or the last one diverged.
  [[nodiscard]] size_t size() const { return results_.size(); }
  // Seconds that all of them took on the device; Clock::Seconds at the end of one.
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] double EndOf(size_t step) const;
  // See Program::steps_per_call.
  [[nodiscard]] std::optional<int64_t> steps_per_call() const;

  [[nodiscard]] StepValues Values(size_t step) const;
  // Histograms of whole tensors. Only the first step has them, and only if it ran with rare
  // summaries.
  [[nodiscard]] const std::vector<SummaryValue>& distributions() const { return distributions_; }
  // nullptr where the model has no host_call, or one without tensors, which is not called.
  [[nodiscard]] const HostCall* host_call() const;
  // The host_call's tensors in the order of their names, [global batch, ...] each.
  [[nodiscard]] std::vector<Tensor> HostCallTensors(size_t step) const;

 private:
  friend class TrainStep;
  StepsMade(const TrainStep::Sized& of, std::shared_ptr<StepProgram> program)
      : of_(of), program_(std::move(program)) {}

  const TrainStep::Sized& of_;
  std::shared_ptr<StepProgram> program_;
  std::vector<StepFeeds> feeds_;
  std::vector<StepResult> results_;
  std::vector<float> weights_;  // the first step's summaries of variables alone
  std::vector<SummaryValue> distributions_;
  double begin_ = 0;
  double seconds_ = 0;
};

}  // namespace tpuest
