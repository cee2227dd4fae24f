// GraphDefs: all nodes read as they are; and, for the last node, the nodes that it needs. The first
// byte selects which, and whether the bytes are protobuf's text.

#include "core/graph/write/graphdef.h"

#include "core/graph/read/saved_model.h"
#include "core/ops/all_ops.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry registry(ops::AllOps());
  return registry;
}

// A graph that was read can be written and read again.
void ReadAsItIs(std::string_view bytes) {
  Graph graph(Ops());
  FromGraphDef(bytes, graph);
  Graph again(Ops());
  FromGraphDef(ToGraphDef(graph), again);
  Check(again.nodes().size() == graph.nodes().size(), "{} nodes of {} were read again",
        again.nodes().size(), graph.nodes().size());
}

// The nodes are named a to z in the seeds; other names occur only by chance.
void ReadFor(const std::string& path) {
  const SavedModel model = SavedModel::FromGraphDefFile(path);
  for (const char* const tensor : {"y:0", "a", "b:1"}) {
    Graph graph(Ops());
    Takes([&] { (void)model.ImportTensors(model.meta_graphs()[0], {}, {tensor}, graph); });
  }
}

}  // namespace

void RunGraphdef(std::string_view input) {
  const uint8_t choice = TakeChoice(input);
  if ((choice & 1) == 0) {
    ReadAsItIs(input);
  } else {
    ReadFor(TheFiles().Put((choice & 2) != 0 ? "g.pbtxt" : "g.pb", input));
  }
}

}  // namespace tpuest::fuzz
