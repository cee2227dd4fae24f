#include "core/graph/read/function_inliner.h"
#include "core/graph/read/import_passes.h"
#include "core/graph/read/node_reader.h"
#include "core/graph/read/variable_source.h"
#include "core/graph/write/graphdef.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

// Returns the read at the start of the step that all uses of a variable share: the read named after
// it, or otherwise the first one without control inputs.
Value SharedRead(const Graph& graph, const Node& handle) {
  const std::string preferred = handle.name() + "/Read/ReadVariableOp";
  Value read;
  for (const auto& node : graph.nodes()) {
    if (node->op().source != ValueSource::kRead || node->input(0).node != &handle ||
        !node->control_inputs().empty()) {
      continue;
    }
    if (node->name() == preferred) return node->output(0);
    if (!read.valid()) read = node->output(0);
  }
  return read;
}

// Makes variables of the graph's VarHandleOps. No node says whether one is trained, so floating
// ones count as trainable, except the global step.
void AdoptVariables(const std::map<std::string, std::string>& initial, const NodeReader& reader,
                    Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->op().source != ValueSource::kVariable) continue;
    const std::string& name = node->Attr<std::string>("shared_name");
    if (name.empty() || graph.FindVariable(name) != nullptr) continue;
    const auto found = initial.find(node->name());
    VariableOptions options;
    options.trainable = IsFloating(node->Attr<DType>("dtype"));
    graph.AdoptVariable(*node, SharedRead(graph, *node),
                        found == initial.end() ? Value() : reader.ValueOf(found->second), options);
  }
}

}  // namespace

void FromGraphDef(std::string_view serialized, Graph& graph) {
  pb::MetaGraphDef meta;
  FromBytes(serialized, *meta.mutable_graph_def(), "GraphDef", Code::kData);
  // Everything is wanted, also nodes that nothing reads: the graph is to be written again as it is.
  InlinedGraph inlined = InlineFunctions(meta.graph_def(), graph.registry(), {});
  RewriteNodes(inlined);
  NodeReaderOptions options;
  options.exact_names = true;
  NodeReader reader(*inlined.graph, graph, options);
  reader.Run();
  *meta.mutable_graph_def() = *inlined.graph;
  AdoptVariables(FindInitialValues(meta), reader, graph);
}

}  // namespace tpuest
