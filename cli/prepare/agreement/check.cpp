#include "cli/prepare/agreement/check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "cli/job/job.h"
#include "cli/prepare/agreement/forward.h"
#include "cli/prepare/agreement/random_rows.h"
#include "cli/prepare/migrate/input/csv_lines.h"
#include "cli/prepare/migrate/input/elements.h"
#include "core/backend/cpu/program.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/estimator/step/programs/step_program.h"
#include "core/ops/all_ops.h"
#include "data/pipeline/input_fn.h"

namespace tpuest::cli {
namespace {

constexpr int64_t kRows = 200;
constexpr double kTolerance = 1e-4;
constexpr uint64_t kSeed = 1;

[[noreturn]] void Stop(const std::string& why) { throw Error(Code::kData, why); }

// The tensor of the graph that gives a feature, and its form.
struct FedFeature {
  std::string tensor;  // "IteratorGetNext:2", or "DeserializeSparse" for a sparse one
  bool is_sparse = false;
  int64_t dtype = 0;  // TensorFlow's number
  Shape shape;        // with the batch; only for dense features
};

// The single node that gives the input, and its outputs by the graph.
struct InputNode {
  const SeenNode* node = nullptr;
  std::vector<int64_t> dtypes;
  std::vector<Shape> shapes;
};

InputNode FindInput(const SeenGraph& graph) {
  InputNode input;
  for (const SeenNode& node : graph.nodes()) {
    if (!node.op.starts_with("IteratorGetNext")) continue;
    if (input.node != nullptr) Stop("the graph has two iterators");
    input.node = &node;
    const auto dtypes = node.int_lists.find("output_types");
    if (dtypes != node.int_lists.end()) input.dtypes = dtypes->second;
    const auto shapes = node.shapes.find("output_shapes");
    if (shapes != node.shapes.end()) input.shapes = shapes->second;
  }
  if (input.node == nullptr) Stop("the graph has no iterator");
  if (input.dtypes.empty()) Stop("the graph does not give the types of the iterator's tensors");
  input.shapes.resize(input.dtypes.size(), Shape::UnknownRank());
  return input;
}

std::string TensorOf(const SeenNode& node, size_t output) {
  return fmt::format("{}:{}", node.name, output);
}

// Returns the output of the iterator for each feature.
std::map<std::string, size_t> OutputsOf(const SeenGraph& graph, const InputNode& input,
                                        const std::set<std::string>& features) {
  std::map<std::string, size_t> outputs;
  const std::vector<std::string> elements = IteratorFeatures(graph);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (features.contains(elements[i])) outputs[elements[i]] = i;
  }
  if (outputs.size() == features.size()) return outputs;
  outputs.clear();
  const auto order = FeatureOutputs(graph, input.dtypes.size(), features);
  if (!order) Stop("the features of the iterator's tensors are unknown");
  for (const auto& [output, name] : *order) outputs[name] = output;
  return outputs;
}

class Checker {
 public:
  explicit Checker(const PredictionCheckArgs& args)
      : args_(args),
        registry_(ops::AllOps()),
        backend_(MakeCpuBackend()),
        nodes_(args.graph_file),
        stored_(args.graph, nodes_, args.variables, registry_),
        input_(FindInput(args.graph)) {}

  PredictionCheck Run() {
    if (args_.model.logits.empty()) Stop("the logits that the loss uses are unknown");
    FindFeeds();
    BuildJobsModel();
    StepPrograms programs({*backend_, *backend_}, variables_,
                          {.graph = *model_.graph,
                           .inputs = model_.inputs,
                           .fetches = {prediction_},
                           .options = {.threads = 1, .seed = kSeed}});
    PredictionCheck check;
    for (uint64_t batch = 0; check.rows < kRows; ++batch) {
      const int64_t rows = std::min(batch_.value_or(kRows), kRows);
      RandomRows random(kSeed + batch, batch_.value_or(kRows));
      const Rows values = Draw(random);
      const Tensor theirs = stored_.Run(args_.model.logits, FeedsOf(values));
      const std::vector<Tensor> inputs = InputsOf(model_, BatchOf(values));
      const Tensor ours = programs.For(ShapesOf(inputs))->RunWhole(inputs).at(0);
      Compare(theirs, ours, check);
      check.rows += std::min(rows, kRows - check.rows);
    }
    return check;
  }

 private:
  using Rows = std::map<std::string, RandomFeature>;

  // A model of layers has one feature; the label is the iterator's last tensor.
  void FindFeeds() {
    const std::optional<StreamSpec> spec = data::KnownSpec(
        args_.job.input_fns.at(args_.job.train_spec->input_fn), args_.job.train_spec->input_fn);
    if (!spec) Stop("the features are unknown without the data");
    spec_ = *spec;
    std::map<std::string, size_t> outputs;
    if (args_.model.input) {
      if (spec_.features.size() != 1) Stop("the job has several features");
      const SeenNode* const node = args_.graph.Find(args_.model.input->tensor);
      if (node != input_.node) Stop("the model's input is not a tensor of the iterator");
      outputs[spec_.features[0].name] = OutputOf(args_.model.input->tensor);
    } else {
      std::set<std::string> read;
      for (const auto& [name, feature] : args_.columns.features) read.insert(name);
      const bool has_weight = args_.model.weight && !read.contains(*args_.model.weight) &&
                              read.size() + 2 == input_.dtypes.size();
      outputs = has_weight ? WithoutWeight(read) : OutputsOf(args_.graph, input_, read);
    }
    for (const auto& [name, output] : outputs) feeds_[name] = FeedOf(output);
  }

  // Weights are a tensor of the iterator besides the features. If its name is unknown, its readers
  // identify it.
  [[nodiscard]] std::map<std::string, size_t> WithoutWeight(const std::set<std::string>& read) {
    if (!args_.model.weight_output) return OutputsOf(args_.graph, input_, read);
    std::map<std::string, size_t> outputs;
    size_t next = 0;
    for (const std::string& name : read) {
      if (next == *args_.model.weight_output) ++next;
      outputs[name] = next++;
    }
    return outputs;
  }

  FedFeature FeedOf(size_t output) {
    if (output >= input_.dtypes.size()) Stop("the iterator gives fewer tensors than features");
    FedFeature feed{.tensor = TensorOf(*input_.node, output),
                    .dtype = input_.dtypes[output],
                    .shape = input_.shapes[output]};
    for (const SeenNode& node : args_.graph.nodes()) {
      const bool unpacks = node.op == "DeserializeSparse" && !node.inputs.empty() &&
                           args_.graph.Find(node.inputs[0]) == input_.node &&
                           OutputOf(node.inputs[0]) == output;
      if (!unpacks) continue;
      feed.tensor = node.name;
      feed.is_sparse = true;
      const auto dtype = node.ints.find("dtype");
      if (dtype != node.ints.end()) feed.dtype = dtype->second;
      return feed;
    }
    if (!feed.shape.known_rank()) return feed;
    if (feed.shape.rank() == 0) Stop("a feature has no batch dimension");
    if (feed.shape.dim(0) > 0) batch_ = feed.shape.dim(0);
    return feed;
  }

  void BuildJobsModel() {
    model_ = BuildModel(MakeModelFnForShapes(args_.job), registry_,
                        {.mode = Mode::kPredict, .stream = spec_, .rows = {}, .params = {}});
    for (const char* const key : {"logits", "predictions"}) {
      const auto found = model_.spec.predictions.find(key);
      if (found == model_.spec.predictions.end()) continue;
      prediction_ = found->second;
      prediction_key_ = key;
      break;
    }
    if (!prediction_.valid()) Stop("the job's model has no logits");
    RestoreVariables(LoadCheckpoint(args_.variables.prefix()), *model_.graph, variables_);
    InitializeVariables(*backend_, *model_.graph, Which::kLocal, kSeed, variables_);
  }

  [[nodiscard]] Rows Draw(RandomRows& random) const {
    Rows values;
    for (const auto& [name, feed] : feeds_) {
      const auto known = args_.columns.features.find(name);
      const MigratedFeature feature =
          known == args_.columns.features.end() ? MigratedFeature() : known->second;
      const std::vector<int64_t> shape = feed.is_sparse ? std::vector<int64_t>() : ShapeOf(name);
      values[name] = feed.is_sparse ? random.List(name, feed.dtype, feature)
                                    : random.Dense(name, feed.dtype, shape, feature);
    }
    return values;
  }

  // Returns the shape of an example: the graph's, otherwise the job's.
  [[nodiscard]] std::vector<int64_t> ShapeOf(const std::string& name) const {
    const Shape& batch = feeds_.at(name).shape;
    std::vector<int64_t> shape;
    if (batch.known_rank()) {
      shape.assign(batch.dims().begin() + 1, batch.dims().end());
    }
    for (const TensorSpec& spec : spec_.features) {
      if (spec.name != name || !spec.shape.known_rank()) continue;
      if (!batch.known_rank()) shape = spec.shape.dims();
      const bool same_rank = shape.size() == spec.shape.dims().size();
      for (size_t i = 0; same_rank && i < shape.size(); ++i) {
        if (shape[i] < 0) shape[i] = spec.shape.dims()[i];
      }
    }
    for (int64_t& dim : shape) dim = dim < 0 ? 1 : dim;
    return shape;
  }

  [[nodiscard]] std::map<std::string, Tensor> FeedsOf(const Rows& values) const {
    std::map<std::string, Tensor> fed;
    for (const auto& [name, feed] : feeds_) {
      const RandomFeature& feature = values.at(name);
      if (!feed.is_sparse) {
        fed[feed.tensor] = feature.values;
        continue;
      }
      const SparseRows sparse = SparseOf(feature);
      fed[feed.tensor + ":0"] = sparse.indices;
      fed[feed.tensor + ":1"] = sparse.values;
      fed[feed.tensor + ":2"] = sparse.shape;
    }
    return fed;
  }

  // Returns the features after the job's map, which scales those of a model of layers.
  [[nodiscard]] Batch BatchOf(const Rows& values) const {
    Batch batch;
    for (const TensorSpec& spec : spec_.features) {
      const auto found = values.find(spec.name);
      if (found == values.end() && spec.name == args_.model.weight) {
        batch.features.push_back(Unread(spec, values));
        continue;
      }
      if (found == values.end()) {
        Stop(fmt::format("the feature '{}' is not in the graph", spec.name));
      }
      batch.features.push_back(AsFeature(found->second.values, spec));
      batch.examples = batch.features.back().shape().dim(0);
    }
    for (const std::string& list : spec_.lists) {
      batch.present.push_back(PresentOf(values.at(list)));
    }
    return batch;
  }

  // Returns a feature that predictions do not read: weights of examples.
  [[nodiscard]] static Tensor Unread(const TensorSpec& spec, const Rows& values) {
    std::vector<int64_t> shape = {values.begin()->second.values.shape().dim(0)};
    for (const int64_t dim : spec.shape.dims()) shape.push_back(dim < 0 ? 1 : dim);
    return {spec.dtype, Shape(shape)};
  }

  [[nodiscard]] Tensor AsFeature(const Tensor& drawn, const TensorSpec& spec) const {
    const bool same = (drawn.dtype() == DType::kString) == (spec.dtype == DType::kString);
    if (!same) Stop(fmt::format("the feature '{}' has another type in the graph", spec.name));
    Tensor values = drawn.dtype() == spec.dtype ? drawn : drawn.Cast(spec.dtype);
    if (args_.model.input && spec.dtype == DType::kFloat) {
      values = values.Clone();
      const auto scale = static_cast<float>(args_.model.input->scale);
      const auto offset = static_cast<float>(args_.model.input->offset);
      for (int64_t i = 0; i < values.elements(); ++i) {
        values.data<float>()[i] = values.data<float>()[i] * scale + offset;
      }
    }
    if (!spec.shape.fully_known()) return values;
    std::vector<int64_t> shape = {values.shape().dim(0)};
    shape.insert(shape.end(), spec.shape.dims().begin(), spec.shape.dims().end());
    const Shape whole(shape);
    if (whole.elements() != values.elements()) {
      Stop(fmt::format("the feature '{}' has another shape in the graph", spec.name));
    }
    return values.Reshaped(whole);
  }

  void Compare(const Tensor& theirs, const Tensor& ours, PredictionCheck& check) const {
    if (theirs.elements() != ours.elements() || theirs.shape().rank() == 0) {
      check.difference = HUGE_VAL;
      check.place = fmt::format("{} is {} in the graph, {} in the job", prediction_key_,
                                theirs.shape().Text(), ours.shape().Text());
      return;
    }
    const int64_t width = theirs.elements() / std::max<int64_t>(1, theirs.shape().dim(0));
    for (int64_t i = 0; i < theirs.elements(); ++i) {
      const double a = theirs.AsDouble(i);
      const double b = ours.AsDouble(i);
      if (std::isnan(a) && std::isnan(b)) continue;
      double apart = a == b ? 0 : std::abs(a - b) / std::max({1.0, std::abs(a), std::abs(b)});
      if (std::isnan(apart)) apart = HUGE_VAL;
      const int64_t row = check.rows + i / width;
      if (row >= kRows || apart <= check.difference) continue;
      check.difference = apart;
      check.place = fmt::format("row {}, {}[{}]: {:.6g} in the graph, {:.6g} in the job", row,
                                prediction_key_, i % width, a, b);
    }
  }

  const PredictionCheckArgs& args_;
  const OpRegistry registry_;
  const std::unique_ptr<Backend> backend_;
  const StoredNodes nodes_;
  StoredForward stored_;
  const InputNode input_;
  std::map<std::string, FedFeature> feeds_;
  std::optional<int64_t> batch_;  // rows of the graph's batches; nullopt: any number
  StreamSpec spec_;
  BuiltModel model_;
  VariableStore variables_;
  Value prediction_;
  std::string prediction_key_;
};

}  // namespace

bool PredictionCheck::agrees() const { return rows == 0 || difference <= kTolerance; }

PredictionCheck CheckPredictions(const PredictionCheckArgs& args) {
  try {
    return Checker(args).Run();
  } catch (const Error& error) {
    return {.rows = 0, .obstacle = error.message(), .difference = 0, .place = ""};
  }
}

}  // namespace tpuest::cli
