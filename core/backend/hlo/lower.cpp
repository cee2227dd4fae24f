#include "core/backend/hlo/lower.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "core/backend/schedule.h"

namespace tpuest {

void LowerContext::Fail(const std::string& message) const {
  throw Error(Code::kUsage, fmt::format("{} '{}': {}", node().type(), node().name(), message))
      .At(node().origin());
}

namespace {

constexpr std::string_view kGlobalStep = "global_step";
// Smaller tables are whole on each core.
constexpr int64_t kLeastSpreadBytes = int64_t{1} << 20;

int64_t BytesOf(const HloValue& value) {
  return value.shape.elements() * static_cast<int64_t>(SizeOf(value.dtype));
}

// The name of a handle's variable.
std::string NameOfVariable(const Value& handle) {
  Check(handle.node->op().source == ValueSource::kVariable, "'{}' is not a variable",
        handle.name());
  return handle.node->Attr<std::string>("shared_name");
}

// The values that a step computes from its feeds and variables.
struct StepValues {
  std::vector<HloValue> fetches;
  std::vector<HloValue> variables;
  HloValue guard;  // [], float; may be invalid
};

// Lowers a graph with bound shapes at the current position of a builder.
class Lowering {
 public:
  Lowering(const ProgramSpec& spec, const CompileOptions& options);

  // The types (values without names) of the feeds that are read, the variables, the fetches.
  [[nodiscard]] std::vector<HloValue> Feeds() const;
  [[nodiscard]] const std::vector<HloValue>& Variables() const { return variable_types_; }
  [[nodiscard]] std::vector<HloValue> Fetches() const { return TypesOf(bound_.fetches); }
  // Adds a module's arguments for them.
  [[nodiscard]] std::vector<HloValue> FeedArguments(HloBuilder& hlo,
                                                    const std::vector<HloValue>& types) const;
  [[nodiscard]] std::vector<HloValue> VariableArguments(HloBuilder& hlo) const;

  // Lowers every needed node at the builder's position: at the top level of a module or in a loop's
  // body.
  [[nodiscard]] StepValues Step(HloBuilder& hlo, std::span<const HloValue> feeds,
                                std::span<const HloValue> variables);
  // `stack`: the first dimension of the feeds' arguments; nullopt: they hold one step.
  [[nodiscard]] LoweredModule Module(std::string text,
                                     std::optional<int64_t> stack = std::nullopt) const;

 private:
  friend class NodeContext;
  static std::vector<HloValue> TypesOf(const std::vector<Value>& values) {
    std::vector<HloValue> types;
    for (const Value& value : values) types.push_back({"", value.dtype(), value.shape()});
    return types;
  }
  // The partition of this feed's argument over the cores, for a shape with `rank` dimensions.
  [[nodiscard]] Partition PartitionOf(size_t feed, int rank) const;
  // A feed that no node reads is not an argument.
  void FindFeeds();
  void FindVariables();
  void SpreadTables();
  void SpreadTablesOverReplicas();
  // Whether the variable is this table or a slot of it, so that both are partitioned alike.
  [[nodiscard]] bool BelongsTo(size_t variable, const std::string& table) const;
  [[nodiscard]] bool IsLowered(const Node& node) const;
  void Wait(Node& node);
  HloValue At(const Value& value) {
    const auto found = values_.find(value);
    Check(found != values_.end(), "'{}' is not lowered yet", value.name());
    return found->second;
  }

  const BoundGraph bound_;
  const CompileOptions options_;
  std::vector<Partition> partitions_;  // of spec.feeds
  Schedule schedule_;
  std::vector<size_t> feeds_;  // indices of the feeds that are read
  std::vector<std::string> variables_;
  std::vector<HloValue> variable_types_;
  std::vector<const Node*> variable_nodes_;
  std::vector<Partition> variable_partitions_;
  std::set<std::string> in_parts_;  // variables that are partitioned over the replicas
  // State of the step that is being lowered: start_ holds the variables at the start of the step,
  // now_ their values after the nodes lowered so far. Nodes are lowered in graph order, which
  // respects inputs and control inputs; a read takes start_ unless it waits for an update.
  HloBuilder* hlo_ = nullptr;
  std::map<Value, HloValue> values_;
  std::map<std::string, HloValue> start_;
  std::map<std::string, HloValue> now_;
};

// The LowerContext of one node. Checks results against the graph's shapes: a lowering that
// disagrees with its op's shape rule is a bug of tpuest.
class NodeContext final : public LowerContext {
 public:
  NodeContext(Lowering& lowering, const Node& node) : lowering_(lowering), node_(node) {}
  [[nodiscard]] const Node& node() const override { return node_; }
  [[nodiscard]] HloBuilder& hlo() override { return *lowering_.hlo_; }
  [[nodiscard]] int replicas() const override { return lowering_.options_.replicas; }
  [[nodiscard]] HloValue Input(int i) override { return lowering_.At(node_.input(i)); }
  [[nodiscard]] Tensor Constant(int i) const override { return ConstantValue(node_.input(i)); }
  void Output(int i, HloValue value) override {
    Check(value.shape == node_.output_shape(i), "{} '{}': lowered to {}, not {}", node_.type(),
          node_.name(), value.shape.Text(), node_.output_shape(i).Text());
    Check(value.dtype == node_.output_dtype(i), "{} '{}': lowered to {}, not {}", node_.type(),
          node_.name(), NameOf(value.dtype), NameOf(node_.output_dtype(i)));
    lowering_.values_[const_cast<Node&>(node_).output(i)] = std::move(value);
  }
  [[nodiscard]] HloValue Variable(int i) override {
    return lowering_.now_.at(NameOfVariable(node_.input(i)));
  }
  [[nodiscard]] HloValue VariableAtStart(int i) override {
    return lowering_.start_.at(NameOfVariable(node_.input(i)));
  }
  void Assign(int i, HloValue value) override {
    Check(node_.op().writes, "{} writes a variable, but its OpDef does not have `writes`",
          node_.type());
    HloValue& now = lowering_.now_.at(NameOfVariable(node_.input(i)));
    Check(value.shape == now.shape && value.dtype == now.dtype, "'{}' does not fit its variable",
          node_.name());
    now = std::move(value);
  }
  [[nodiscard]] bool HasPart(int i) const override {
    return lowering_.in_parts_.contains(NameOfVariable(node_.input(i)));
  }
  [[nodiscard]] bool OutputIsCut() const override {
    return lowering_.schedule_.nodes[static_cast<size_t>(node_.id())].rows == Rows::kEach;
  }
  [[nodiscard]] uint64_t seed() const override { return lowering_.options_.seed; }
  [[nodiscard]] bool seeds_by_name() const override { return lowering_.options_.seeds_by_name; }
  [[nodiscard]] HloValue Step() override {
    const auto found = lowering_.start_.find(std::string(kGlobalStep));
    if (found == lowering_.start_.end()) return hlo().Full(DType::kUint64, Shape(), 0);
    return hlo().Convert(found->second, DType::kUint64);
  }

 private:
  Lowering& lowering_;
  const Node& node_;
};

// A module describes one replica; XLA runs it on all devices. The schedule only tells which results
// are rows of the batch (OutputIsCut), from which random ops find their slice.
Lowering::Lowering(const ProgramSpec& spec, const CompileOptions& options)
    : bound_(BindGraph(spec)), options_(options) {
  ScheduleOptions schedule_options{.replicas = options.replicas, .cut_feeds = {}};
  for (const FeedSpec& feed : spec.feeds) {
    schedule_options.cut_feeds.push_back(feed.cut);
    partitions_.push_back(options.partitions > 1 ? feed.partition : Partition());
  }
  schedule_ = ScheduleGraph(bound_, schedule_options);
  FindFeeds();
  FindVariables();
  SpreadTables();
  SpreadTablesOverReplicas();
}

void Lowering::FindFeeds() {
  std::set<Value> read(bound_.fetches.begin(), bound_.fetches.end());
  read.insert(bound_.guard);
  for (const auto& node : bound_.graph->nodes()) {
    if (IsLowered(*node)) read.insert(node->inputs().begin(), node->inputs().end());
  }
  for (size_t i = 0; i < bound_.feeds.size(); ++i) {
    if (read.contains(bound_.feeds[i])) feeds_.push_back(i);
  }
}

std::vector<HloValue> Lowering::Feeds() const {
  std::vector<Value> feeds;
  for (const size_t i : feeds_) feeds.push_back(bound_.feeds[i]);
  return TypesOf(feeds);
}

// One argument per variable, in the order in which the graph first uses them.
void Lowering::FindVariables() {
  for (const auto& node : bound_.graph->nodes()) {
    if (node->op().source != ValueSource::kVariable) continue;
    const std::string name = NameOfVariable(node->output(0));
    if (std::find(variables_.begin(), variables_.end(), name) != variables_.end()) continue;
    variables_.push_back(name);
    variable_types_.push_back({"", node->Attr<DType>("dtype"), node->Attr<Shape>("shape")});
    variable_nodes_.push_back(node.get());
  }
}

// Whether the node takes a part of a variable: its result has another shape.
bool LooksUp(const Node& node) {
  if (node.inputs().empty() || node.outputs() != 1 || node.op().writes) return false;
  const Node& variable = *node.input(0).node;
  return variable.op().source == ValueSource::kVariable &&
         node.output_shape(0) != variable.Attr<Shape>("shape");
}

// A slot's name begins with its variable's name, as in TensorFlow.
bool Lowering::BelongsTo(size_t variable, const std::string& table) const {
  const std::string& name = variables_[variable];
  return name == table || name.starts_with(table + "/");
}

// Partitions tables that are looked up by row over the cores of a replica: XLA's partitioner lets
// each core look up its own rows and combines the results. Small tables stay whole.
void Lowering::SpreadTables() {
  variable_partitions_.resize(variables_.size());
  if (options_.partitions == 1) return;
  for (const auto& node : bound_.graph->nodes()) {
    if (!LooksUp(*node) || !IsLowered(*node)) continue;
    const std::string table = NameOfVariable(node->input(0));
    const auto found = std::find(variables_.begin(), variables_.end(), table);
    if (found == variables_.end()) continue;
    const Shape shape = variable_types_[static_cast<size_t>(found - variables_.begin())].shape;
    for (size_t i = 0; i < variables_.size(); ++i) {
      const HloValue& type = variable_types_[i];
      const bool is_large = type.shape.rank() == 2 && BytesOf(type) >= kLeastSpreadBytes;
      if (!is_large || type.shape != shape || !BelongsTo(i, table)) continue;
      variable_partitions_[i] = {options_.partitions, 1};
    }
  }
}

// If tables that are only read and written by row are too large for a core, partitions their rows
// over all replicas, including those of other processes.
void Lowering::SpreadTablesOverReplicas() {
  if (options_.replicas == 1 || options_.partitions > 1) return;
  std::set<std::string> by_row;
  std::set<std::string> otherwise;
  for (const auto& node : bound_.graph->nodes()) {
    if (!IsLowered(*node)) continue;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Value& input = node->inputs()[i];
      if (input.node->op().source != ValueSource::kVariable) continue;
      const bool is_by_row = i == 0 && (node->op().looks_up_rows || node->op().writes_rows);
      (is_by_row ? by_row : otherwise).insert(NameOfVariable(input));
    }
  }
  std::vector<size_t> tables;
  int64_t all = 0;
  for (size_t i = 0; i < variables_.size(); ++i) {
    const HloValue& type = variable_types_[i];
    const bool is_table = by_row.contains(variables_[i]) && !otherwise.contains(variables_[i]);
    if (!is_table || type.shape.rank() != 2 || BytesOf(type) < kLeastSpreadBytes) continue;
    tables.push_back(i);
    all += BytesOf(type);
  }
  if (all <= options_.device.table_bytes) return;
  for (const size_t i : tables) {
    variable_partitions_[i] = {options_.replicas, 1};
    variable_types_[i].shape = FirstPartShape(variable_types_[i].shape, variable_partitions_[i]);
    in_parts_.insert(variables_[i]);
  }
}

std::vector<HloValue> Lowering::FeedArguments(HloBuilder& hlo,
                                              const std::vector<HloValue>& types) const {
  std::vector<HloValue> arguments;
  for (size_t i = 0; i < types.size(); ++i) {
    const Node& node = *bound_.feeds[feeds_[i]].node;
    hlo.SetLocation(node.name(), node.origin());
    arguments.push_back(hlo.Argument(types[i].dtype, types[i].shape,
                                     PartitionOf(feeds_[i], types[i].shape.rank())));
  }
  hlo.SetLocation("", {});
  return arguments;
}

// Leading dimensions that the feed itself does not have (a stack's) are whole on every core.
Partition Lowering::PartitionOf(size_t feed, int rank) const {
  Partition partition = partitions_[feed];
  if (partition.empty()) return partition;
  partition.insert(partition.begin(), static_cast<size_t>(rank) - partition.size(), 1);
  return partition;
}

std::vector<HloValue> Lowering::VariableArguments(HloBuilder& hlo) const {
  std::vector<HloValue> arguments;
  for (size_t i = 0; i < variables_.size(); ++i) {
    hlo.SetLocation(variables_[i], variable_nodes_[i]->origin());
    const bool is_part = in_parts_.contains(variables_[i]);
    arguments.push_back(hlo.Argument(variable_types_[i].dtype, variable_types_[i].shape,
                                     is_part ? Partition() : variable_partitions_[i]));
  }
  hlo.SetLocation("", {});
  return arguments;
}

// False for nodes that need no operation: those left over after expansion or folding, handles,
// which are only names, and feeds, which are arguments.
bool Lowering::IsLowered(const Node& node) const {
  if (!schedule_.nodes[static_cast<size_t>(node.id())].needed) return false;
  if (node.op().source == ValueSource::kVariable || node.only_orders()) return false;
  return std::none_of(bound_.feeds.begin(), bound_.feeds.end(),
                      [&](const Value& feed) { return feed.node == &node; });
}

StepValues Lowering::Step(HloBuilder& hlo, std::span<const HloValue> feeds,
                          std::span<const HloValue> variables) {
  hlo_ = &hlo;
  values_.clear();
  for (size_t i = 0; i < feeds.size(); ++i) values_[bound_.feeds[feeds_[i]]] = feeds[i];
  for (size_t i = 0; i < variables.size(); ++i) {
    // A value has not changed if it still is the argument itself: Module compares names.
    start_[variables_[i]] = now_[variables_[i]] = variables[i];
  }
  for (const auto& node : bound_.graph->nodes()) {
    if (!IsLowered(*node)) continue;
    NodeContext context(*this, *node);
    if (node->op().hlo == nullptr) context.Fail("this op has no lowering to StableHLO");
    hlo.SetLocation(node->name(), node->origin());
    node->op().hlo(context);
    if (node->op().alias) Wait(*node);
  }
  hlo.SetLocation("", {});
  StepValues step;
  for (const Value& fetch : bound_.fetches) step.fetches.push_back(At(fetch));
  for (const std::string& name : variables_) step.variables.push_back(now_.at(name));
  if (bound_.guard.valid()) step.guard = At(bound_.guard);
  return step;
}

// Orders an Identity after the nodes that it waits for; otherwise the compiler would merge
// recomputed nodes (core/graph/recompute.h) with the originals.
void Lowering::Wait(Node& node) {
  std::vector<HloValue> all;
  for (Node* const before : node.control_inputs()) {
    const bool gives =
        before->outputs() > 0 && !IsUpdate(*before) && values_.contains(before->output(0));
    if (gives) all.push_back(At(before->output(0)));
  }
  if (all.empty()) return;
  all.push_back(At(node.output(0)));
  values_[node.output(0)] = hlo_->OpMany("optimization_barrier", all, "", "", all).back();
}

LoweredModule Lowering::Module(std::string text, std::optional<int64_t> stack) const {
  LoweredModule module;
  module.text = std::move(text);
  module.feeds = feeds_;
  module.stack = stack.value_or(1);
  for (const size_t feed : feeds_) {
    const int rank = bound_.feeds[feed].shape().rank();
    module.partitions.push_back(PartitionOf(feed, stack ? rank + 1 : rank));
  }
  module.variables = variables_;
  module.variable_partitions = variable_partitions_;
  for (const std::string& name : variables_) {
    module.assigned.push_back(now_.at(name).name != start_.at(name).name);
  }
  for (const Value& fetch : bound_.fetches) module.fetches.push_back(fetch.shape());
  return module;
}

void Append(std::vector<HloValue>& values, std::span<const HloValue> more) {
  values.insert(values.end(), more.begin(), more.end());
}

// The types of these values for many steps: [stack, ...] each.
std::vector<HloValue> Stacked(std::vector<HloValue> types, int64_t stack) {
  for (HloValue& type : types) {
    std::vector<int64_t> dims = type.shape.dims();
    dims.insert(dims.begin(), stack);
    type.shape = Shape(dims);
  }
  return types;
}

// Lets the results of variables, from first_result on, use the memory of the arguments from
// first_argument on.
std::vector<int64_t> Aliases(size_t results, size_t first_result, size_t first_argument,
                             size_t variables) {
  std::vector<int64_t> aliases(results, -1);
  for (size_t i = 0; i < variables; ++i) {
    aliases[first_result + i] = static_cast<int64_t>(first_argument + i);
  }
  return aliases;
}

// Returns which value of a step is not finite, as int32 []: 0 for none, kStopGuard, or
// kStopVariable + i for the first such variable i that the step writes. All replicas agree on
// whether it is 0, because they test the sum over all replicas.
HloValue StopOf(HloBuilder& hlo, const StepValues& step, std::span<const HloValue> old,
                int replicas) {
  HloValue bad = hlo.Full(DType::kFloat, Shape(), 0);
  HloValue stop = hlo.Full(DType::kInt32, Shape(), kStopGuard);
  const auto look = [&](const HloValue& value, int code) {
    const HloValue is_finite = hlo.Op("is_finite", {value}, "", "", DType::kBool, value.shape);
    const HloValue is_not = hlo.Convert(hlo.Unary("not", is_finite), DType::kFloat);
    std::vector<int64_t> axes;
    for (int64_t axis = 0; axis < value.rank(); ++axis) axes.push_back(axis);
    const HloValue count = axes.empty() ? is_not : hlo.Reduce("add", is_not, axes, 0);
    bad = hlo.Binary("add", bad, count);
    const HloValue found = hlo.Compare("GT", count, hlo.FullLike(count, 0));
    stop = hlo.Select(found, hlo.Full(DType::kInt32, Shape(), code), stop);
  };
  for (size_t i = old.size(); i-- > 0;) {
    const bool assigned = step.variables[i].name != old[i].name;
    if (assigned && IsFloating(old[i].dtype)) {
      look(step.variables[i], kStopVariable + static_cast<int>(i));
    }
  }
  if (step.guard.valid()) look(step.guard, kStopGuard);
  if (replicas > 1) bad = hlo.AllReduceSum(bad, replicas);
  const HloValue none = hlo.Compare("EQ", bad, hlo.FullLike(bad, 0));
  return hlo.Select(none, hlo.FullLike(stop, 0), stop);
}

// Positions in the loop's state: steps run so far, steps to run, why the last one was not applied
// (StopOf); then the stacked feeds, the variables, the stacked fetches.
enum State : size_t { kMade, kCount, kStop, kFirst };

// Writes the module of many steps:
//   while (made < count and stop == 0):
//     feeds = stacked feeds[made]; step; stop = 0 if guard and new variables are finite
//     variables = stop == 0 ? new : old; stacked fetches[made] = fetches; made += 1
class Loop {
 public:
  Loop(Lowering& lowering, const CompileOptions& options, int64_t stack)
      : lowering_(lowering),
        options_(options),
        feeds_(Stacked(lowering.Feeds(), stack)),
        fetches_(Stacked(lowering.Fetches(), stack)),
        hlo_(options.device.matmul_precision, options.replicas, options.partitions) {}

  std::string Text();

 private:
  [[nodiscard]] std::vector<HloValue> Body(const std::vector<HloValue>& state);

  Lowering& lowering_;
  const CompileOptions& options_;
  const std::vector<HloValue> feeds_;
  const std::vector<HloValue> fetches_;
  HloBuilder hlo_;
};

std::vector<HloValue> Loop::Body(const std::vector<HloValue>& state) {
  const auto all = std::span(state);
  const size_t variables = lowering_.Variables().size();
  const auto old = all.subspan(kFirst + feeds_.size(), variables);
  std::vector<HloValue> next = state;
  std::vector<HloValue> feeds;
  for (size_t i = 0; i < feeds_.size(); ++i) {
    feeds.push_back(hlo_.Element(state[kFirst + i], state[kMade]));
  }
  const StepValues step = lowering_.Step(hlo_, feeds, old);
  next[kStop] = StopOf(hlo_, step, old, options_.replicas);
  const HloValue is_applied = hlo_.Compare("EQ", next[kStop], hlo_.FullLike(next[kStop], 0));
  for (size_t i = 0; i < variables; ++i) {
    // A variable that the step does not write needs no select, which would copy it.
    const bool assigned = step.variables[i].name != old[i].name;
    if (!assigned) continue;
    const HloValue applied = hlo_.Broadcast(is_applied, old[i].shape);
    next[kFirst + feeds_.size() + i] = hlo_.Select(applied, step.variables[i], old[i]);
  }
  for (size_t i = 0; i < fetches_.size(); ++i) {
    HloValue& stack = next[kFirst + feeds_.size() + variables + i];
    stack = hlo_.WithElement(stack, state[kMade], step.fetches[i]);
  }
  next[kMade] = hlo_.Binary("add", state[kMade], 1);
  return next;
}

std::string Loop::Text() {
  std::vector<HloValue> state(kFirst);
  Append(state, lowering_.FeedArguments(hlo_, feeds_));
  Append(state, lowering_.VariableArguments(hlo_));
  state[kMade] = hlo_.Full(DType::kInt32, Shape(), 0);
  state[kCount] = hlo_.Argument(DType::kInt32, Shape());
  state[kStop] = hlo_.Full(DType::kInt32, Shape(), 0);
  for (const HloValue& fetch : fetches_) state.push_back(hlo_.Full(fetch.dtype, fetch.shape, 0));
  const auto goes_on = [this](const std::vector<HloValue>& now) {
    const HloValue more = hlo_.Compare("LT", now[kMade], now[kCount]);
    const HloValue goes = hlo_.Compare("EQ", now[kStop], hlo_.FullLike(now[kStop], 0));
    return std::vector<HloValue>{hlo_.Binary("and", more, goes)};
  };
  const std::vector<HloValue> end =
      hlo_.While(state, goes_on, [this](const std::vector<HloValue>& now) { return Body(now); });
  const size_t variables = lowering_.Variables().size();
  const auto all = std::span(end).subspan(kFirst + feeds_.size());
  std::vector<HloValue> results(all.begin() + static_cast<std::ptrdiff_t>(variables), all.end());
  Append(results, all.first(variables));
  results.push_back(end[kMade]);
  results.push_back(end[kStop]);
  return hlo_.Finish(results, Aliases(results.size(), fetches_.size(), feeds_.size(), variables));
}

}  // namespace

LoweredModule LowerToHlo(const ProgramSpec& spec, const CompileOptions& options) {
  Lowering lowering(spec, options);
  HloBuilder hlo(options.device.matmul_precision, options.replicas, options.partitions);
  const std::vector<HloValue> feeds = lowering.FeedArguments(hlo, lowering.Feeds());
  const std::vector<HloValue> variables = lowering.VariableArguments(hlo);
  const StepValues step = lowering.Step(hlo, feeds, variables);
  std::vector<HloValue> results = step.fetches;
  Append(results, step.variables);
  const std::vector<int64_t> aliases =
      Aliases(results.size(), step.fetches.size(), feeds.size(), variables.size());
  return lowering.Module(hlo.Finish(results, aliases));
}

// The stack's size is fixed by the module's types; a run of fewer steps passes `count`. The size is
// limited by the memory that staged feeds may take, but is at least one step.
LoweredModule LowerLoopToHlo(const ProgramSpec& spec, const CompileOptions& options) {
  Lowering lowering(spec, options);
  int64_t bytes = 0;
  for (const HloValue& feed : lowering.Feeds()) {
    bytes += BytesOf(feed);
  }
  const int64_t fit = options.device.staging_bytes / std::max<int64_t>(1, bytes);
  const int64_t stack = std::max<int64_t>(1, std::min(options.steps_per_call, fit));
  std::string text = Loop(lowering, options, stack).Text();
  return lowering.Module(std::move(text), stack);
}

}  // namespace tpuest
