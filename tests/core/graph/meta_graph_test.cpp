// The contents of a SavedModel's meta graphs: signatures, saver, collections, the call of a TPU.

#include "core/graph/write/meta_graph.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/ops/all_ops.h"
#include "core/ops/array.h"
#include "core/ops/bias.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/lookup.h"
#include "core/ops/matmul.h"
#include "core/ops/replica_rows.h"
#include "core/ops/strings.h"

namespace tpuest {
namespace {

const OpRegistry& AllOps() {
  static const OpRegistry registry(ops::AllOps());
  return registry;
}

// logits = x kernel + bias, with the classes' names in an AfterScope.
struct Dense {
  Graph graph{AllOps()};
  Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 4}, "x");
  Value logits;
  Value classes;

  Dense() {
    const Variable* const kernel = graph.AddVariable(
        "d/kernel", DType::kFloat, {4, 3}, ops::Zeros(graph, DType::kFloat, {4, 3}, "kernel_init"));
    const Variable* const bias = graph.AddVariable(
        "d/bias", DType::kFloat, {3}, ops::Zeros(graph, DType::kFloat, {3}, "bias_init"));
    graph.AddVariable("total", DType::kDouble, {}, graph.Scalar<double>(0.0, "total_init"),
                      {.trainable = false, .local = true});
    logits = ops::BiasAdd(ops::MatMul(x, kernel->value, {}, "d/MatMul"), bias->value, "d/BiasAdd");
    const AfterScope after(graph);
    classes = ops::AsString(ops::ArgMax(logits, -1, DType::kInt64), {}, "classes");
  }

  [[nodiscard]] MetaGraphSpec Spec() const {
    return {.graph = graph,
            .tags = {"serve"},
            .signatures = {{"serving_default",
                            {.method_name = "tensorflow/serving/predict",
                             .inputs = {{"x", x}},
                             .outputs = {{"logits", logits}, {"classes", classes}}}}},
            .strip_default_attrs = true,
            .reads_per_use = true};
  }
  [[nodiscard]] MetaGraphSpec TpuSpec(int api_version) const {
    MetaGraphSpec spec = Spec();
    spec.tags = {"serve", "tpu"};
    spec.tpu = TpuInference{.api_version = api_version, .inputs = {x}};
    return spec;
  }
};

pb::MetaGraphDef Written(const MetaGraphSpec& spec) {
  pb::MetaGraphDef meta;
  FromBytes(ToMetaGraphDef(spec), meta, "meta graph", Code::kData);
  return meta;
}

template <class Nodes>
const pb::NodeDef& Find(const Nodes& nodes, std::string_view name) {
  for (const pb::NodeDef& node : nodes) {
    if (node.name() == name) return node;
  }
  FAIL("there is no node ", name);
  return nodes.Get(0);
}

template <class Nodes>
std::multiset<std::string> OpsOf(const Nodes& nodes) {
  std::multiset<std::string> ops;
  for (const pb::NodeDef& node : nodes) ops.insert(node.op());
  return ops;
}

template <class Node>
std::vector<std::string> Inputs(const Node& node) {
  return {node.input().begin(), node.input().end()};
}

using Strings = std::vector<std::string>;

TEST_CASE("a meta graph has its variables in TensorFlow's collections") {
  const Dense model;
  const pb::MetaGraphDef meta = Written(model.Spec());
  const auto names = [&](const char* collection) {
    Strings found;
    const auto entry = meta.collection_def().find(collection);
    if (entry == meta.collection_def().end()) return found;
    for (const std::string& bytes : entry->second.bytes_list().value()) {
      pb::VariableDef variable;
      FromBytes(bytes, variable, "variable", Code::kData);
      CHECK(variable.is_resource());
      found.push_back(variable.variable_name());
    }
    return found;
  };
  CHECK(names("variables") == Strings{"d/kernel:0", "d/bias:0"});
  CHECK(names("trainable_variables") == Strings{"d/kernel:0", "d/bias:0"});
  CHECK(names("local_variables") == Strings{"total:0"});
  CHECK(names("metric_variables") == Strings{"total:0"});
  CHECK(names("global_step").empty());
  CHECK(meta.collection_def().at("saved_model_main_op").node_list().value(0) == "group_deps");
  CHECK(Inputs(Find(meta.graph_def().node(), "init")) == Strings{"^total/Assign"});
}

TEST_CASE("every use of a variable reads it, if requested") {
  const Dense model;
  MetaGraphSpec spec = model.Spec();
  const pb::MetaGraphDef each = Written(spec);
  CHECK(Inputs(Find(each.graph_def().node(), "d/MatMul")) ==
        Strings{"x", "d/MatMul/ReadVariableOp"});
  CHECK(Inputs(Find(each.graph_def().node(), "d/MatMul/ReadVariableOp")) == Strings{"d/kernel"});
  spec.reads_per_use = false;
  const pb::MetaGraphDef shared = Written(spec);
  CHECK(Inputs(Find(shared.graph_def().node(), "d/MatMul")) ==
        Strings{"x", "d/kernel/Read/ReadVariableOp"});
}

TEST_CASE("the saver restores each variable from the tensor of its name") {
  const Dense model;
  const pb::MetaGraphDef meta = Written(model.Spec());
  CHECK(meta.saver_def().restore_op_name() == "save/restore_all");
  CHECK(meta.saver_def().filename_tensor_name() == "save/Const:0");
  CHECK(meta.saver_def().save_tensor_name() == "save/Identity:0");
  const auto& nodes = meta.graph_def().node();
  const pb::NodeDef& names = Find(nodes, "save/RestoreV2/tensor_names");
  const Tensor tensor = FromProto(names.attr().at("value").tensor(), "names");
  CHECK(tensor.strings()[0] == "d/bias");
  CHECK(tensor.strings()[1] == "d/kernel");
  CHECK(tensor.elements() == 2);  // a local variable is not saved
  CHECK(Inputs(Find(nodes, "save/AssignVariableOp")) == Strings{"d/bias", "save/Identity_1"});
  CHECK(Inputs(Find(nodes, "save/Identity_2")) == Strings{"save/RestoreV2:1"});
}

TEST_CASE("attributes that hold their default are omitted, if requested") {
  const Dense model;
  MetaGraphSpec spec = model.Spec();
  const auto attrs = [&] {
    const pb::MetaGraphDef meta = Written(spec);
    CHECK(meta.meta_info_def().stripped_default_attrs() == spec.strip_default_attrs);
    return Find(meta.graph_def().node(), "d/MatMul").attr();
  };
  CHECK_FALSE(attrs().contains("transpose_a"));
  CHECK(attrs().contains("T"));
  spec.strip_default_attrs = false;
  CHECK(attrs().contains("transpose_a"));
}

TEST_CASE("version 1 wraps the model in one call and captures what it reads") {
  const Dense model;
  const pb::MetaGraphDef meta = Written(model.TpuSpec(1));
  const auto& nodes = meta.graph_def().node();
  const pb::NodeDef& call = Find(nodes, "TPUPartitionedCall");
  CHECK(Inputs(call) == Strings{"d/kernel", "x", "d/bias", "TPUOrdinalSelector"});
  CHECK(OpsOf(nodes).count("MatMul") == 0);
  REQUIRE(meta.graph_def().library().function_size() == 1);
  const pb::FunctionDef& function = meta.graph_def().library().function(0);
  CHECK(function.signature().name() == call.attr().at("f").func().name());
  CHECK(function.signature().name().starts_with("tpu_subgraph_"));
  CHECK(OpsOf(function.node_def()) ==
        std::multiset<std::string>{"BiasAdd", "Identity", "Identity", "MatMul", "NoOp", "NoOp",
                                   "ReadVariableOp", "ReadVariableOp", "TPUCompilationResult",
                                   "TPUReplicateMetadata", "TPUReplicatedOutput"});
  const pb::NodeDef& matmul = Find(function.node_def(), "d/MatMul");
  CHECK(Inputs(matmul) == Strings{"d_matmul_placeholder", "d/MatMul/ReadVariableOp:value:0"});
  CHECK(matmul.attr().at("_tpu_replicate").s() == "cluster");
  CHECK(meta.graph_def().versions().min_consumer() == 12);
}

TEST_CASE("strings stay outside the call") {
  const Dense model;
  const pb::MetaGraphDef meta = Written(model.TpuSpec(1));
  const auto& signature = meta.signature_def().at("serving_default");
  CHECK(signature.outputs().at("classes").name() == "classes:0");
  CHECK(signature.outputs().at("logits").name() == "TPUPartitionedCall:0");
  CHECK(Inputs(Find(meta.graph_def().node(), "ArgMax"))[0] == "TPUPartitionedCall");
}

TEST_CASE("version 2 passes its inputs, and a batch config batches requests") {
  const Dense model;
  MetaGraphSpec spec = model.TpuSpec(2);
  const pb::MetaGraphDef plain = Written(spec);
  CHECK(OpsOf(plain.graph_def().library().function(0).node_def()).count("TPUReplicatedInput") == 1);
  CHECK(OpsOf(plain.graph_def().node()).count("TPUPartitionedCall") == 1);

  spec.tpu->batch_config =
      BatchConfig{.num_batch_threads = 2, .max_batch_size = 64, .allowed_batch_sizes = {8, 64}};
  const pb::MetaGraphDef batched = Written(spec);
  const pb::NodeDef& call = Find(batched.graph_def().node(), "batch/BatchFunction");
  CHECK(Inputs(call) == Strings{"x", "d/kernel", "d/bias"});
  CHECK(call.attr().at("max_batch_size").i() == 64);
  CHECK(call.attr().at("allowed_batch_sizes").list().i_size() == 2);
  CHECK(OpsOf(batched.graph_def().node()).count("TPUPartitionedCall") == 0);
  REQUIRE(batched.graph_def().library().function_size() == 2);
  const pb::FunctionDef& gather = batched.graph_def().library().function(1);
  CHECK(gather.signature().name() == call.attr().at("f").func().name());
  CHECK(OpsOf(gather.node_def()) ==
        std::multiset<std::string>{"Identity", "NoOp", "TPUOrdinalSelector", "TPUPartitionedCall"});
}

TEST_CASE("a host op between ops of the device is compiled outside them") {
  Graph graph(AllOps());
  const Value x = graph.Placeholder(DType::kInt32, {kUnknownDim}, "x");
  const Variable* const shift =
      graph.AddVariable("shift", DType::kInt32, {}, graph.Scalar<int32_t>(0, "shift_init"));
  const Value moved = ops::AddV2(x, shift->value, "moved");
  const Value bucket = ops::StringToHashBucketFast(ops::AsString(moved, {}, "text"), 16, "bucket");
  const Value y = ops::Neg(ops::Cast(bucket, DType::kFloat), "y");
  const MetaGraphSpec spec{.graph = graph,
                           .tags = {"serve", "tpu"},
                           .signatures = {{"serving_default",
                                           {.method_name = "tensorflow/serving/predict",
                                            .inputs = {{"x", x}},
                                            .outputs = {{"y", y}}}}},
                           .tpu = TpuInference{.inputs = {x}}};
  const pb::MetaGraphDef meta = Written(spec);
  const auto& body = meta.graph_def().library().function(0).node_def();
  for (const char* const name : {"text", "bucket"}) {
    CHECK(Find(body, name).attr().at("_xla_outside_compilation").s() == "0");
  }
  CHECK_FALSE(Find(body, "y").attr().contains("_xla_outside_compilation"));
}

TEST_CASE("host ops before the device stay before the call") {
  Graph graph(AllOps());
  const Value words = graph.Placeholder(DType::kString, {kUnknownDim}, "words");
  const Value bucket = ops::StringToHashBucketFast(words, 16, "bucket");
  const Value y = ops::Neg(ops::Cast(bucket, DType::kFloat), "y");
  const MetaGraphSpec spec{.graph = graph,
                           .tags = {"serve", "tpu"},
                           .signatures = {{"serving_default",
                                           {.method_name = "tensorflow/serving/predict",
                                            .inputs = {{"words", words}},
                                            .outputs = {{"y", y}}}}},
                           .tpu = TpuInference{.inputs = {words}}};
  const pb::MetaGraphDef meta = Written(spec);
  CHECK(Inputs(Find(meta.graph_def().node(), "TPUPartitionedCall"))[0] == "bucket");
  CHECK(Inputs(Find(meta.graph_def().node(), "bucket")) == Strings{"words"});
}

// "cat" and "fox" by the sign of x, looked up after the device program.
struct Named {
  Graph graph{AllOps()};
  Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 2}, "x");
  Value names;

  Named() {
    const Value ids = ops::ArgMax(ops::Neg(x), -1, DType::kInt64, "ids");
    const AfterScope after(graph);
    names = ops::LookupVocabulary(ops::WordTable(graph, {"cat", "fox"}, "words"), ids);
    // Not part of any signature, so it is left out around a call.
    (void)ops::LookupVocabulary(ops::WordTable(graph, {"ape", "elk"}, "others"), ids);
  }

  [[nodiscard]] MetaGraphSpec Spec(std::optional<TpuInference> tpu) const {
    return {.graph = graph,
            .tags = {"serve"},
            .signatures = {{"serving_default",
                            {.method_name = "tensorflow/serving/predict",
                             .inputs = {{"x", x}},
                             .outputs = {{"names", names}}}}},
            .tpu = std::move(tpu)};
  }
};

TEST_CASE("tables are initialized by the op that a server runs once") {
  const Named model;
  const pb::MetaGraphDef meta = Written(model.Spec({}));
  CHECK(Inputs(Find(meta.graph_def().node(), "init_all_tables")) ==
        Strings{"^words/table_init/LookupTableImportV2", "^others/table_init/LookupTableImportV2"});
  const auto& tables = meta.collection_def().at("table_initializer").node_list();
  CHECK(tables.value_size() == 2);
  CHECK(Inputs(Find(meta.graph_def().node(), "group_deps")).back() == "^init_all_tables");
}

TEST_CASE("tables and their initializers stay outside the call") {
  for (const int version : {1, 2}) {
    const Named model;
    const pb::MetaGraphDef meta =
        Written(model.Spec(TpuInference{.api_version = version, .inputs = {model.x}}));
    const auto& nodes = meta.graph_def().node();
    CHECK(Inputs(Find(nodes, "init_all_tables")) ==
          Strings{"^words/table_init/LookupTableImportV2"});
    CHECK(OpsOf(nodes).count("HashTableV2") == 1);
    CHECK(OpsOf(nodes).count("LookupTableFindV2") == 1);
    CHECK(Inputs(Find(nodes, "hash_table_Lookup/LookupTableFindV2"))[1].starts_with(
        "TPUPartitionedCall"));
    for (const pb::FunctionDef& function : meta.graph_def().library().function()) {
      const std::multiset<std::string> ops = OpsOf(function.node_def());
      for (const char* const op : {"HashTableV2", "LookupTableFindV2", "LookupTableImportV2"}) {
        CHECK(ops.count(op) == 0);
      }
    }
  }
}

TEST_CASE("equal graphs give equal bytes") {
  const Dense a;
  const Dense b;
  CHECK(ToMetaGraphDef(a.TpuSpec(2)) == ToMetaGraphDef(b.TpuSpec(2)));
}

}  // namespace
TEST_CASE("a sum over replicas is that of as many as the one which imports the graph") {
  Graph graph(AllOps());
  const Value x = graph.Placeholder(DType::kFloat, {2}, "x");
  const Value sum = ops::CrossReplicaSum(x, 3, "sum");
  ops::OfReplica(sum, 1, "second");
  const pb::MetaGraphDef meta = Written({.graph = graph, .tags = {"train"}});
  const pb::NodeDef& written = Find(meta.graph_def().node(), "sum");
  CHECK(written.op() == "AddN");
  CHECK(Inputs(written) == Strings{"x", "x", "x"});
  CHECK(written.attr().at("N").i() == 3);
  CHECK(Find(meta.graph_def().node(), "second").op() == "Identity");
}

TEST_CASE(
    "rows that replicas gather and sum are those of as many as the one, by TensorFlow's ops") {
  Graph graph(AllOps());
  const Value indices = graph.Placeholder(DType::kInt64, {kUnknownDim}, "indices");
  const Value values = graph.Placeholder(DType::kFloat, {kUnknownDim, 2}, "values");
  const ops::GatheredRows all = ops::GatherRows(indices, values, 2);
  const ops::SummedRows rows = ops::SumRowsOfReplicas(all.indices, all.values, 2);
  ops::Identity(rows.indices, "distinct");
  ops::Identity(rows.sums, "sums");
  const pb::MetaGraphDef meta = Written({.graph = graph, .tags = {"train"}});
  const auto& nodes = meta.graph_def().node();
  // TensorFlow does not accept "_Gather..."
  for (const std::string name : {"values", "indices"}) {
    const bool is_values = name == "values";
    const pb::NodeDef& gather =
        Find(nodes, is_values ? "GatherRowsOfReplicas" : "GatherRowsOfReplicas/indices");
    CHECK(gather.op() == "ConcatV2");
    CHECK(Inputs(gather) == Strings{name, name, "GatherRowsOfReplicas/axis"});
    CHECK(gather.attr().at("N").i() == 2);
    CHECK(gather.attr().at("T").type() == (is_values ? pb::DT_FLOAT : pb::DT_INT64));
    CHECK_FALSE(gather.attr().contains("replicas"));
  }
  const pb::NodeDef& sum = Find(nodes, "SumRowsOfReplicas");
  CHECK(sum.op() == "UnsortedSegmentSum");
  CHECK(Inputs(sum) ==
        Strings{"GatherRowsOfReplicas", "SumRowsOfReplicas/Unique:1", "SumRowsOfReplicas/Size"});
  CHECK(Inputs(Find(nodes, "SumRowsOfReplicas/Unique")) == Strings{"GatherRowsOfReplicas/indices"});
  CHECK(Find(nodes, "SumRowsOfReplicas/Unique").op() == "Unique");
  CHECK(Inputs(Find(nodes, "SumRowsOfReplicas/Size")) == Strings{"SumRowsOfReplicas/Unique"});
  CHECK(Inputs(Find(nodes, "distinct")) == Strings{"SumRowsOfReplicas/Unique"});
  CHECK(Inputs(Find(nodes, "sums")) == Strings{"SumRowsOfReplicas"});
}

TEST_CASE("a training's meta graph has its train_op, losses and summaries") {
  Dense dense;
  const Value loss = dense.graph.Scalar<float>(0.5F, "loss");
  const pb::MetaGraphDef meta = Written(
      {.graph = dense.graph,
       .train_op = dense.logits.node,
       .loss = loss,
       .summaries = {.scalars = {{"loss", loss}}, .activations = {{"dense", dense.logits}}}});
  const auto names = [&](const std::string& collection) {
    const auto& list = meta.collection_def().at(collection).node_list().value();
    return std::vector<std::string>(list.begin(), list.end());
  };
  CHECK(names("train_op") == std::vector<std::string>{"d/BiasAdd"});
  CHECK(names("losses") == std::vector<std::string>{"loss:0"});
  CHECK(names("summaries") == std::vector<std::string>{"loss_1:0",
                                                       "dense/fraction_of_zero_values:0",
                                                       "dense/activation:0"});
  const auto& nodes = meta.graph_def().node();
  CHECK(Find(nodes, "loss_1").op() == "ScalarSummary");
  CHECK(Find(nodes, "loss_1").input(0) == "loss_1/tags");
  CHECK(Find(nodes, "loss_1").input(1) == "loss");
  CHECK(Find(nodes, "dense/fraction_of_zero_values").op() == "ScalarSummary");
  CHECK(Find(nodes, "dense/activation").op() == "HistogramSummary");
  CHECK(Find(nodes, "dense/activation").input(1) == "d/BiasAdd");
}

}  // namespace tpuest
