// A SavedModel of three files, saved_model.pb, the variables' index and their shard, separated by
// lines "--": each signature is read, planned for a batch and run once with zeros.

#include "core/graph/read/saved_model.h"

#include "core/ops/all_ops.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/run_once.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry registry(ops::AllOps());
  return registry;
}

// The shape of a batch of two; nullopt for inputs that are not fed.
std::optional<Shape> BatchOf(const SignatureTensor& tensor) {
  constexpr int64_t kMost = 4096;
  if (tensor.dtype == DType::kInvalid || tensor.dtype == DType::kResource) return {};
  if (!tensor.shape.known_rank()) return {};
  std::vector<int64_t> dims = tensor.shape.dims();
  int64_t elements = 1;
  for (int64_t& dim : dims) {
    if (dim < 0) dim = 2;
    if (dim > kMost || elements * dim > kMost) return {};
    elements *= dim;
  }
  return Shape(dims);
}

void RunSignature(const SavedModel& model, const MetaGraphInfo& meta, const std::string& name) {
  Graph graph(Ops());
  ProgramSpec spec{.graph = &graph};
  std::map<std::string, Value> inputs;
  for (const auto& [key, tensor] : meta.signatures.at(name).inputs) {
    const std::optional<Shape> shape = BatchOf(tensor);
    if (!shape) return;
    inputs[key] = graph.Placeholder(tensor.dtype, tensor.shape, "fed");
    const bool is_batch = tensor.shape.rank() > 0 && tensor.shape.dim(0) == kUnknownDim;
    spec.feeds.push_back({inputs[key], *shape, is_batch});
  }
  for (const auto& [key, value] : model.Import(meta, name, inputs, graph)) {
    if (value.node->outputs() > 0) spec.fetches.push_back(value);
  }
  RunOnce(spec);
}

}  // namespace

void RunSavedModel(std::string_view input) {
  static const std::string folder = [] {
    MakeDirectories(TheFiles().Path("variables"));
    return DirName(TheFiles().Path("variables"));
  }();
  TheFiles().Put("saved_model.pb", TakePart(input));
  TheFiles().Put("variables/variables.index", TakePart(input));
  TheFiles().Put("variables/variables.data-00000-of-00001", input);
  const SavedModel model(folder);
  (void)model.GlobalStep();
  for (const MetaGraphInfo& meta : model.meta_graphs()) {
    for (const auto& [name, signature] : meta.signatures) {
      Takes([&, &name = name] { RunSignature(model, meta, name); });
    }
  }
}

}  // namespace tpuest::fuzz
