#include "tests/fuzz/run_once.h"

#include <algorithm>

#include "core/backend/bind.h"
#include "core/backend/cpu/program.h"
#include "tests/fuzz/fuzz.h"

namespace tpuest::fuzz {
namespace {

// Limit on all results together: windows over that many elements take a second under the
// sanitizers.
constexpr int64_t kMostElements = int64_t{1} << 17;

bool IsSmall(const BoundGraph& bound) {
  int64_t elements = 0;
  for (const auto& node : bound.graph->nodes()) {
    for (int i = 0; i < node->outputs(); ++i) {
      if (node->output_dtype(i) == DType::kResource) continue;
      elements += std::min(node->output_shape(i).elements(), kMostElements);
      if (elements >= kMostElements) return false;
    }
  }
  return true;
}

// Reads all bytes of a result, so that a sanitizer detects invalid ones.
void Read(const Tensor& tensor) {
  volatile char sum = 0;
  const auto read = [&sum](const char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) sum = static_cast<char>(sum ^ bytes[i]);
  };
  if (tensor.dtype() == DType::kString) {
    for (const std::string_view text : tensor.strings()) read(text.data(), text.size());
  } else {
    read(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }
}

}  // namespace

void RunOnce(const ProgramSpec& spec) {
  static const std::unique_ptr<Backend> backend = MakeCpuBackend();
  const bool is_small = IsSmall(BindGraph(spec));
  VariableStore variables;
  for (const auto& variable : spec.graph->variables()) {
    variables.Set(variable->name, Tensor(variable->dtype, variable->shape));
  }
  const std::unique_ptr<Program> program = backend->Compile(spec, {}, variables);
  if (!is_small) return;
  StepFeeds feeds;
  for (const FeedSpec& feed : spec.feeds) {
    feeds.push_back({Tensor(feed.placeholder.dtype(), feed.shape)});
  }
  for (const StepResult& step : program->Run({&feeds, 1})) {
    for (const std::vector<Tensor>& fetch : step.fetches) {
      for (const Tensor& tensor : fetch) Read(tensor);
    }
  }
}

}  // namespace tpuest::fuzz
