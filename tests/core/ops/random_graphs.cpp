#include "tests/core/ops/random_graphs.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <vector>

#include "core/backend/cpu/program.h"
#include "core/graph/bound_op.h"
#include "core/graph/gradient.h"
#include "core/graph/write/graphdef.h"
#include "core/graph/write/node_def.h"
#include "core/io/protos.h"
#include "tests/core/ops/op_checks.h"
#include "tests/core/ops/op_run.h"

namespace tpuest {
namespace {

// SplitMix64, by Sebastiano Vigna: the same numbers everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15 + 1) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // 0 .. n-1.
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<size_t>(high - low + 1)));
  }
  bool Percent(int chance) { return Below(100) < static_cast<size_t>(chance); }
  template <class List>
  const auto& Of(const List& list) {
    return list[Below(std::size(list))];
  }

 private:
  uint64_t state_;
};

constexpr DType kTypes[] = {DType::kFloat,  DType::kFloat,  DType::kInt32, DType::kInt64,
                            DType::kString, DType::kDouble, DType::kBool,  DType::kBfloat16,
                            DType::kUint8,  DType::kInt8,   DType::kInt16, DType::kUint16,
                            DType::kUint32, DType::kUint64, DType::kHalf,  DType::kResource};
constexpr int64_t kExtremes[] = {-1,
                                 INT32_MAX,
                                 int64_t{INT32_MAX} + 1,
                                 INT32_MIN,
                                 4294967298,
                                 int64_t{1} << 40,
                                 int64_t{1} << 48,
                                 int64_t{1} << 62,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};
constexpr std::string_view kWords[] = {
    "",     "a",        "NHWC",      "NCHW",    "SAME",     "VALID",    "EXPLICIT", "BYTE",
    "*",    "utf-8",    "UTF8_CHAR", "NEAREST", "BILINEAR", "CONSTANT", "REFLECT",  "WRAP",
    "Relu", "bilinear", "nearest",   "s",       "n",        "0",        "12",       "-7.5",
    " ",    "(a|b)+",   "\\1",       "%n%s",    "1e400",    "\xff\xfe", "area",     "\xe4\xb8\x96"};
constexpr double kReals[] = {0, 1, -1, 0.5, 1e-30, -2.5, 1e30, 3.5e38, -1e300};

class Maker {
 public:
  explicit Maker(uint64_t seed) : dice_(seed) {}

  [[nodiscard]] const std::string& op() const { return op_; }
  [[nodiscard]] const pb::GraphDef& def() const { return def_; }
  [[nodiscard]] const std::map<std::string, Tensor>& feeds() const { return feeds_; }
  [[nodiscard]] Dice& dice() { return dice_; }

  void Make() {
    const auto& ops = TestRegistry().ops();
    // No file contains our own ops.
    do {
      op_ = std::next(ops.begin(), static_cast<long>(dice_.Below(ops.size())))->first;
    } while (op_.starts_with('_'));
    const std::vector<const OpCase*> cases = CasesOf(op_);
    if (!cases.empty() && dice_.Percent(65)) {
      BeginWith(*dice_.Of(cases));
    } else {
      BeginWithSignature();
    }
    for (size_t changes = dice_.Below(4); changes > 0; --changes) Change();
    if (dice_.Percent(40)) HoldFeeds();
  }

 private:
  static std::vector<const OpCase*> CasesOf(const std::string& op) {
    static const std::vector<OpCase> all = AllOpCases();
    std::vector<const OpCase*> cases;
    for (const OpCase& op_case : all) {
      if (op_case.op == op) cases.push_back(&op_case);
    }
    return cases;
  }

  // ---- a valid graph

  void BeginWith(const OpCase& op_case) {
    DType dtype = DType::kFloat;
    if (op_case.in_double && dice_.Percent(20)) dtype = DType::kDouble;
    if (op_case.in_bfloat16 && dice_.Percent(20)) dtype = DType::kBfloat16;
    const std::vector<Tensor> inputs = InputsAs(op_case, dtype);
    CaseGraph graph(op_case, inputs);
    Check(def_.ParseFromString(ToGraphDef(graph.graph)));
    for (size_t i = 0; i < inputs.size(); ++i) {
      feeds_[graph.inputs[i].node->name()] = inputs[i];
    }
  }

  // ---- a graph from the op's record

  void BeginWithSignature() {
    const Signature& signature = TestRegistry().Find(op_)->signature;
    rank_ = dice_.Percent(50) ? 2 : static_cast<int>(dice_.Below(6));
    base_ = {};
    for (int d = 0; d < rank_; ++d) base_.push_back(Dim());
    std::map<std::string, AttrValue> attrs;
    for (const AttrDef& attr : signature.attrs) {
      if (attr.default_value && dice_.Percent(70)) {
        attrs[attr.name] = *attr.default_value;
      } else {
        attrs[attr.name] = AttrOf(attr);
      }
    }
    pb::NodeDef node;
    node.set_name("the_op");
    node.set_op(op_);
    for (const auto& [name, value] : attrs) WriteAttr(value, (*node.mutable_attr())[name]);
    for (const ArgDef& arg : signature.inputs) {
      for (const DType dtype : TypesOf(arg, attrs)) node.add_input(Input(arg.name, dtype));
    }
    *def_.add_node() = node;
  }

  static std::vector<DType> TypesOf(const ArgDef& arg,
                                    const std::map<std::string, AttrValue>& attrs) {
    if (!arg.type_list_attr.empty()) {
      const auto* const list = std::get_if<std::vector<DType>>(&attrs.at(arg.type_list_attr));
      return list == nullptr ? std::vector<DType>() : *list;
    }
    DType dtype = arg.dtype;
    if (!arg.type_attr.empty()) {
      const auto* const type = std::get_if<DType>(&attrs.at(arg.type_attr));
      dtype = type == nullptr ? DType::kFloat : *type;
    }
    size_t count = 1;
    if (!arg.number_attr.empty()) {
      const auto* const number = std::get_if<int64_t>(&attrs.at(arg.number_attr));
      count = number == nullptr ? 1 : static_cast<size_t>(std::clamp<int64_t>(*number, 0, 4));
    }
    return std::vector<DType>(count, dtype);
  }

  int64_t Dim() {
    constexpr int64_t kDims[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 8};
    return dice_.Of(kDims);
  }
  int64_t Number() { return dice_.Percent(8) ? dice_.Of(kExtremes) : dice_.Between(-2, 5); }
  double Real() {
    if (dice_.Percent(3)) return std::numeric_limits<double>::quiet_NaN();
    return dice_.Percent(10) ? dice_.Of(kReals) : static_cast<double>(dice_.Between(-30, 30)) / 10;
  }
  std::string Word() { return std::string(dice_.Of(kWords)); }
  DType Type(const std::vector<DType>& allowed = {}) {
    if (allowed.empty() || dice_.Percent(4)) return dice_.Of(kTypes);
    return dice_.Of(allowed);
  }

  Shape AnyShape() {
    std::vector<int64_t> dims = base_;
    switch (dice_.Below(8)) {
      case 0:
        dims.clear();
        for (size_t d = dice_.Below(6); d > 0; --d) dims.push_back(Dim());
        break;
      case 1:
        if (!dims.empty()) dims = {dims.back()};
        break;
      case 2:
        if (!dims.empty()) dims = {dims.front()};
        break;
      case 3:
        if (!dims.empty()) dims[dice_.Below(dims.size())] = Dim();
        break;
      case 4:
        dims.clear();
        break;
      default:
        break;
    }
    return Shape(dims);
  }

  template <class T, class Make>
  std::vector<T> List(Make make) {
    constexpr size_t kLengths[] = {0, 1, 2, 2, 3, 4, 4, 4, 8};
    std::vector<T> list;
    for (size_t n = dice_.Of(kLengths); n > 0; --n) list.push_back(make());
    return list;
  }

  // Windows have the form [1, a, b, 1].
  std::vector<int64_t> Ints() {
    if (dice_.Percent(40)) return {1, dice_.Between(1, 3), dice_.Between(1, 3), 1};
    return List<int64_t>([this] { return Number(); });
  }

  AttrValue AttrOf(const AttrDef& attr) {
    const std::string& type = attr.type;
    if (type == "int") return Number();
    if (type == "float") return static_cast<float>(Real());
    if (type == "bool") return dice_.Percent(50);
    if (type == "string") {
      const bool legal = !attr.words.empty() && dice_.Percent(80);
      return legal ? dice_.Of(attr.words) : Word();
    }
    if (type == "type") return Type(attr.allowed);
    if (type == "shape") return dice_.Percent(80) ? Shape(base_) : AnyShape();
    if (type == "tensor") return TensorOf(dice_.Of(kTypes), AnyShape());
    if (type == "func") return FunctionRef{Word()};
    if (type == "list(int)") return Ints();
    if (type == "list(float)") {
      return List<float>([this] { return static_cast<float>(Real()); });
    }
    if (type == "list(string)") {
      return List<std::string>([this] { return Word(); });
    }
    if (type == "list(bool)") {
      return List<bool>([this] { return dice_.Percent(50); });
    }
    if (type == "list(type)") {
      constexpr DType kListed[] = {DType::kInt64, DType::kString, DType::kFloat};
      std::vector<DType> types(dice_.Below(4), dice_.Of(kListed));
      for (DType& dtype : types) dtype = dice_.Percent(10) ? Type() : dtype;
      return types;
    }
    std::vector<Shape> shapes(dice_.Below(4));
    for (Shape& shape : shapes) shape = AnyShape();
    return shapes;
  }

  Tensor TensorOf(DType dtype, const Shape& shape) {
    if (dtype == DType::kResource) dtype = DType::kFloat;
    if (dtype == DType::kString) {
      std::vector<std::string> words(static_cast<size_t>(shape.elements()));
      for (std::string& word : words) word = Word();
      return Tensor::Strings(shape, words);
    }
    if (dtype == DType::kHalf) return {dtype, shape};
    if (IsFloating(dtype)) {
      Tensor reals(DType::kDouble, shape);
      for (int64_t i = 0; i < reals.elements(); ++i) reals.data<double>()[i] = Real();
      return reals.Cast(dtype);
    }
    Tensor numbers(DType::kInt64, shape);
    for (int64_t i = 0; i < numbers.elements(); ++i) numbers.data<int64_t>()[i] = Number();
    return dtype == DType::kInt64 ? numbers : numbers.Cast(dtype);
  }

  // Numbers that suit the current shape, by the name that the op gives them.
  std::optional<Tensor> NumbersFor(const std::string& name) {
    std::vector<int64_t> numbers;
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is({"axis", "dim", "dimension", "reduction_indices", "k", "depth", "num_segments"})) {
      return Tensor::Scalar<int64_t>(dice_.Between(-1, std::max(rank_, 2)));
    }
    const auto size = static_cast<size_t>(rank_);
    if (is({"perm"})) {
      for (size_t i = 0; i < size; ++i) numbers.push_back(static_cast<int64_t>(i));
      if (size > 1) std::swap(numbers[0], numbers[dice_.Below(size)]);
    } else if (is({"begin"})) {
      numbers.assign(size, 0);
    } else if (is({"strides"})) {
      numbers.assign(size, dice_.Percent(80) ? 1 : -1);
    } else if (is({"multiples"})) {
      numbers.assign(size, dice_.Between(0, 2));
    } else if (is({"shape", "dims", "end", "output_shape", "input_sizes", "filter_sizes",
                   "orig_input_shape"})) {
      numbers = base_;
    } else if (is({"size"})) {
      numbers = {dice_.Between(1, 3), dice_.Between(1, 3)};
    } else if (is({"paddings"})) {
      numbers.assign(2 * size, dice_.Between(0, 2));
      return Tensor::Of<int64_t>({static_cast<int64_t>(size), 2}, numbers);
    } else {
      return std::nullopt;
    }
    return Tensor::Of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers);
  }

  // Adds a source for an input; returns the tensor's name.
  std::string Input(const std::string& name, DType dtype) {
    std::string node = fmt::format("in_{}", def_.node_size());
    if (dtype == DType::kResource) return Handle(node);
    std::optional<Tensor> numbers;
    if (IsInteger(dtype) && dice_.Percent(85)) numbers = NumbersFor(name);
    const bool fixed = numbers.has_value();
    const Tensor value = fixed ? numbers->Cast(dtype) : TensorOf(dtype, AnyShape());
    AddPlaceholder(node, value);
    if (fixed && dice_.Percent(85)) Hold(*def_.mutable_node(def_.node_size() - 1));
    return node;
  }

  std::string Handle(const std::string& name) {
    pb::NodeDef& node = *def_.add_node();
    node.set_name(name);
    auto& attrs = *node.mutable_attr();
    if (op_.find("Table") != std::string::npos || dice_.Percent(3)) {
      node.set_op("HashTableV2");
      WriteAttr(AttrValue(dice_.Percent(50) ? DType::kString : DType::kInt64), attrs["key_dtype"]);
      WriteAttr(AttrValue(dice_.Percent(50) ? DType::kString : DType::kInt64),
                attrs["value_dtype"]);
      return name;
    }
    node.set_op("VarHandleOp");
    WriteAttr(AttrValue(dice_.Percent(80) ? DType::kFloat : dice_.Of(kTypes)), attrs["dtype"]);
    WriteAttr(AttrValue(dice_.Percent(80) ? Shape(base_) : AnyShape()), attrs["shape"]);
    WriteAttr(AttrValue(name), attrs["shared_name"]);
    return name;
  }

  void AddPlaceholder(const std::string& name, const Tensor& value) {
    pb::NodeDef& node = *def_.add_node();
    node.set_name(name);
    node.set_op("Placeholder");
    feeds_[name] = value;
    Describe(node, value);
  }

  // A placeholder of the tensor's dtype and of a part of its shape, as in a file.
  void Describe(pb::NodeDef& node, const Tensor& value) {
    Shape shape = value.shape();
    if (dice_.Percent(20)) shape = Shape::UnknownRank();
    for (int d = 0; shape.known_rank() && d < shape.rank(); ++d) {
      if (dice_.Percent(10)) shape.set_dim(d, kUnknownDim);
    }
    WriteAttr(AttrValue(value.dtype()), (*node.mutable_attr())["dtype"]);
    WriteAttr(AttrValue(shape), (*node.mutable_attr())["shape"]);
  }

  // Makes a constant of the fed value.
  void Hold(pb::NodeDef& node) {
    const auto fed = feeds_.find(node.name());
    if (fed == feeds_.end() || node.op() != "Placeholder") return;
    if (fed->second.dtype() == DType::kHalf) return;
    node.set_op("Const");
    node.clear_attr();
    WriteAttr(AttrValue(fed->second), (*node.mutable_attr())["value"]);
    WriteAttr(AttrValue(fed->second.dtype()), (*node.mutable_attr())["dtype"]);
    feeds_.erase(fed);
  }
  void HoldFeeds() {
    for (pb::NodeDef& node : *def_.mutable_node()) Hold(node);
  }

  // ---- faults

  pb::NodeDef& Chosen() {
    std::vector<pb::NodeDef*> nodes;
    for (pb::NodeDef& node : *def_.mutable_node()) {
      if (node.op() == op_) nodes.push_back(&node);
    }
    if (!nodes.empty() && dice_.Percent(50)) return *dice_.Of(nodes);
    return *def_.mutable_node(static_cast<int>(dice_.Below(static_cast<size_t>(def_.node_size()))));
  }

  void Change() {
    pb::NodeDef& node = Chosen();
    if (node.op() == "Placeholder") return ChangeFeed(node);
    if (node.op() == "Const") return ChangeConstant(node);
    const auto inputs = static_cast<size_t>(node.input_size());
    switch (dice_.Below(inputs == 0 ? 2 : 6)) {
      case 2:  // swaps two inputs
        return node.mutable_input()->SwapElements(static_cast<int>(dice_.Below(inputs)),
                                                  static_cast<int>(dice_.Below(inputs)));
      case 3:
        return node.mutable_input()->RemoveLast();
      case 4:
        node.add_input(std::string(node.input(static_cast<int>(dice_.Below(inputs)))));
        return;
      case 5: {
        std::string added = fmt::format("in_{}", def_.node_size());
        const std::string before = node.name();
        const auto at = static_cast<int>(dice_.Below(inputs));
        AddPlaceholder(added, TensorOf(dice_.Of(kTypes), AnyShape()));
        for (pb::NodeDef& other : *def_.mutable_node()) {
          if (other.name() == before) other.set_input(at, added);
        }
        return;
      }
      default:
        return ChangeAttr(node);
    }
  }

  void ChangeAttr(pb::NodeDef& node) {
    const RegisteredOp* const op = TestRegistry().Find(node.op());
    if (op == nullptr || op->signature.attrs.empty()) return;
    const AttrDef& attr = dice_.Of(op->signature.attrs);
    WriteAttr(AttrOf(attr), (*node.mutable_attr())[attr.name]);
  }

  // The shape with one dimension changed, more or fewer.
  Shape Bent(const Shape& shape) {
    std::vector<int64_t> dims = shape.dims();
    const size_t at = dims.empty() ? 0 : dice_.Below(dims.size());
    switch (dice_.Below(4)) {
      case 0:
        dims.insert(dims.begin() + static_cast<long>(at), Dim());
        break;
      case 1:
        if (!dims.empty()) dims.erase(dims.begin() + static_cast<long>(at));
        break;
      default:
        if (!dims.empty()) dims[at] = Dim();
        break;
    }
    return Shape(dims);
  }

  Tensor Bent(const Tensor& value) {
    constexpr int64_t kMost = 1 << 14;
    const Shape shape = dice_.Percent(60) ? Bent(value.shape()) : value.shape();
    const DType dtype = dice_.Percent(8) ? dice_.Of(kTypes) : value.dtype();
    if (shape.elements() > kMost) return value;
    if (shape == value.shape() && dtype == value.dtype() && IsInteger(dtype) &&
        value.elements() > 0) {
      Tensor numbers = value.Cast(DType::kInt64).Clone();
      numbers.data<int64_t>()[dice_.Below(static_cast<size_t>(value.elements()))] = Number();
      return numbers.Cast(dtype);
    }
    return TensorOf(dtype, shape);
  }

  void ChangeFeed(pb::NodeDef& node) {
    const auto fed = feeds_.find(node.name());
    if (fed == feeds_.end()) return;
    fed->second = Bent(fed->second);
    Describe(node, fed->second);
  }

  void ChangeConstant(pb::NodeDef& node) {
    Graph graph(TestRegistry());
    pb::GraphDef alone;
    *alone.add_node() = node;
    try {
      FromGraphDef(alone.SerializeAsString(), graph);
    } catch (const Error&) {
      return;  // already invalid
    }
    const Tensor value = Bent(graph.nodes().front()->Attr<Tensor>("value"));
    if (value.dtype() == DType::kHalf) return;
    WriteAttr(AttrValue(value), (*node.mutable_attr())["value"]);
    WriteAttr(AttrValue(value.dtype()), (*node.mutable_attr())["dtype"]);
  }

  Dice dice_;
  std::string op_;
  pb::GraphDef def_;
  std::map<std::string, Tensor> feeds_;
  int rank_ = 2;
  std::vector<int64_t> base_ = {2, 3};
};

// Reads the bytes of a result, so that freed memory is detected.
void Look(const Tensor& tensor) {
  volatile uint64_t sum = 0;
  if (tensor.dtype() == DType::kString) {
    for (const std::string_view text : tensor.strings()) {
      for (const char c : text) sum = sum + static_cast<unsigned char>(c);
    }
    return;
  }
  const auto* const bytes = static_cast<const unsigned char*>(tensor.raw());
  for (size_t i = 0; i < tensor.bytes(); ++i) sum = sum + bytes[i];
}

class Runner {
 public:
  explicit Runner(Maker& maker) : maker_(maker), graph_(TestRegistry()) {}

  void Run() {
    FromGraphDef(maker_.def().SerializeAsString(), graph_);
    ProgramSpec spec{.graph = &graph_};
    StepFeeds feeds;
    const bool cut = maker_.dice().Percent(25);
    for (const auto& [name, value] : maker_.feeds()) {
      const Value placeholder{graph_.FindNode(name), 0};
      spec.feeds.push_back({placeholder, value.shape(), cut && value.shape().rank() > 0});
      feeds.push_back({value});
    }
    for (const auto& node : graph_.nodes()) {
      if (node->type() != maker_.op()) continue;
      bool is_fetched = false;
      for (int i = 0; i < node->outputs(); ++i) {
        if (node->output_dtype(i) == DType::kResource) continue;
        spec.fetches.push_back(node->output(i));
        is_fetched = true;
      }
      if (!is_fetched) spec.targets.push_back(node.get());
    }
    if (maker_.dice().Percent(40)) AddGradients(spec);
    if (IsSizedByValues(spec.fetches)) {
      for (size_t i = 0; i < feeds.size(); ++i) spec.feeds[i].value = feeds[i][0];
    }
    RunProgram(spec, feeds);
  }

 private:
  void AddGradients(ProgramSpec& spec) {
    std::vector<Value> xs;
    for (const auto& node : graph_.nodes()) {
      const bool source = node->op().source == ValueSource::kFeed ||
                          node->op().source == ValueSource::kConstant ||
                          node->op().source == ValueSource::kVariable;
      if (source && IsFloating(node->output_dtype(0))) xs.push_back(node->output(0));
    }
    if (xs.empty()) return;
    for (const Value& y : std::vector<Value>(spec.fetches)) {
      if (!IsFloating(y.dtype())) continue;
      for (const Gradient& gradient : Gradients(y, xs)) {
        if (!std::holds_alternative<std::monostate>(gradient)) {
          spec.fetches.push_back(ToDense(gradient));
        }
      }
    }
  }

  void RunProgram(const ProgramSpec& spec, const StepFeeds& feeds) {
    VariableStore variables;
    for (const auto& variable : graph_.variables()) {
      const bool fits = variable->shape.fully_known() && variable->dtype != DType::kResource;
      if (fits) variables.Set(variable->name, Tensor(variable->dtype, variable->shape));
    }
    const CompileOptions options{.fuse = maker_.dice().Percent(70)};
    const auto program = MakeCpuBackend()->Compile(spec, options, variables);
    for (const StepResult& step : program->Run({&feeds, 1})) {
      for (const std::vector<Tensor>& fetch : step.fetches) {
        for (const Tensor& tensor : fetch) Look(tensor);
      }
    }
  }

  Maker& maker_;
  Graph graph_;
};

}  // namespace

RandomRun RunRandomGraph(uint64_t seed) {
  Maker maker(seed);
  maker.Make();
  RandomRun run{.op = maker.op(), .outcome = Outcome::kRan, .message = {}};
  const auto ended = [&run](Outcome outcome, const char* message) {
    run.outcome = outcome;
    run.message = message;
  };
  try {
    Runner(maker).Run();
  } catch (const Error& error) {
    ended(Outcome::kRefused, error.what());
  } catch (const std::bad_alloc& error) {
    ended(Outcome::kMemory, error.what());
  } catch (const std::exception& error) {
    ended(Outcome::kBug, error.what());
  }
  return run;
}

std::string RandomGraphText(uint64_t seed) {
  Maker maker(seed);
  maker.Make();
  std::string text = maker.def().DebugString();
  for (const auto& [name, value] : maker.feeds()) {
    text +=
        fmt::format("# {} is fed with {} {}\n", name, NameOf(value.dtype()), value.shape().Text());
  }
  return text;
}

}  // namespace tpuest
