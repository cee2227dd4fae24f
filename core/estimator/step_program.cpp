#include "core/estimator/step_program.h"

#include <algorithm>

#include "core/sharding/split.h"
#include "core/sharding/tree.h"

namespace tpuest {
namespace {

void AddOnce(std::vector<Value>& values, Value value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

Shape WithRows(const Shape& shape, int64_t rows) {
  Shape result = shape;
  result.set_dim(0, rows);
  return result;
}

// The rows of every replica; the mean of a scalar.
Tensor Whole(const std::vector<Tensor>& parts) {
  if (parts.size() == 1 || parts.front().shape().rank() > 0) return ConcatRows(parts);
  if (!IsFloating(parts.front().dtype())) return parts.front();
  return Tensor::Scalar<float>(ReplicaMean(parts)).Cast(parts.front().dtype());
}

}  // namespace

float ReplicaMean(const std::vector<Tensor>& values) {
  std::vector<float> numbers;
  for (const Tensor& value : values) numbers.push_back(static_cast<float>(value.AsDouble(0)));
  return TreeMean<float>(numbers);
}

StepProgram::StepProgram(Backend& backend, VariableStore& variables, const StepProgramArgs& args)
    : replicas_(args.options.replicas), inputs_(args.inputs) {
  std::vector<Value> fetches = args.fetches;
  if (args.guard.valid()) fetches.push_back(args.guard);
  cut_ = CutGraph(args.graph, fetches, args.targets);
  before_values_ = cut_.before_to_device;
  for (const Value& fetch : args.fetches) {
    const Part part = cut_.PartOf(*fetch.node);
    if (part == Part::kDevice) AddOnce(device_values_, fetch);
    if (part == Part::kAfter) AddOnce(after_values_, fetch);
  }
  for (const Value& value : cut_.device_to_after) AddOnce(device_values_, value);
  CompileBefore(backend, variables, args);
  CompileDevice(backend, variables, args);
  CompileAfter(backend, variables, args);
  for (const Value& fetch : args.fetches) fetches_.push_back(Find(fetch));
}

// A value whose first dimension is that of the inputs, or not known; a constant of another size is
// none.
bool StepProgram::IsBatch(Value value) const {
  if (value.shape().rank() == 0) return false;
  const int64_t rows = value.shape().dim(0);
  return rows == kUnknownDim ||
         std::any_of(inputs_.begin(), inputs_.end(), [&](const Value& input) {
           return input.shape().rank() > 0 && input.shape().dim(0) == rows;
         });
}

void StepProgram::AddFeeds(const std::vector<Value>& values, int64_t rows,
                           ProgramSpec& spec) const {
  for (const Value& value : values) {
    const bool batch = IsBatch(value);
    spec.feeds.push_back({value, batch ? WithRows(value.shape(), rows) : value.shape(), batch});
  }
}

StepProgram::From StepProgram::Find(Value value) const {
  const auto at = [&](const std::vector<Value>& values) {
    return static_cast<size_t>(std::find(values.begin(), values.end(), value) - values.begin());
  };
  if (const size_t i = at(device_values_); i < device_values_.size()) return {Source::kDevice, i};
  if (const size_t i = at(after_values_); i < after_values_.size()) return {Source::kAfter, i};
  if (const size_t i = at(before_values_); i < before_values_.size()) return {Source::kBefore, i};
  const size_t i = at(inputs_);
  Check(i < inputs_.size(), "'{}' is not computed", value.name());
  return {Source::kInput, i};
}

void StepProgram::CompileBefore(Backend& backend, VariableStore& variables,
                                const StepProgramArgs& args) {
  if (before_values_.empty()) return;
  ProgramSpec spec{.graph = &args.graph, .fetches = before_values_};
  AddFeeds(inputs_, args.rows / replicas_, spec);
  before_ = backend.Compile(spec, {.replicas = replicas_, .seed = args.options.seed}, variables);
}

void StepProgram::CompileDevice(Backend& backend, VariableStore& variables,
                                const StepProgramArgs& args) {
  const int64_t share = args.rows / replicas_;
  Check(share * replicas_ == args.rows, "{} rows over {} replicas", args.rows, replicas_);
  ProgramSpec spec{.graph = &args.graph,
                   .fetches = device_values_,
                   .targets = args.targets,
                   .guard = args.guard};
  AddFeeds(inputs_, share, spec);
  AddFeeds(before_values_, share, spec);
  device_ = backend.Compile(spec, args.options, variables);
}

void StepProgram::CompileAfter(Backend& backend, VariableStore& variables,
                               const StepProgramArgs& args) {
  if (after_values_.empty()) return;
  ProgramSpec spec{.graph = &args.graph, .fetches = after_values_};
  std::vector<Value> fed = inputs_;
  fed.insert(fed.end(), before_values_.begin(), before_values_.end());
  fed.insert(fed.end(), cut_.device_to_after.begin(), cut_.device_to_after.end());
  AddFeeds(fed, args.rows, spec);
  for (const Value& value : fed) {
    after_feeds_.push_back(Find(value));
    after_feeds_.back().batch = IsBatch(value) || value.shape().rank() == 0;
  }
  CompileOptions options = args.options;
  options.replicas = 1;
  after_ = backend.Compile(spec, options, variables);
}

StepFeeds StepProgram::Prepare(const std::vector<Tensor>& inputs) {
  StepFeeds feeds;
  for (const Tensor& input : inputs) feeds.push_back(SplitRows(input, replicas_));
  if (before_ == nullptr) return feeds;
  std::vector<StepResult> results = before_->Run({&feeds, 1});
  for (std::vector<Tensor>& value : results.front().fetches) feeds.push_back(std::move(value));
  return feeds;
}

std::vector<StepResult> StepProgram::RunDevice(std::span<const StepFeeds> steps) {
  return device_->Run(steps);
}

size_t StepProgram::DeviceIndex(size_t fetch) const {
  Check(fetches_[fetch].source == Source::kDevice);
  return fetches_[fetch].index;
}

std::vector<Tensor> StepProgram::RunWhole(const std::vector<Tensor>& inputs) {
  const StepFeeds feeds = Prepare(inputs);
  const StepResult device = device_->Run({&feeds, 1}).front();
  StepResult after;
  const auto get = [&](const From& from) {
    switch (from.source) {
      case Source::kInput:
        return inputs[from.index];
      case Source::kBefore: {
        const std::vector<Tensor>& parts = feeds[inputs_.size() + from.index];
        return from.batch ? Whole(parts) : parts.front();
      }
      case Source::kDevice: {
        const std::vector<Tensor>& parts = device.fetches[from.index];
        return from.batch ? Whole(parts) : parts.front();
      }
      case Source::kAfter:
        return after.fetches[from.index].front();
    }
    return Tensor();
  };
  if (after_ != nullptr) {
    StepFeeds whole;
    for (const From& from : after_feeds_) whole.push_back({get(from)});
    after = after_->Run({&whole, 1}).front();
  }
  std::vector<Tensor> fetched;
  for (const From& from : fetches_) fetched.push_back(get(from));
  return fetched;
}

}  // namespace tpuest
