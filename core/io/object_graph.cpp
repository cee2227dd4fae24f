#include "core/io/object_graph.h"

#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

constexpr std::string_view kObjectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";

}  // namespace

std::map<std::string, std::string> KeysByVariableName(const BundleReader& bundle) {
  std::map<std::string, std::string> keys;
  if (!bundle.Has(kObjectGraph)) return keys;
  const Tensor tensor = bundle.Read(kObjectGraph);
  const std::string what = fmt::format("{}: \"{}\"", bundle.prefix(), kObjectGraph);
  if (tensor.dtype() != DType::kString || tensor.elements() != 1) {
    throw Error(Code::kCheckpoint, fmt::format("{} is {} {}, a string scalar expected", what,
                                               NameOf(tensor.dtype()), tensor.shape().Text()));
  }
  pb::TrackableObjectGraph graph;
  FromBytes(tensor.strings()[0], graph, what, Code::kCheckpoint);
  for (const auto& node : graph.nodes()) {
    for (const auto& attribute : node.attributes()) {
      if (!attribute.full_name().empty() && bundle.Has(attribute.checkpoint_key())) {
        keys.emplace(attribute.full_name(), attribute.checkpoint_key());
      }
    }
  }
  return keys;
}

}  // namespace tpuest
