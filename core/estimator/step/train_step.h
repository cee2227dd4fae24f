#pragma once
// The training step: a model built for TRAIN, its programs by the shapes of their inputs, and the
// positions of the loss, the learning rate, the summaries and the host_call's tensors in their
// results. Training, plans and benchmarks all run their steps here, so they compile the same
// programs.
//
// In: batches of the training stream and the store of the variables. Out: the variables after the
// steps, and for each step its loss, learning rate, summaries and host_call's tensors.
//
//   reading thread                           stepping thread
//   Batch [8, ...] ─▶ Prepare ─▶ InfeedItem ─▶ Run(items) ─▶ StepsMade ─▶ Values(0), Values(1), ...
//                     2 feeds of             one call of a
//                     [4, ...] each          StepProgram
//
// Invariants:
//   - The steps of one Run have inputs of the same shapes. They run in order, each on the variables
//     that the previous one left.
//   - A step whose loss, or any number that it writes, is not finite changes no variable, and no
//     step follows it in its call.
//   - Prepare reads no variable, so it may run any number of steps ahead. It is the only member
//     that a second thread may call meanwhile.
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

// Calls the model_fn for TRAIN and global batches of this many rows. Throws as BuildModel does.
[[nodiscard]] std::shared_ptr<const BuiltModel> BuildTrainModel(const EstimatorContext& context,
                                                                const StreamSpec& stream,
                                                                int64_t rows, bool with_scaffold);

// Returns how the steps of training are compiled: replicas, threads, seed and device.
[[nodiscard]] CompileOptions CompileOptionsOf(const EstimatorContext& context);

// The context, whose seed random ops use, and the variables outlive the step.
struct TrainStepArgs {
  const EstimatorContext& context;
  VariableStore& variables;
  const StreamSpec& stream;
  std::shared_ptr<const BuiltModel> model;  // for batches of BatchSize(kTrain) rows
};

// The results of one step; means are over replicas.
struct StepValues {
  float loss = 0;  // before the update
  // True if the loss, or a variable after the update, is not finite: the update was not applied,
  // and no step followed.
  bool diverged = false;
  std::string not_finite;  // the first such variable; "" if it is the loss
  std::optional<float> learning_rate;
  // [summaries of the spec], in its order. A summary of variables only is NaN if it was not
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

  // The model for full batches; if batches are padded, the model for padded ones, with
  // example_weight.
  [[nodiscard]] const BuiltModel& model() const;
  [[nodiscard]] const StreamSpec& stream() const { return stream_; }
  // Whether the model has summaries that are computed only when they are written.
  [[nodiscard]] bool has_rare_summaries() const;

  // Whether the steps' results need all rows of a batch, not only those of the process's own
  // replicas.
  [[nodiscard]] bool reads_whole_batches() const;

  // Returns the shapes in which a global batch is fed to the model.
  [[nodiscard]] std::vector<Shape> ShapesOf(const Batch& batch) const;
  // Returns the program for inputs of these shapes, compiled on first use. Throws Error kUsage,
  // with the node's place, for a node that the device cannot run.
  std::shared_ptr<const StepProgram> ProgramFor(const std::vector<Shape>& shapes);

  // Returns the feeds of a batch; empty if its program is not compiled yet: Run then makes both.
  // Any thread. Throws Error kUsage on TPU for a batch of another size than the model's.
  [[nodiscard]] StepFeeds Prepare(const Batch& batch);

  struct How {
    bool with_rare_summaries = false;  // the first step computes them
    // Receives an event per kernel, or a single one for all steps on a device. nullptr: nothing is
    // measured.
    StepTrace* trace = nullptr;
    // Called before the first step, when all values that this process computes by itself are ready.
    std::function<void()> begins = {};
  };
  // Runs steps on the first items: as many as have the shapes of the first one, in one call of
  // their program. Consumes the items' feeds. Without TPU a batch may be short: the model is then
  // built again for it.
  [[nodiscard]] StepsMade Run(std::span<InfeedItem> items, const How& how);

 private:
  friend class StepsMade;
  struct Sized;  // model, programs and positions for batches of one size

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
  // The program of the last trace, kept for the next step that records its events in the same
  // trace.
  struct {
    StepTrace* trace = nullptr;
    std::vector<Shape> shapes;
    std::shared_ptr<StepProgram> program;
  } traced_;
};

// The steps of one call of a program, with their results. The TrainStep outlives it.
class StepsMade {
 public:
  // Fewer than the items if the shapes changed, or the last step diverged.
  [[nodiscard]] size_t size() const { return results_.size(); }
  // Seconds that all of them took on the device; Clock::Seconds at the end of a step.
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] double EndOf(size_t step) const;
  // See Program::steps_per_call.
  [[nodiscard]] std::optional<int64_t> steps_per_call() const;

  [[nodiscard]] StepValues Values(size_t step) const;
  // Histograms of whole tensors, of the first step only, and only if it ran with rare summaries.
  [[nodiscard]] const std::vector<SummaryValue>& distributions() const { return distributions_; }
  // nullptr if the model has no host_call, or one without tensors, which is not called.
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
  std::vector<float> weights_;  // the first step's summaries of variables only
  std::vector<SummaryValue> distributions_;
  double begin_ = 0;
  double seconds_ = 0;
};

}  // namespace tpuest
