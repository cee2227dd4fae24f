#include "core/backend/bind.h"

#include <algorithm>
#include <deque>

#include "core/backend/plan.h"
#include "core/graph/bound_op.h"
#include "core/graph/cut.h"
#include "core/graph/value_map.h"
#include "core/kernels/strided_copy.h"

namespace tpuest {
namespace {

// Maximum elements of a result that is larger than all inputs of its node and than the graph's
// variables: a few bytes of a file may request any size.
constexpr int64_t kMostGrownElements = int64_t{1} << 32;
// Maximum bytes of a folded result that is larger than the constants it is computed from. Larger
// results are computed in the step, in memory that is counted before it is allocated.
constexpr int64_t kMostFoldedBytes = int64_t{64} << 20;

// Plans and runs one node immediately, on its own tensors. Constants are folded by the same kernels
// that run later, so folding changes no bits.
class EvaluateContext final : public PlanContext {
 public:
  EvaluateContext(const Node& node, const std::vector<Tensor>& inputs)
      : node_(node), inputs_(inputs), slots_(inputs) {
    for (int i = 0; i < node.outputs(); ++i) {
      slots_.emplace_back(node.output_dtype(i), node.output_shape(i));
    }
  }

  [[nodiscard]] const Node& node() const override { return node_; }
  [[nodiscard]] const Shape& InputShape(int i) const override { return WholeInputShape(i); }
  [[nodiscard]] const Shape& OutputShape(int i) const override { return WholeOutputShape(i); }
  [[nodiscard]] DType OutputDType(int i) const override { return node_.output_dtype(i); }
  [[nodiscard]] bool OutputIsCut() const override { return false; }
  [[nodiscard]] bool OutputIsUsed(int /*i*/) const override { return true; }
  [[nodiscard]] int threads() const override { return 1; }
  [[nodiscard]] Tensor Constant(int i) const override { return inputs_[static_cast<size_t>(i)]; }
  [[nodiscard]] Buffer Input(int i) override { return {i, 0}; }
  [[nodiscard]] Buffer Output(int i) override { return {inputs() + i, 0}; }
  [[nodiscard]] Buffer Scratch(size_t bytes) override {
    slots_.emplace_back(DType::kUint8, Shape{static_cast<int64_t>(bytes)});
    return {static_cast<int>(slots_.size()) - 1, 0};
  }
  void AllowInPlace(int /*output*/, int /*input*/) override {}
  // The output becomes a view, so its own tensor is released.
  void Alias(int output, int input) override {
    slots_[static_cast<size_t>(inputs()) + static_cast<size_t>(output)] =
        inputs_[static_cast<size_t>(input)].Reshaped(node_.output_shape(output));
  }
  Buffer Derived(int input, const std::string& /*key*/, size_t bytes,
                 const std::function<Kernel(Buffer, Buffer)>& make) override {
    const Buffer out = Scratch(bytes);
    kernels_.push_back(make(Input(input), out));
    return out;
  }
  [[nodiscard]] Buffer VariableInput(int /*i*/) override {
    Check(false, "a variable is not a constant");
    return {};
  }
  void Run(Kernel kernel) override { kernels_.push_back(std::move(kernel)); }

  std::vector<Tensor> Execute() {
    std::vector<Task::Location> locations;
    std::vector<char*> bases;
    for (Tensor& slot : slots_) {
      locations.push_back({static_cast<int>(bases.size()), false, 0});
      bases.push_back(static_cast<char*>(slot.raw()));
    }
    Task task;
    task.locations = locations.data();
    task.bases = bases.data();
    const auto strings = std::make_shared<Strings>();
    task.strings = &strings->made;
    for (const Tensor& input : inputs_) strings->read.push_back(input.arena());
    for (const auto& [name, attr] : node_.attrs()) {
      if (const auto* const held = std::get_if<Tensor>(&attr))
        strings->read.push_back(held->arena());
    }
    for (const Kernel& kernel : kernels_) kernel(task);
    std::vector<Tensor> results;
    for (int i = 0; i < node_.outputs(); ++i) {
      Tensor& result = slots_[static_cast<size_t>(inputs()) + static_cast<size_t>(i)];
      if (result.dtype() == DType::kString) {
        const auto views = result.strings();
        result = Tensor::Views(result.shape(), {views.begin(), views.end()}, strings);
      }
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  // Owns the memory that string results point into: strings that kernels made, the inputs' strings,
  // and attributes such as a table's content.
  struct Strings {
    std::deque<std::string> made;
    std::vector<StringArena> read;
  };

  const Node& node_;
  const std::vector<Tensor>& inputs_;
  std::vector<Tensor> slots_;
  std::vector<Kernel> kernels_;
};

// Copies the needed nodes in graph order. mapped_ maps values of the old graph to the new one: to
// another node's output if the value was fed, folded, expanded or replaced by OpDef::bind. Nodes
// keep their names, which random ops and errors use.
class Binder {
 public:
  explicit Binder(const ProgramSpec& spec)
      : spec_(spec),
        knows_feeds_(std::any_of(spec.feeds.begin(), spec.feeds.end(),
                                 [](const FeedSpec& feed) { return feed.value.valid(); })),
        mapped_(*spec.graph) {
    bound_.graph = std::make_unique<Graph>(spec.graph->registry());
    for (const auto& variable : spec.graph->variables()) {
      if (!variable->shape.fully_known()) continue;
      most_elements_ = std::max(most_elements_, variable->shape.elements());
    }
  }

  BoundGraph Run() {
    std::vector<Value> fed;
    for (const FeedSpec& feed : spec_.feeds) {
      fed.push_back(feed.placeholder);
      bound_.feeds.push_back(BindFeed(feed));
    }
    for (const Value& fetch : spec_.fetches) CheckFetch(fetch);
    std::vector<Value> fetches = spec_.fetches;
    if (spec_.guard.valid()) fetches.push_back(spec_.guard);
    const std::vector<char> needed = NeededNodes(*spec_.graph, fetches, spec_.targets, fed);
    for (const auto& node : spec_.graph->nodes()) {
      if (needed[static_cast<size_t>(node->id())]) BindNode(*node);
    }
    for (const Value& fetch : spec_.fetches) bound_.fetches.push_back(mapped_.At(fetch));
    for (Node* const target : spec_.targets) bound_.targets.push_back(mapped_.At(*target));
    if (spec_.guard.valid()) bound_.guard = mapped_.At(spec_.guard);
    return std::move(bound_);
  }

 private:
  static void CheckFetch(const Value& fetch) {
    const Node& node = *fetch.node;
    const bool is_there = fetch.index < node.outputs();
    if (is_there && fetch.dtype() != DType::kResource) return;
    throw Error(Code::kUsage,
                fmt::format("{} '{}' gives {}; only tensors can be fetched", node.type(),
                            node.name(), is_there ? "a handle" : "no tensor"),
                "name a node whose output is a tensor")
        .At(node.origin());
  }

  // Checks that the sizes of all results are known before the graph runs, and that a machine can
  // hold them. Variables may have any size.
  void CheckSized(const Node& node) const {
    int64_t most = most_elements_;
    for (const Value& input : node.inputs()) {
      if (input.dtype() == DType::kResource) return CheckKnown(node);
      most = std::max(most, input.shape().elements());
    }
    CheckKnown(node);
    for (int i = 0; i < node.outputs(); ++i) {
      if (node.output_shape(i).elements() <= most) continue;
      throw Error(Code::kUsage,
                  fmt::format("{} '{}': its result would be {} {}, larger than its inputs and than "
                              "{} elements",
                              node.type(), node.name(), NameOf(node.output_dtype(i)),
                              node.output_shape(i).Text(), most_elements_),
                  "check the sizes among its inputs; fewer rows in a batch may fit")
          .At(node.origin());
    }
  }

  static void CheckKnown(const Node& node) {
    for (int i = 0; i < node.outputs(); ++i) {
      if (node.output_shape(i).fully_known()) continue;
      throw Error(Code::kUsage,
                  fmt::format("{} '{}': the size of its result, {}, depends on data", node.type(),
                              node.name(), node.output_shape(i).Text()),
                  "sizes must follow from constants and the shapes of inputs")
          .At(node.origin());
    }
  }

  static int64_t BytesOf(const Value& value) {
    return value.shape().elements() * static_cast<int64_t>(ElementBytes(value.dtype()));
  }

  static bool IsTooLargeToFold(Node& node) {
    int64_t most = kMostFoldedBytes;
    for (const Value& input : node.inputs()) {
      if (input.dtype() != DType::kResource) most = std::max(most, BytesOf(input));
    }
    for (int i = 0; i < node.outputs(); ++i) {
      if (BytesOf(node.output(i)) > most) return true;
    }
    return false;
  }

  // A feed may replace any value, not only a Placeholder; the nodes that compute the value are then
  // not needed. With FeedSpec::value it is a constant, and sizes that follow from it are known.
  Value BindFeed(const FeedSpec& feed) {
    const Node& node = *feed.placeholder.node;
    Check(node.outputs() > 0);
    if (!Compatible(feed.placeholder.shape(), feed.shape)) {
      throw Error(Code::kUsage, fmt::format("'{}' takes {}, fed with {}", node.name(),
                                            feed.placeholder.shape().Text(), feed.shape.Text()))
          .At(node.origin());
    }
    const Value bound = bound_.graph->NamedPlaceholder(
        feed.placeholder.dtype(), feed.shape,
        feed.placeholder.index == 0 ? node.name() : fmt::format("{}/fed", node.name()),
        node.origin());
    mapped_[feed.placeholder] =
        feed.value.valid()
            ? bound_.graph->NamedConstant(feed.value, bound.node->name() + "/value", node.origin())
            : bound;
    return bound;
  }

  // The op that runs for the node: the node's own op if the values that determine its results'
  // sizes are known.
  static BoundOp BoundOpOf(const Node& node, const std::vector<Value>& inputs) {
    BoundOp op =
        node.op().bind != nullptr ? node.op().bind(node) : BoundOp{node.type(), node.attrs()};
    const bool is_sized = !op.sized_by_values.empty();
    if (!is_sized && op.sizing_inputs.empty()) return op;
    const auto is_known = [&](int i) {
      return ConstantValue(inputs[static_cast<size_t>(i)]).valid();
    };
    bool known = std::all_of(op.sizing_inputs.begin(), op.sizing_inputs.end(), is_known);
    for (size_t i = 0; op.sizing_inputs.empty() && i < inputs.size(); ++i) {
      known = known && is_known(static_cast<int>(i));
    }
    if (known) return {.op = node.type(), .attrs = node.attrs(), .sizing_inputs = op.sizing_inputs};
    if (!is_sized) return op;
    throw Error(Code::kUsage,
                fmt::format("{} '{}': {}", node.type(), node.name(), op.sized_by_values), op.hint)
        .At(node.origin());
  }

  void BindNode(Node& node) {
    if (node.op().source == ValueSource::kFeed && !mapped_[node.output(0)].valid()) {
      throw Error(Code::kUsage, fmt::format("placeholder '{}' is not fed", node.name()))
          .At(node.origin());
    }
    if (node.outputs() > 0 && mapped_[node.output(0)].valid()) {
      mapped_[node] = mapped_[node.output(0)].node;
      return;
    }
    std::vector<Value> inputs;
    for (const Value& input : node.inputs()) inputs.push_back(mapped_.At(input));
    const BoundOp op = BoundOpOf(node, inputs);
    Node* const bound =
        bound_.graph->AddNamedNode(op.op, inputs, op.attrs, node.name(), node.origin());
    CheckSized(*bound);
    mapped_[node] = bound;
    for (Node* const control : node.control_inputs()) {
      bound->AddControlInput(mapped_.At(*control));
    }
    std::vector<Value> results;
    // Folding comes before expansion: a composite of constants needs no parts.
    const bool folded = Fold(*bound, knows_feeds_ || !op.sizing_inputs.empty(), results);
    if (!folded && bound->op().expand != nullptr) {
      const OriginScope origin(*bound_.graph, node.origin());
      const NameScope scope(*bound_.graph, node.name());
      bound->op().expand(*bound, results);
      // Nodes that wait for this node wait for its parts instead: the node itself does not run.
      if (!results.empty()) mapped_[node] = results.front().node;
    }
    for (int i = 0; i < node.outputs(); ++i) {
      mapped_[node.output(i)] =
          results.empty() ? bound->output(i) : results[static_cast<size_t>(i)];
    }
  }

  // Replaces a node by constants if its inputs are constants, or if it reads only a shape. A
  // constant folded from a shape remembers its source (shape_sources), because once the batch is
  // cut into blocks the number may mean a block's rows. A node with control inputs waits for
  // another node and is not folded. Host ops are folded if values determine sizes: further sizes
  // follow from their results. The content of a table that such an op reads is in its attributes.
  bool Fold(Node& node, bool with_host, std::vector<Value>& results) {
    if (node.op().source != ValueSource::kNone || node.op().stateful ||
        (node.op().host && !with_host) || node.outputs() == 0 || !node.control_inputs().empty()) {
      return false;
    }
    std::vector<Value> sources;
    std::vector<Tensor> outputs;
    if (const Tensor known = node.op().of_shape == nullptr ? Tensor() : node.op().of_shape(node);
        known.valid()) {
      sources.push_back(node.input(0));
      outputs.push_back(known);
    } else {
      if (node.inputs().empty() || node.op().cpu == nullptr) return false;
      std::vector<Tensor> inputs;
      for (const Value& input : node.inputs()) {
        const bool is_table = node.op().host && input.dtype() == DType::kResource;
        if (!is_table && input.node->op().source != ValueSource::kConstant) return false;
      }
      if (IsTooLargeToFold(node)) return false;
      for (const Value& input : node.inputs()) {
        if (input.dtype() == DType::kResource) {
          inputs.emplace_back();
          continue;
        }
        inputs.push_back(input.node->Attr<Tensor>("value"));
        const auto found = bound_.shape_sources.find(input.node);
        if (found != bound_.shape_sources.end()) {
          sources.insert(sources.end(), found->second.begin(), found->second.end());
        }
      }
      outputs = EvaluateNode(node, inputs);
    }
    // Removes duplicates: repeated addition of a value to itself would double the list each time.
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    for (size_t i = 0; i < outputs.size(); ++i) {
      results.push_back(bound_.graph->NamedConstant(
          outputs[i], fmt::format("{}/folded_{}", node.name(), i), node.origin()));
      if (!sources.empty()) bound_.shape_sources[results.back().node] = sources;
    }
    return true;
  }

  const ProgramSpec& spec_;
  const bool knows_feeds_;
  int64_t most_elements_ = kMostGrownElements;
  BoundGraph bound_;
  GraphMap mapped_;
};

}  // namespace

bool GivesNoElements(const Node& node) {
  const OpDef& op = node.op();
  if (node.outputs() == 0 || op.stateful || op.writes || op.writes_rows) return false;
  for (int i = 0; i < node.outputs(); ++i) {
    if (node.output_dtype(i) == DType::kResource || node.output_shape(i).elements() != 0) {
      return false;
    }
  }
  return true;
}

std::vector<Tensor> EvaluateNode(Node& node, const std::vector<Tensor>& inputs) {
  EvaluateContext context(node, inputs);
  if (!GivesNoElements(node)) node.op().cpu(context);
  return context.Execute();
}

BoundGraph BindGraph(const ProgramSpec& spec) { return Binder(spec).Run(); }

}  // namespace tpuest
