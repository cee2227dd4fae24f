// Flattens a GraphDef: calls give way to the nodes of what they call, and ops that only place a
// computation on a TPU to what they pass on.
//
// In: a GraphDef with its library of functions, the tensors that are wanted, those that are given.
// Out: a GraphDef without calls that holds just the nodes that the wanted tensors need.
//
//   f(a):      k = Const, b = MatMul(a, k); returns b
//   graph:     x ─▶ call: PartitionedCall(f) ─▶ y: Relu
//   result:    x, call/k: Const ─▶ call/b: MatMul ─▶ y: Relu
//
// A frame is the main graph, or one call made in one frame: there a name is an argument, and thus
// an input of the call, or a node of the function. The walk starts at what is wanted and is lazy:
// FlatName gives a node of a frame its name in the result and puts it on the list of open nodes;
// Emit takes it from there, copies it, and asks for its inputs, which opens more. What an input
// stands for is found by Resolve, in a loop:
//   - an argument of the frame's function: the call's input, in the caller's frame;
//   - an output of a call: what the function returns for it, in the call's frame;
//   - an output of a TPUReplicatedInput, TPUReplicatedOutput or IdentityN: its input;
//   - else the node's own output, and the loop ends.
// Control inputs go the same ways (Controls): that of a call stands for all that the function
// returns or names in control_ret. What the call waits for, the stateful nodes of the function wait
// for (Frame::controls), and those of ops that are not known here.
//
// What holds then:
//   - Nodes of the main graph keep their names; others are "call/node", made unique.
//   - What nothing asks for leaves nothing behind; what is asked for twice is copied once.
//   - What a file asks for is bounded: a function that calls itself, more nodes than kMaxNodes and
//     calls deeper than kMaxDepth are an Error.

#include "core/graph/read/function_inliner.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/graph/tensor_name.h"
#include "core/graph/write/node_def.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

// Bounds on what a file can ask for.
constexpr size_t kMaxNodes = 1 << 20;
constexpr int kMaxDepth = 100;

constexpr std::string_view kCallOps[] = {"PartitionedCall", "StatefulPartitionedCall",
                                         "TPUPartitionedCall", "BatchFunction"};
// Ops that only say where a computation runs: input i is output i.
constexpr std::string_view kPassOps[] = {"TPUReplicatedInput", "TPUReplicatedOutput", "IdentityN"};
constexpr std::string_view kVanishingOps[] = {"TPUReplicateMetadata", "TPUCompilationResult",
                                              "TPUOrdinalSelector"};

template <class List>
bool Contains(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

template <class... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(Code::kData, fmt::format(format, std::forward<Args>(args)...));
}

using NodeIndex = std::unordered_map<std::string_view, const pb::NodeDef*>;

// The views point into the GraphDef, which outlives the inliner.
NodeIndex IndexNodes(const google::protobuf::RepeatedPtrField<pb::NodeDef>& nodes) {
  NodeIndex index;
  for (const pb::NodeDef& node : nodes) {
    if (!index.emplace(node.name(), &node).second) Fail("two nodes are called '{}'", node.name());
  }
  return index;
}

// The graph itself, or one call of a function.
struct Frame {
  Frame* caller = nullptr;
  const pb::NodeDef* call = nullptr;
  const pb::FunctionDef* function = nullptr;
  const NodeIndex* nodes = nullptr;
  std::unordered_map<std::string_view, int> arguments;  // name to position
  std::string prefix;                                   // of its nodes' names
  std::vector<std::string> controls;                    // flat: what must run before the call
  int depth = 0;
};

// A node of a frame and one of its outputs, or a fed tensor.
struct Source {
  Frame* frame = nullptr;
  const pb::NodeDef* node = nullptr;
  int index = 0;
  std::string fed;  // "node:1"
};

int64_t NumberOf(const pb::NodeDef& node, const std::string& attr) {
  const auto found = node.attr().find(attr);
  return found == node.attr().end() ? 1 : found->second.i();
}

// The tensors of an argument: how many a list attribute or an int attribute says, else one.
int64_t SizeOfArg(const pb::NodeDef& node, const ArgDef& arg) {
  if (!arg.type_list_attr.empty()) {
    const auto found = node.attr().find(arg.type_list_attr);
    return found == node.attr().end() ? 0 : found->second.list().type_size();
  }
  return arg.number_attr.empty() ? 1 : NumberOf(node, arg.number_attr);
}

// The call ops hold their function in the attribute "f".
const std::string& FunctionName(const pb::NodeDef& node) {
  const auto found = node.attr().find("f");
  static const std::string none;
  return found == node.attr().end() ? none : found->second.func().name();
}

// Input `position` of the call that the frame is of. A TPUPartitionedCall's last input is the
// number of the core; it is past the function's arguments.
std::string_view CallInput(const Frame& frame, int position) {
  int at = 0;
  for (const std::string& input : frame.call->input()) {
    if (input.starts_with('^')) continue;
    if (at++ == position) return input;
  }
  Fail("node '{}' calls the function '{}' with {} inputs, expected {}", frame.call->name(),
       frame.function->signature().name(), at, frame.arguments.size());
}

// `ret` maps the name of an output to a tensor of the body ("MatMul:product:0").
std::string_view Returned(const Frame& frame, int index) {
  const auto& outputs = frame.function->signature().output_arg();
  if (index < 0 || index >= outputs.size()) {
    Fail("node '{}' calls the function '{}', which has no output {}", frame.call->name(),
         frame.function->signature().name(), index);
  }
  const auto found = frame.function->ret().find(outputs[index].name());
  if (found == frame.function->ret().end()) {
    Fail("function '{}' does not define its output '{}'", frame.function->signature().name(),
         outputs[index].name());
  }
  return found->second;
}

// The placing ops have one input a replica, of which only one is read here; IdentityN's output i
// is its input i.
std::string_view PassedOn(const pb::NodeDef& node, int index) {
  const bool placing = node.op() != "IdentityN";
  int at = 0;
  for (const std::string& input : node.input()) {
    if (input.starts_with('^')) continue;
    if (placing && at > 0) break;
    if (at++ == index) return input;
  }
  if (placing &&
      (index > 0 || NumberOf(node, node.op() == "TPUReplicatedInput" ? "N" : "num_replicas") > 1)) {
    Fail("node '{}' ({}) has more than one replica, which tpuest does not read", node.name(),
         node.op());
  }
  Fail("node '{}' ({}) has no input {}", node.name(), node.op(), index);
}

// Attributes of a function's nodes may be the call's ("T: $T"): they are found in the call itself
// where its op is the function's name, else in the attribute "f".
void FillPlaceholders(const Frame& frame, pb::NodeDef& out) {
  for (auto& [name, value] : *out.mutable_attr()) {
    if (value.value_case() != pb::AttrValue::kPlaceholder) continue;
    const auto& direct = frame.call->attr();
    const auto f = direct.find("f");
    const auto& given = f == direct.end() ? direct : f->second.func().attr();
    const auto found = given.find(value.placeholder());
    if (found == given.end()) {
      Fail("node '{}': attribute {} refers to '{}' of the call, which does not have it", out.name(),
           name, value.placeholder());
    }
    const pb::AttrValue copy = found->second;
    value = copy;
  }
}

// Knows the functions and the ops that nodes may call, and makes the frames of calls.
class Library {
 public:
  // Both outlive it.
  Library(const pb::GraphDef& def, const OpRegistry& registry) : registry_(registry) {
    for (const pb::FunctionDef& function : def.library().function()) {
      functions_.emplace(function.signature().name(), &function);
    }
  }

  [[nodiscard]] bool IsCall(const pb::NodeDef& node) const {
    return Contains(kCallOps, node.op()) || functions_.contains(node.op());
  }

  // The frame of a call, but for what the call itself waits for.
  std::unique_ptr<Frame> MakeFrame(Frame& caller, const pb::NodeDef& call) {
    const bool direct = functions_.contains(call.op());
    const std::string& name = direct ? call.op() : FunctionName(call);
    const auto found = functions_.find(name);
    if (found == functions_.end()) {
      Fail("node '{}' calls the function '{}', which is not in the graph's library", call.name(),
           name);
    }
    const pb::FunctionDef* const function = found->second;
    for (const Frame* above = &caller; above != nullptr; above = above->caller) {
      if (above->function == function) {
        Fail("node '{}' calls the function '{}' recursively", call.name(), name);
      }
    }
    ++frames_;
    if (caller.depth == kMaxDepth || frames_ > kMaxNodes) {
      Fail("node '{}': function calls are nested too deep, or too many", call.name());
    }
    auto frame = std::make_unique<Frame>();
    frame->caller = &caller;
    frame->call = &call;
    frame->function = function;
    frame->depth = caller.depth + 1;
    frame->prefix = caller.prefix + call.name() + "/";
    // The index of a function is shared by all calls of it.
    NodeIndex& index = nodes_[function];
    if (index.empty()) index = IndexNodes(function->node_def());
    frame->nodes = &index;
    int position = 0;
    for (const auto& arg : function->signature().input_arg()) {
      if (!arg.number_attr().empty() || !arg.type_list_attr().empty()) {
        Fail("function '{}': argument '{}' is a list of tensors", name, arg.name());
      }
      frame->arguments[arg.name()] = position++;
    }
    frame->controls = caller.controls;
    return frame;
  }

  // The position among a node's outputs; "argument:i" by its op's definition, and by the function's
  // where it calls one. `reader` reads `text`, for errors.
  [[nodiscard]] int OutputIndex(const pb::NodeDef& node, const TensorName& name,
                                std::string_view text, const std::string& reader) const {
    if (name.index < 0) Fail("node '{}' reads '{}', which does not name an output", reader, text);
    if (name.argument.empty()) return name.index;
    if (functions_.contains(node.op())) {
      const auto& outputs = functions_.at(node.op())->signature().output_arg();
      for (int i = 0; i < outputs.size(); ++i) {
        if (outputs[i].name() == name.argument) return i;
      }
      Fail("node '{}' reads '{}', which '{}' does not return", reader, text, node.op());
    }
    const RegisteredOp* const op = registry_.Find(node.op());
    // The op is taken to have one list of outputs; it is refused by name where it is needed.
    if (op == nullptr) return name.index;
    int64_t offset = 0;
    for (const ArgDef& arg : op->signature.outputs) {
      if (arg.name == name.argument) return static_cast<int>(offset) + name.index;
      offset += SizeOfArg(node, arg);
    }
    Fail("node '{}' reads '{}', but {} has no output '{}'", reader, text, node.op(), name.argument);
  }

 private:
  const OpRegistry& registry_;
  std::unordered_map<std::string_view, const pb::FunctionDef*> functions_;
  std::map<const pb::FunctionDef*, NodeIndex> nodes_;
  size_t frames_ = 0;  // made
};

// Walks the frames from what is wanted, and writes the result.
class Inliner {
 public:
  Inliner(const pb::GraphDef& def, const OpRegistry& registry, const InlineRequest& request)
      : def_(def), registry_(registry), request_(request), library_(def, registry) {
    result_.graph = std::make_shared<pb::GraphDef>();
    main_nodes_ = IndexNodes(def.node());
    main_.nodes = &main_nodes_;
    for (const pb::NodeDef& node : def.node()) taken_.Unique(node.name());
  }

  InlinedGraph Run() {
    for (const std::string& wanted : request_.wanted) {
      const std::string flat =
          wanted.starts_with('^') ? ControlOf(wanted) : DataInput(main_, wanted);
      result_.wanted.push_back(flat);
    }
    if (request_.wanted.empty()) NeedAll();
    while (!open_.empty()) {
      const auto [frame, node] = open_.front();
      open_.pop_front();
      Emit(*frame, *node);
    }
    return std::move(result_);
  }

 private:
  using Key = std::pair<const Frame*, const pb::NodeDef*>;
  using Output = std::tuple<const Frame*, const pb::NodeDef*, int>;

  // A call is asked for as what it runs: its frame's nodes, not itself.
  void NeedAll() {
    for (const pb::NodeDef& node : def_.node()) {
      if (library_.IsCall(node)) {
        for (const std::string& control : Controls(main_, "^" + node.name())) (void)control;
      } else if (!Contains(kPassOps, node.op()) && !Contains(kVanishingOps, node.op())) {
        (void)FlatName(main_, node);
      }
    }
  }

  // A node that was asked for by itself; a call's stands for the last of what it runs.
  std::string ControlOf(const std::string& wanted) {
    const std::vector<std::string> controls = Controls(main_, wanted);
    return controls.empty() ? std::string() : controls.back();
  }

  // The frame of a call; made once.
  Frame& FrameOf(Frame& caller, const pb::NodeDef& call) {
    std::unique_ptr<Frame>& frame = frames_[{&caller, &call}];
    if (frame != nullptr) return *frame;
    frame = library_.MakeFrame(caller, call);
    Frame& made = *frame;
    for (const std::string& input : call.input()) {
      if (!input.starts_with('^')) continue;
      for (std::string& control : Controls(caller, input)) made.controls.push_back(control);
    }
    return made;
  }

  // The node's output that a data input stands for, through arguments, calls and ops that pass on.
  // What was met on the way is remembered, so that a long way is gone once.
  Source Resolve(Frame& frame, std::string_view input) {
    Frame* at = &frame;
    std::string_view text = input;
    std::vector<Output> met;
    for (size_t steps = 0; steps < kMaxNodes; ++steps) {
      const TensorName name = ParseTensorName(text);
      if (at == &main_ && IsFed(name)) {
        return Remembered(met, {at, nullptr, 0, TensorText(name.node, name.index)});
      }
      if (at->function != nullptr && name.argument.empty()) {
        if (const auto argument = at->arguments.find(name.node); argument != at->arguments.end()) {
          text = CallInput(*at, argument->second);
          at = at->caller;
          continue;
        }
      }
      const auto found = at->nodes->find(name.node);
      if (found == at->nodes->end()) {
        Fail("node '{}' reads '{}', which is not a node of the graph", reader_, text);
      }
      const pb::NodeDef& node = *found->second;
      const int index = library_.OutputIndex(node, name, text, reader_);
      const bool is_call = library_.IsCall(node);
      if (!is_call && !Contains(kPassOps, node.op()))
        return Remembered(met, {at, &node, index, {}});
      met.emplace_back(at, &node, index);
      if (const auto known = behind_.find(met.back()); known != behind_.end()) {
        return Remembered(met, known->second);
      }
      if (is_call) {
        Frame& inner = FrameOf(*at, node);
        text = Returned(inner, index);
        at = &inner;
      } else {
        text = PassedOn(node, index);
      }
    }
    Fail("node '{}' depends on itself", reader_);
  }

  Source Remembered(const std::vector<Output>& met, const Source& source) {
    for (const Output& output : met) behind_.try_emplace(output, source);
    return source;
  }

  [[nodiscard]] bool IsFed(const TensorName& name) const {
    return !name.control && request_.fed.contains(fmt::format("{}:{}", name.node, name.index));
  }

  // The flat nodes that "^node" of a frame stands for.
  std::vector<std::string> Controls(Frame& frame, const std::string& input) {
    std::vector<std::string> flat;
    std::vector<std::pair<Frame*, std::string>> open = {{&frame, input.substr(1)}};
    std::set<std::pair<const Frame*, std::string>> seen;
    while (!open.empty()) {
      const auto [at, name] = std::move(open.back());
      open.pop_back();
      if (!seen.insert({at, name}).second) continue;
      ControlsOf(*at, name, open, flat);
    }
    return flat;
  }

  // One step of Controls: adds what `name` stands for to `open`, or, where it is a node that stays,
  // to `flat`. An argument stands for the node behind the call's input.
  void ControlsOf(Frame& frame, const std::string& name,
                  std::vector<std::pair<Frame*, std::string>>& open,
                  std::vector<std::string>& flat) {
    if (frame.function != nullptr) {
      if (const auto argument = frame.arguments.find(name); argument != frame.arguments.end()) {
        const std::string_view given = CallInput(frame, argument->second);
        open.emplace_back(frame.caller, ParseTensorName(given).node);
        return;
      }
    }
    if (&frame == &main_ && request_.fed.contains(name + ":0")) return;
    const auto found = frame.nodes->find(name);
    if (found == frame.nodes->end()) {
      Fail("node '{}' waits for '{}', which is not a node of the graph", reader_, name);
    }
    const pb::NodeDef& node = *found->second;
    if (Contains(kVanishingOps, node.op())) return;
    if (Contains(kPassOps, node.op())) {
      for (const std::string& input : node.input()) {
        open.emplace_back(&frame, std::string(ParseTensorName(input).node));
      }
    } else if (library_.IsCall(node)) {
      Frame& inner = FrameOf(frame, node);
      for (const auto& [key, value] : inner.function->control_ret())
        open.emplace_back(&inner, value);
      for (const auto& [key, value] : inner.function->ret()) {
        open.emplace_back(&inner, std::string(ParseTensorName(value).node));
      }
    } else {
      flat.push_back("^" + FlatName(frame, node));
    }
  }

  // The node's name in the result; asks for it.
  const std::string& FlatName(Frame& frame, const pb::NodeDef& node) {
    const auto [where, is_new] = names_.try_emplace({&frame, &node});
    if (!is_new) return where->second;
    where->second = &frame == &main_ ? node.name() : taken_.Unique(frame.prefix + node.name());
    if (names_.size() > kMaxNodes) Fail("the graph's functions expand to too many nodes");
    open_.emplace_back(&frame, &node);
    return where->second;
  }

  std::string DataInput(Frame& frame, const std::string& input) {
    const Source source = Resolve(frame, input);
    if (source.node == nullptr) return source.fed;
    return TensorText(FlatName(*source.frame, *source.node), source.index);
  }

  void Emit(Frame& frame, const pb::NodeDef& node) {
    reader_ = FlatName(frame, node);
    pb::NodeDef& out = *result_.graph->add_node();
    out.set_name(reader_);
    out.set_op(node.op());
    *out.mutable_attr() = node.attr();
    if (frame.function != nullptr) FillPlaceholders(frame, out);
    std::vector<std::string> controls;
    for (const std::string& input : node.input()) {
      if (!input.starts_with('^')) {
        out.add_input(DataInput(frame, input));
        continue;
      }
      for (std::string& control : Controls(frame, input)) controls.push_back(std::move(control));
    }
    const RegisteredOp* const op = registry_.Find(node.op());
    if (op == nullptr || (op->def->stateful && op->def->source != ValueSource::kVariable)) {
      controls.insert(controls.end(), frame.controls.begin(), frame.controls.end());
    }
    std::unordered_set<std::string_view> seen;
    for (const std::string& control : controls) {
      if (seen.insert(control).second) out.add_input(control);
    }
  }

  const pb::GraphDef& def_;
  const OpRegistry& registry_;
  const InlineRequest& request_;
  Library library_;
  NodeIndex main_nodes_;
  Frame main_;
  std::map<Key, std::unique_ptr<Frame>> frames_;
  std::map<Output, Source> behind_;  // outputs of calls and of ops that pass on
  std::map<Key, std::string> names_;
  NodeNames taken_;
  std::deque<std::pair<Frame*, const pb::NodeDef*>> open_;
  std::string reader_ = "the signature";  // whose inputs are followed, for errors
  InlinedGraph result_;
};

}  // namespace

InlinedGraph InlineFunctions(const pb::GraphDef& def, const OpRegistry& registry,
                             const InlineRequest& request) {
  return Inliner(def, registry, request).Run();
}

}  // namespace tpuest
