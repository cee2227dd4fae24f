// GraphDefs: all nodes read as they are, and, read for the last node, what that needs. The first
// byte chooses which, and whether the bytes are protobuf's text.

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

// A graph that was read is written so that it can be read again.
void ReadAsItIs(std::string_view bytes) {
  Graph graph(Ops());
  FromGraphDef(bytes, graph);
  Graph again(Ops());
  FromGraphDef(ToGraphDef(graph), again);
  Check(again.nodes().size() == graph.nodes().size(), "{} nodes of {} were read again",
        again.nodes().size(), graph.nodes().size());
}

// The nodes are named a to z in the seeds; others are met by chance.
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
