#include "core/graph/meta_graph.h"

#include "core/graph/node_def.h"
#include "core/io/proto.h"

namespace tpuest {
namespace {

// TensorFlow finds a variable by its initializer and its snapshot; the initializer is a node that
// tpuest itself has no use for.
pb::VariableDef WriteVariable(const Variable& variable, pb::GraphDef& graph) {
  pb::VariableDef out;
  out.set_variable_name(variable.name + ":0");
  out.set_initializer_name(variable.name + "/Assign");
  out.set_snapshot_name(variable.value.name() + ":0");
  out.set_is_resource(true);
  out.set_trainable(variable.trainable);
  pb::NodeDef& assign = *graph.add_node();
  assign.set_name(out.initializer_name());
  assign.set_op("AssignVariableOp");
  assign.add_input(variable.handle.name());
  assign.add_input(variable.initial_value.name());
  (*assign.mutable_attr())["dtype"].set_type(TypeOf(variable.dtype));
  (*assign.mutable_attr())["validate_shape"].set_b(false);
  out.set_initial_value_name(variable.initial_value.name() +
                             (variable.initial_value.index == 0 ? ":0" : ""));
  return out;
}

}  // namespace

std::string ToMetaGraphDef(const Graph& graph) {
  pb::MetaGraphDef meta;
  WriteGraph(graph, /*add_shapes=*/true, *meta.mutable_graph_def());
  auto& collections = *meta.mutable_collection_def();
  for (const auto& variable : graph.variables()) {
    const std::string bytes = ToBytes(WriteVariable(*variable, *meta.mutable_graph_def()));
    if (variable->local) {
      collections["local_variables"].mutable_bytes_list()->add_value(bytes);
      continue;
    }
    collections["variables"].mutable_bytes_list()->add_value(bytes);
    if (variable->trainable) {
      collections["trainable_variables"].mutable_bytes_list()->add_value(bytes);
    }
    if (variable->name == "global_step") {
      collections["global_step"].mutable_bytes_list()->add_value(bytes);
    }
  }
  return ToBytes(meta);
}

}  // namespace tpuest
