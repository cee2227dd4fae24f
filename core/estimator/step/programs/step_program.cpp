// A model's graph compiled for inputs of certain shapes: three programs in sequence, for all
// replicas.
//
// Input: the graph, the shapes of a global batch, the values to fetch and the nodes to run. Output:
// the fetches of each step for the whole batch. CutGraph assigns each node to a program.
//
//   inputs [6, 4]                          Prepare: any thread, ahead of the steps
//     │ SplitRows
//     ├──▶ replica 0: [3, 4] ─▶ before ─▶ ids [3] ─┐
//     └──▶ replica 1: [3, 4] ─▶ before ─▶ ids [3] ─┤
//                                                  ▼
//     feeds ─▶ device ─▶ the results of each replica       RunDevice: changes the variables
//                                │ Whole
//                                ▼
//     rows concatenated [6, ...], means of scalars ─▶ after ─▶ fetches       Finish
//
// Invariants:
//   - A step's feeds are the inputs, then the results of *before*, both by replica.
//   - *before* has no variables (none_), so it may run any number of steps ahead.
//   - *after* runs once for the whole batch, or once per replica if the graph knows its rows, and
//     only if a requested fetch depends on it.
//   - A fetch is looked up in the device's results first, then in those of after, of before, and in
//     the inputs (Find): each has exactly one source.
//   - With broadcast every replica gets all rows, and the results of the first replica count.

#include "core/estimator/step/programs/step_program.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/sharding/split.h"
#include "core/sharding/tree.h"

namespace tpuest {
namespace {

// Batches of lists need their own programs, one for each power of two to which their longest list
// is rounded up.
constexpr size_t kMostPrograms = 16;

void AddOnce(std::vector<Value>& values, Value value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

Shape WithRows(const Shape& shape, int64_t rows) {
  Shape result = shape;
  result.set_dim(0, rows);
  return result;
}

void Append(std::vector<FeedSpec>& feeds, const std::vector<FeedSpec>& more) {
  feeds.insert(feeds.end(), more.begin(), more.end());
}

}  // namespace

float ReplicaMean(const std::vector<Tensor>& values) {
  std::vector<float> numbers;
  for (const Tensor& value : values) numbers.push_back(static_cast<float>(value.AsDouble(0)));
  const float mean = TreeMean<float>(numbers);
  if (std::isfinite(mean)) return mean;
  // The sum of finite numbers may overflow float, but their mean does not.
  return static_cast<float>(TreeMean<double>(std::vector<double>(numbers.begin(), numbers.end())));
}

StepProgram::StepProgram(const Backends& backends, VariableStore& variables,
                         const StepProgramArgs& args)
    : replicas_(args.options.replicas),
      here_(args.options.collective == nullptr ? ReplicaRange{0, replicas_}
                                               : args.options.collective->share()),
      broadcast_(args.broadcast),
      inputs_(args.inputs) {
  const int64_t rows = args.shapes.front().dim(0);
  const int parts = broadcast_ ? 1 : replicas_;
  share_ = rows / parts;
  Check(share_ * parts == rows, "{} rows over {} replicas", rows, replicas_);
  Check(args.shapes.size() == inputs_.size(), "{} shapes for {} inputs", args.shapes.size(),
        inputs_.size());
  for (const Shape& shape : args.shapes) {
    input_shapes_.push_back(WithRows(shape, shape.dim(0) / parts));
  }
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
  CompileBefore(backends.host, args);
  CompileDevice(backends.device, variables, args);
  CompileAfter(backends.host, variables, args);
  for (const Value& fetch : args.fetches) fetches_.push_back(Find(fetch));
}

// A value is a batch if its first dimension is that of an input or is unknown; a constant of
// another size is not.
bool StepProgram::IsBatch(Value value) const {
  if (value.shape().rank() == 0) return false;
  const int64_t rows = value.shape().dim(0);
  return rows == kUnknownDim ||
         std::any_of(inputs_.begin(), inputs_.end(), [&](const Value& input) {
           return input.shape().rank() > 0 && input.shape().dim(0) == rows;
         });
}

std::vector<FeedSpec> StepProgram::Feeds(const std::vector<Value>& values,
                                         const std::vector<Shape>& shapes,
                                         const std::vector<Tensor>& known) const {
  std::vector<FeedSpec> feeds;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool cut = IsBatch(values[i]) && shapes[i].dim(0) == share_;
    feeds.push_back({.placeholder = values[i], .shape = shapes[i], .cut = cut});
    if (!known.empty()) feeds.back().value = known[i];
  }
  return feeds;
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

void StepProgram::CompileBefore(Backend& backend, const StepProgramArgs& args) {
  if (before_values_.empty()) return;
  const ProgramSpec spec{.graph = &args.graph,
                         .feeds = Feeds(inputs_, input_shapes_, args.values),
                         .fetches = before_values_};
  before_ = backend.Compile(spec, {.replicas = 1, .seed = args.options.seed}, none_);
  before_shapes_ = before_->fetch_shapes();
  if (args.values.empty()) return;
  StepFeeds feeds;
  for (const Tensor& value : args.values) feeds.push_back({value});
  const StepResult known = before_->Run({&feeds, 1}).front();
  for (const std::vector<Tensor>& fetched : known.fetches) {
    before_known_.push_back(fetched.front());
  }
}

void StepProgram::CompileDevice(Backend& backend, VariableStore& variables,
                                const StepProgramArgs& args) {
  ProgramSpec spec{.graph = &args.graph,
                   .feeds = Feeds(inputs_, input_shapes_, args.values),
                   .fetches = device_values_,
                   .targets = args.targets,
                   .guard = args.guard};
  for (size_t i = 0; i < args.partitions.size(); ++i) spec.feeds[i].partition = args.partitions[i];
  Append(spec.feeds, Feeds(before_values_, before_shapes_, before_known_));
  device_ = backend.Compile(spec, args.options, variables);
  device_shapes_ = device_->fetch_shapes();
}

void StepProgram::CompileAfter(Backend& backend, VariableStore& variables,
                               const StepProgramArgs& args) {
  if (after_values_.empty()) return;
  after_of_replica_ = !broadcast_ && replicas_ > 1 &&
                      std::any_of(inputs_.begin(), inputs_.end(), [this](const Value& input) {
                        return input.shape().rank() > 0 && input.shape().dim(0) == share_;
                      });
  ProgramSpec spec{.graph = &args.graph, .fetches = after_values_};
  const auto add = [&](const Value& value, const Shape& of_replica, const Tensor& known) {
    // If sizes depend on values, other tensors may have any number of rows.
    const bool is_of_batch =
        args.values.empty() || of_replica.rank() == 0 || of_replica.dim(0) == share_;
    const bool batch = IsBatch(value) && is_of_batch;
    const int parts = broadcast_ || after_of_replica_ ? 1 : replicas_;
    const Shape shape = batch ? WithRows(of_replica, of_replica.dim(0) * parts) : of_replica;
    spec.feeds.push_back({.placeholder = value, .shape = shape, .cut = batch, .value = known});
    after_feeds_.push_back(Find(value));
    after_feeds_.back().batch = batch || value.shape().rank() == 0;
  };
  const auto known_at = [](const std::vector<Tensor>& known, size_t i) {
    return known.empty() ? Tensor() : known[i];
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    add(inputs_[i], input_shapes_[i], known_at(args.values, i));
  }
  for (size_t i = 0; i < before_values_.size(); ++i) {
    add(before_values_[i], before_shapes_[i], known_at(before_known_, i));
  }
  for (const Value& value : cut_.device_to_after) {
    add(value, device_shapes_[Find(value).index], {});
  }
  CompileOptions options = args.options;
  options.replicas = 1;
  options.collective = nullptr;
  after_ = backend.Compile(spec, options, variables);
}

StepFeeds StepProgram::Prepare(const std::vector<Tensor>& inputs) {
  const bool is_part = !broadcast_ && inputs.front().shape().dim(0) < share_ * replicas_;
  const ReplicaRange replicas = is_part ? here_ : ReplicaRange{0, replicas_};
  StepFeeds feeds;
  for (const Tensor& input : inputs) {
    feeds.push_back(broadcast_ ? std::vector<Tensor>(static_cast<size_t>(replicas_), input)
                               : OfReplicas(SplitRows(input, replicas.count), replicas));
  }
  if (before_ != nullptr) RunBefore(replicas, feeds);
  return feeds;
}

// The feeds of all replicas: the replicas of this process have their own, all others those of the
// first.
std::vector<Tensor> StepProgram::OfReplicas(const std::vector<Tensor>& values,
                                            ReplicaRange replicas) const {
  std::vector<Tensor> all(static_cast<size_t>(replicas_), values.front());
  std::copy(values.begin(), values.end(), all.begin() + replicas.first);
  return all;
}

void StepProgram::RunBefore(ReplicaRange replicas, StepFeeds& feeds) {
  std::vector<StepFeeds> steps(static_cast<size_t>(replicas.count));
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const std::vector<Tensor>& input : feeds) {
      steps[i].push_back({input[static_cast<size_t>(replicas.first) + i]});
    }
  }
  const std::lock_guard lock(preparing_);
  const std::vector<StepResult> results = before_->Run(steps);
  for (size_t value = 0; value < before_values_.size(); ++value) {
    std::vector<Tensor> of_replicas;
    for (const StepResult& result : results) {
      of_replicas.push_back(result.fetches[value].front());
    }
    feeds.push_back(OfReplicas(of_replicas, replicas));
  }
}

std::vector<StepResult> StepProgram::RunDevice(std::span<const StepFeeds> steps) {
  return device_->Run(steps);
}

size_t StepProgram::DeviceIndex(size_t fetch) const {
  Check(fetches_[fetch].source == Source::kDevice);
  return fetches_[fetch].index;
}

// The value for the whole batch: the rows of every replica, or the mean of a floating scalar over
// them.
Tensor StepProgram::Whole(const std::vector<Tensor>& parts, bool batch) const {
  const bool has_rows = parts.front().shape().rank() > 0;
  if (parts.size() == 1 || !batch || (broadcast_ && has_rows)) return parts.front();
  if (has_rows) return ConcatRows(parts);
  if (!IsFloating(parts.front().dtype())) return parts.front();
  return Tensor::Scalar<float>(ReplicaMean(parts)).Cast(parts.front().dtype());
}

Tensor StepProgram::Get(const From& from, const StepFeeds& feeds, const StepResult& device,
                        const StepResult& after) const {
  switch (from.source) {
    case Source::kInput:
      return Whole(feeds[from.index], true);
    case Source::kBefore:
      return Whole(feeds[inputs_.size() + from.index], from.batch);
    case Source::kDevice:
      return Whole(device.fetches[from.index], from.batch);
    case Source::kAfter:
      return after.fetches[from.index].front();
  }
  return {};
}

StepResult StepProgram::RunAfter(const StepFeeds& feeds, const StepResult& device) {
  if (!after_of_replica_) {
    StepFeeds whole;
    for (const From& from : after_feeds_) whole.push_back({Get(from, feeds, device, {})});
    return after_->Run({&whole, 1}).front();
  }
  std::vector<StepFeeds> each(static_cast<size_t>(replicas_));
  for (size_t replica = 0; replica < each.size(); ++replica) {
    for (const From& from : after_feeds_) {
      const std::vector<Tensor>& parts = from.source == Source::kDevice ? device.fetches[from.index]
                                         : from.source == Source::kBefore
                                             ? feeds[inputs_.size() + from.index]
                                             : feeds[from.index];
      each[replica].push_back({parts.size() == 1 ? parts.front() : parts[replica]});
    }
  }
  const std::vector<StepResult> results = after_->Run(each);
  StepResult after;
  for (size_t fetch = 0; fetch < after_values_.size(); ++fetch) {
    std::vector<Tensor> parts;
    for (const StepResult& result : results) parts.push_back(result.fetches[fetch].front());
    after.fetches.push_back({Whole(parts, true)});
  }
  return after;
}

std::vector<Tensor> StepProgram::Finish(const StepFeeds& feeds, const StepResult& device,
                                        std::span<const size_t> wanted) {
  StepResult after;
  const bool runs_after = std::any_of(wanted.begin(), wanted.end(), [this](size_t fetch) {
    return fetches_[fetch].source == Source::kAfter;
  });
  if (runs_after) after = RunAfter(feeds, device);
  std::vector<Tensor> fetched;
  for (const size_t fetch : wanted) fetched.push_back(Get(fetches_[fetch], feeds, device, after));
  return fetched;
}

std::vector<Tensor> StepProgram::RunWhole(const std::vector<Tensor>& inputs) {
  const StepFeeds feeds = Prepare(inputs);
  const StepResult device = device_->Run({&feeds, 1}).front();
  std::vector<size_t> all(fetches_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return Finish(feeds, device, all);
}

std::shared_ptr<StepProgram> StepPrograms::Find(const std::vector<Shape>& shapes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.shapes == shapes; });
  if (found == entries_.end()) return nullptr;
  std::rotate(entries_.begin(), found, found + 1);
  return entries_.front().program;
}

std::shared_ptr<StepProgram> StepPrograms::For(const std::vector<Shape>& shapes) {
  if (auto found = Find(shapes)) return found;
  StepProgramArgs args = args_;
  args.shapes = shapes;
  auto made = std::make_shared<StepProgram>(backends_, variables_, args);
  const std::lock_guard lock(mutex_);
  entries_.push_front({shapes, made});
  if (entries_.size() > kMostPrograms) entries_.pop_back();
  return made;
}

std::shared_ptr<StepProgram> StepPrograms::For(const std::vector<Tensor>& inputs,
                                               const std::vector<Shape>& shapes) {
  if (!is_sized_by_values_) return For(shapes);
  StepProgramArgs args = args_;
  args.shapes = shapes;
  args.values = inputs;
  return std::make_shared<StepProgram>(backends_, variables_, args);
}

std::vector<Shape> ShapesOf(const std::vector<Tensor>& inputs) {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  return shapes;
}

bool ReadsInputsOnHost(const Graph& graph, const std::vector<Value>& fetches) {
  const GraphCut cut = CutGraph(graph, fetches, {});
  std::vector<char> reads(graph.nodes().size(), 0);  // nodes follow their inputs
  for (const auto& node : graph.nodes()) {
    const bool is_feed = node->op().source == ValueSource::kFeed;
    const bool on_device = !is_feed && cut.PartOf(*node) == Part::kDevice;
    const auto& inputs = node->inputs();
    const bool of_inputs = std::any_of(inputs.begin(), inputs.end(), [&](const Value& input) {
      return reads[static_cast<size_t>(input.node->id())] != 0;
    });
    reads[static_cast<size_t>(node->id())] =
        static_cast<char>(is_feed || (of_inputs && !on_device));
  }
  return std::any_of(fetches.begin(), fetches.end(), [&](const Value& fetch) {
    return reads[static_cast<size_t>(fetch.node->id())] != 0;
  });
}

}  // namespace tpuest
