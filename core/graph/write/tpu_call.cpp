// Writes what runs on a TPU as a function, and the call of it, as TensorFlow's exports have them.
//
// In: a graph, the nodes that are in the cluster (tpu_cluster.cpp), the inputs and results of the
// computation. Out: in the GraphDef the call, in its library the function; and what the call reads.
//
//   y = MatMul(x, w), api_version 1:
//
//   graph      w (handle), x, TPUOrdinalSelector ─▶ TPUPartitionedCall ─▶ y
//   function   matmul_readvariableop_placeholder ─▶ MatMul/ReadVariableOp ─┐
//              matmul_placeholder ─────────────────────────────────────────┴▶ MatMul
//              MatMul ─▶ Identity ─▶ output0 ─▶ output_0_shard_0_0 ─▶ returned
//
// A node of the body goes on reading other nodes of the body under their names there
// ("MatMul:product:0"). What it reads from outside comes in by one of three ways:
//   - a variable's value: the handle becomes an argument (once), and each reader gets a
//     ReadVariableOp of its own, "<reader>/ReadVariableOp";
//   - a constant: it is written again inside (once);
//   - anything else: it becomes an argument, "<reader>_placeholder", and with api_version 2 all
//     inputs do first, each behind a TPUReplicatedInput "input<i>".
// With a BatchConfig the graph calls a BatchFunction, whose own function makes the call on what a
// server has gathered: the inputs among the arguments are batched, the others captured.
//
// What holds then:
//   - The arguments are in the order in which the body first needs them, a node's variables before
//     its other inputs; TpuCall::captured has the values in the same order.
//   - Every node of the cluster carries _tpu_replicate and follows, through its inputs or a control
//     input, TPUReplicateMetadata; host ops inside carry _xla_outside_compilation too.
//   - A function's name follows from its content, so the same graph gives the same bytes.

#include "core/graph/write/tpu_call.h"

#include <algorithm>

#include "core/graph/tensor_name.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/kernels/fingerprint.h"

namespace tpuest {
namespace {

constexpr const char* kCluster = "cluster";
constexpr const char* kMetadata = "TPUReplicateMetadata";
constexpr std::string_view kCore = "/device:TPU_REPLICATED_CORE:0";

// TensorFlow's form of a function's argument: lower case, and "_" for all that is no letter or
// digit.
std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits) c = '_';
  }
  return text;
}

// Eleven letters and digits that follow from the text.
std::string HashName(const std::string& text) {
  constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  uint64_t hash = Fingerprint64(text);
  std::string name;
  for (int i = 0; i < 11; ++i, hash /= kDigits.size()) name += kDigits[hash % kDigits.size()];
  return name;
}

// "conv2d/Relu:activations:0": how a function's body names an output.
std::string BodyName(const Value& value) {
  const Node& node = *value.node;
  int first = 0;
  for (const ArgDef& arg : node.signature().outputs) {
    int count = 1;
    if (!arg.number_attr.empty()) count = static_cast<int>(node.Attr<int64_t>(arg.number_attr));
    if (!arg.type_list_attr.empty()) {
      count = static_cast<int>(node.Attr<std::vector<DType>>(arg.type_list_attr).size());
    }
    if (value.index < first + count) {
      return fmt::format("{}:{}:{}", node.name(), arg.name, value.index - first);
    }
    first += count;
  }
  Check(false, "'{}' has no output {}", node.name(), value.index);
  return "";
}

// TensorFlow's rewrite passes (distributed_tpu_rewrite_pass.cc) find a computation by these marks.
void SetBool(pb::NodeDef& node, const char* attr) { (*node.mutable_attr())[attr].set_b(true); }
void SetCluster(pb::NodeDef& node) { (*node.mutable_attr())["_tpu_replicate"].set_s(kCluster); }

// Writes the function that a TPU runs.
class BodyWriter {
 public:
  BodyWriter(const Graph& graph, const TpuInference& spec, const TpuCluster& cluster,
             bool strip_default_attrs)
      : graph_(graph), spec_(spec), cluster_(cluster), strip_(strip_default_attrs) {
    for (const auto& node : graph.nodes()) {
      if (cluster.inside[static_cast<size_t>(node->id())]) names_.Unique(node->name());
    }
  }

  // Adds the function to the library and returns its name, which comes last: it is a hash of all
  // that was written before.
  std::string Run(pb::FunctionDefLibrary& library) {
    AddMetadata();
    if (spec_.api_version == 2) AddInputs();
    for (const auto& node : graph_.nodes()) {
      if (cluster_.inside[static_cast<size_t>(node->id())]) AddNode(*node);
    }
    AddResults();
    pb::OpDef& signature = *function_.mutable_signature();
    signature.set_is_stateful(true);
    (*function_.mutable_attr())["_disable_call_shape_inference"].set_b(true);
    const char* const base = spec_.api_version == 2 ? "tpu_computation_" : "tpu_subgraph_";
    signature.set_name(base + HashName(ToBytes(function_)));
    *library.add_function() = function_;
    return signature.name();
  }
  // The arguments, in order.
  [[nodiscard]] const std::vector<Value>& captured() const { return captured_; }

 private:
  pb::NodeDef& Write(NodeText node) {
    node.name = names_.Unique(node.name);
    pb::NodeDef& def = *function_.add_node_def();
    WriteNode(node, def);
    return def;
  }

  // The pivot is the node that the whole cluster waits for: a node without inputs hangs on it
  // through TPUReplicateMetadata.
  void AddMetadata() {
    pb::NodeDef& pivot = Write({.op = "NoOp", .name = "cluster/pivot"});
    (*pivot.mutable_attr())["_pivot_for_cluster"].set_s(kCluster);
    SetCluster(
        Write({.op = kMetadata,
               .name = kMetadata,
               .inputs = {"^cluster/pivot"},
               .attrs = {{"num_replicas", int64_t{1}}, {"use_spmd_for_xla_partitioning", true}}}));
  }

  // Each input, as an argument that every replica (there is one) gets its own of.
  void AddInputs() {
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      const Value value = spec_.inputs[i];
      const std::string argument = Capture(value, fmt::format("input{}_placeholder", i));
      const pb::NodeDef& input = Write({.op = "TPUReplicatedInput",
                                        .name = fmt::format("input{}", i),
                                        .inputs = {argument},
                                        .attrs = {{"N", int64_t{1}}, {"T", value.dtype()}}});
      pb::NodeDef& identity =
          Write({.op = "Identity",
                 .name = fmt::format("replicated_input_{}", i),
                 .inputs = {input.name() + ":output:0", fmt::format("^{}", kMetadata)},
                 .attrs = {{"T", value.dtype()}}});
      SetBool(identity, "_tpu_input_identity");
      SetCluster(identity);
      tensors_[value] = identity.name() + ":output:0";
    }
  }

  // The name of an argument that holds the value.
  std::string Capture(const Value& value, const std::string& wanted) {
    std::string name = arguments_.Unique(wanted);
    pb::OpDef::ArgDef& arg = *function_.mutable_signature()->add_input_arg();
    arg.set_name(name);
    arg.set_type(TypeOf(value.dtype()));
    if (value.dtype() != DType::kResource) {
      auto& attrs =
          *(*function_.mutable_arg_attr())[static_cast<uint32_t>(captured_.size())].mutable_attr();
      ToProto(value.shape(), *attrs["_output_shapes"].mutable_list()->add_shape());
    }
    captured_.push_back(value);
    tensors_[value] = name;
    return name;
  }

  // A variable's value is read separately for each node that uses it.
  std::string ReadFor(const std::string& reader, const Variable& variable) {
    const std::string read = names_.Unique(reader + "/ReadVariableOp");
    const auto known = tensors_.find(variable.handle);
    const std::string handle = known != tensors_.end()
                                   ? known->second
                                   : Capture(variable.handle, Lower(read) + "_placeholder");
    pb::NodeDef& def = *function_.add_node_def();
    WriteNode({.op = "ReadVariableOp",
               .name = read,
               .inputs = {handle, fmt::format("^{}", kMetadata)},
               .attrs = {{"dtype", variable.dtype}}},
              def);
    SetCluster(def);
    return read + ":value:0";
  }

  // A constant that was passed in as an argument could not be folded on the TPU, so it is copied.
  std::string ConstFor(const Node& constant) {
    pb::NodeDef& def = *function_.add_node_def();
    tpuest::WriteNode(constant, def);
    def.set_name(names_.Unique(constant.name()));
    def.clear_input();
    def.add_input(fmt::format("^{}", kMetadata));
    SetCluster(def);
    return def.name() + ":output:0";
  }

  // The name of what a node of the body reads for the value.
  std::string Input(const std::string& reader, const Value& value) {
    if (const auto known = tensors_.find(value); known != tensors_.end()) return known->second;
    if (cluster_.inside[static_cast<size_t>(value.node->id())]) return BodyName(value);
    if (value.node->op().source == ValueSource::kRead) {
      if (const Variable* const variable = graph_.VariableOf(value)) {
        return ReadFor(reader, *variable);
      }
    }
    if (value.node->op().source == ValueSource::kConstant) {
      return tensors_[value] = ConstFor(*value.node);
    }
    return Capture(value, Lower(reader) + "_placeholder");
  }

  void AddNode(const Node& node) {
    pb::NodeDef def;
    tpuest::WriteNode(node, def);
    if (strip_) StripDefaultAttrs(node, def);
    def.clear_input();
    // True once an input or a control input is a node of the body; otherwise the node gets a
    // control input from TPUReplicateMetadata.
    bool follows_body = false;
    std::vector<std::string> inputs(node.inputs().size());
    // Variables are read first: in TensorFlow a layer's reads come before what it computes.
    for (const bool reads : {true, false}) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const Value& input = node.inputs()[i];
        const bool of_variable = graph_.VariableOf(input) != nullptr;
        if (of_variable != reads) continue;
        inputs[i] = Input(node.name(), input);
        follows_body |= of_variable || input.node->op().source == ValueSource::kConstant ||
                        cluster_.inside[static_cast<size_t>(input.node->id())] != 0;
      }
    }
    for (const std::string& input : inputs) def.add_input(input);
    for (const Node* const control : node.control_inputs()) {
      if (!cluster_.inside[static_cast<size_t>(control->id())]) continue;
      def.add_input("^" + control->name());
      follows_body = true;
    }
    if (!follows_body) def.add_input(fmt::format("^{}", kMetadata));
    SetCluster(def);
    if (cluster_.outside_compiled[static_cast<size_t>(node.id())]) {
      (*def.mutable_attr())["_xla_outside_compilation"].set_s("0");
    }
    *function_.add_node_def() = std::move(def);
  }

  // The NoOp that all results wait for stands for updates; an inference has none, but the rewrite
  // expects it.
  void AddResults() {
    pb::NodeDef& last = Write({.op = "NoOp", .name = "NoOp", .inputs = {"^cluster/pivot"}});
    SetCluster(last);
    const std::string after = "^" + last.name();
    pb::NodeDef& status = Write({.op = "TPUCompilationResult",
                                 .name = "TPUCompilationResult",
                                 .inputs = {fmt::format("^{}", kMetadata)}});
    (*status.mutable_attr())["_tpu_compilation_status"].set_s(kCluster);
    for (size_t i = 0; i < spec_.results.size(); ++i) AddResult(i, after);
  }

  // Three nodes a result, as TensorFlow's tpu.rewrite writes them: on the core, out of the replica,
  // on the host.
  void AddResult(size_t i, const std::string& after) {
    const Value value = spec_.results[i];
    const DType dtype = value.dtype();
    pb::NodeDef& identity = Write({.op = "Identity",
                                   .name = "Identity",
                                   .inputs = {Input("Identity", value)},
                                   .attrs = {{"T", dtype}},
                                   .device = kCore});
    SetBool(identity, "_tpu_output_identity");
    SetCluster(identity);
    const pb::NodeDef& output = Write({.op = "TPUReplicatedOutput",
                                       .name = fmt::format("output{}", i),
                                       .inputs = {identity.name() + ":output:0"},
                                       .attrs = {{"num_replicas", int64_t{1}}, {"T", dtype}}});
    const pb::NodeDef& shard = Write({.op = "Identity",
                                      .name = fmt::format("output_{}_shard_0_0", i),
                                      .inputs = {output.name() + ":outputs:0", after},
                                      .attrs = {{"T", dtype}}});
    const std::string result = fmt::format("output_{}_shard_0", i);
    pb::OpDef::ArgDef& arg = *function_.mutable_signature()->add_output_arg();
    arg.set_name(result);
    arg.set_type(TypeOf(dtype));
    (*function_.mutable_ret())[result] = shard.name() + ":output:0";
  }

  const Graph& graph_;
  const TpuInference& spec_;
  const TpuCluster& cluster_;
  const bool strip_;
  pb::FunctionDef function_;
  NodeNames names_;
  NodeNames arguments_;
  std::vector<Value> captured_;
  std::map<Value, std::string> tensors_;
};

// Names and dtypes of a call's inputs and results go into its attributes.
std::vector<DType> TypesOf(const std::vector<Value>& values) {
  std::vector<DType> types;
  for (const Value& value : values) types.push_back(value.dtype());
  return types;
}

std::vector<std::string> ResultNames(const std::string& node, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    names.push_back(TensorText(node, static_cast<int>(i)));
  }
  return names;
}

std::vector<std::pair<std::string, AttrValue>> CallAttrs(const std::string& function,
                                                         const std::vector<Value>& arguments,
                                                         const std::vector<Value>& results) {
  return {{"Tin", TypesOf(arguments)}, {"Tout", TypesOf(results)}, {"f", FunctionRef{function}}};
}

// The function of a BatchFunction: the call on a batch of requests.
std::string WriteBatchedCall(const std::string& function, const std::vector<Value>& arguments,
                             const std::vector<Value>& results, const std::vector<Value>& inputs,
                             pb::FunctionDefLibrary& library) {
  pb::FunctionDef batched;
  pb::OpDef& signature = *batched.mutable_signature();
  signature.set_is_stateful(true);
  NodeNames names;
  std::map<Value, std::string> given;
  const auto add = [&](const Value& value, const std::string& wanted) {
    pb::OpDef::ArgDef& arg = *signature.add_input_arg();
    arg.set_name(names.Unique(wanted));
    arg.set_type(TypeOf(value.dtype()));
    given[value] = arg.name();
  };
  for (size_t i = 0; i < inputs.size(); ++i) add(inputs[i], fmt::format("batch_{}", i));
  for (const Value& value : arguments) {
    if (!given.contains(value)) add(value, "tpupartitionedcall_" + Lower(value.name()));
  }
  WriteNode({.op = "TPUOrdinalSelector", .name = "TPUOrdinalSelector"}, *batched.add_node_def());
  NodeText call{.op = "TPUPartitionedCall",
                .name = "TPUPartitionedCall",
                .attrs = CallAttrs(function, arguments, results)};
  for (const Value& value : arguments) call.inputs.push_back(given.at(value));
  call.inputs.emplace_back("TPUOrdinalSelector:device_ordinals:0");
  WriteNode(call, *batched.add_node_def());
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string suffix = i == 0 ? "" : fmt::format("_{}", i);
    WriteNode({.op = "Identity",
               .name = "Identity" + suffix,
               .inputs = {fmt::format("TPUPartitionedCall:output:{}", i), "^NoOp"},
               .attrs = {{"T", results[i].dtype()}}},
              *batched.add_node_def());
    pb::OpDef::ArgDef& arg = *signature.add_output_arg();
    arg.set_name("identity" + suffix);
    arg.set_type(TypeOf(results[i].dtype()));
    (*batched.mutable_ret())[arg.name()] = fmt::format("Identity{}:output:0", suffix);
  }
  WriteNode({.op = "NoOp", .name = "NoOp", .inputs = {"^TPUOrdinalSelector"}},
            *batched.add_node_def());
  signature.add_control_output("TPUOrdinalSelector");
  (*batched.mutable_control_ret())["TPUOrdinalSelector"] = "TPUOrdinalSelector";
  signature.set_name("__inference_computation_" + HashName(ToBytes(batched)));
  *library.add_function() = batched;
  return signature.name();
}

}  // namespace

TpuCall WriteTpuCall(const Graph& graph, const TpuInference& spec, const TpuCluster& cluster,
                     bool strip_default_attrs, NodeNames& names, pb::GraphDef& def) {
  pb::FunctionDefLibrary& library = *def.mutable_library();
  BodyWriter body(graph, spec, cluster, strip_default_attrs);
  const std::string function = body.Run(library);
  const std::vector<Value>& arguments = body.captured();
  if (!spec.batch_config || spec.batch_config->max_batch_size == 0) {
    const std::string ordinal = names.Unique("TPUOrdinalSelector");
    WriteNode({.op = "TPUOrdinalSelector", .name = ordinal}, *def.add_node());
    NodeText call{.op = "TPUPartitionedCall",
                  .name = names.Unique("TPUPartitionedCall"),
                  .attrs = CallAttrs(function, arguments, spec.results)};
    for (const Value& value : arguments) call.inputs.push_back(value.name());
    call.inputs.push_back(ordinal);
    WriteNode(call, *def.add_node());
    return {ResultNames(call.name, spec.results.size()), arguments};
  }
  // BatchFunction takes what a request brings first, in the order of TpuInference::inputs, then
  // what it captures. An input that the computation does not read is no argument of the body, and
  // none here.
  std::vector<Value> inputs;
  std::vector<Value> others;
  for (const Value& value : spec.inputs) {
    if (std::find(arguments.begin(), arguments.end(), value) != arguments.end()) {
      inputs.push_back(value);
    }
  }
  for (const Value& value : arguments) {
    if (std::find(inputs.begin(), inputs.end(), value) == inputs.end()) others.push_back(value);
  }
  const BatchConfig& batch = *spec.batch_config;
  const std::string name = names.Unique("batch/BatchFunction");
  NodeText call{
      .op = "BatchFunction",
      .name = name,
      .attrs = {
          {"f", FunctionRef{WriteBatchedCall(function, arguments, spec.results, inputs, library)}},
          {"num_batch_threads", batch.num_batch_threads},
          {"max_batch_size", batch.max_batch_size},
          {"batch_timeout_micros", batch.batch_timeout_micros},
          {"max_enqueued_batches", batch.max_enqueued_batches},
          {"allowed_batch_sizes", batch.allowed_batch_sizes},
          {"enable_large_batch_splitting", true},
          {"shared_name", std::string("batch/")},
          {"Tin", TypesOf(inputs)},
          {"Tcaptured", TypesOf(others)},
          {"Tout", TypesOf(spec.results)}}};
  for (const Value& value : inputs) call.inputs.push_back(value.name());
  for (const Value& value : others) call.inputs.push_back(value.name());
  WriteNode(call, *def.add_node());
  return {ResultNames(name, spec.results.size()), arguments};
}

}  // namespace tpuest
