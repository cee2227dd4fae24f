#include "models/recorded_scalars.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/cut.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::models {
namespace {

// A head's tensor among those of the call: no tag begins so.
std::string OfHead(const std::string& tensor) { return "head:" + tensor; }

// The head's tensors among those of the call.
nn::Tensors HeadsAmong(const std::map<std::string, Value>& tensors) {
  const std::string prefix = OfHead("");
  nn::Tensors of_head;
  for (const auto& [name, value] : tensors) {
    if (name.starts_with(prefix)) of_head.emplace(name.substr(prefix.size()), value);
  }
  return of_head;
}

[[noreturn]] void ThrowAt(size_t index, std::string message, std::string hint) {
  throw Error(Code::kUsage, std::move(message), std::move(hint))
      .Key(fmt::format("summaries.{}", index));
}

[[noreturn]] void ThrowUnknown(const std::string& tag, size_t index, const Recordable& of) {
  std::vector<std::string> tags;
  for (const auto& [known, value] : of.scalars) tags.push_back(known);
  for (const auto& [known, build] : of.metrics) tags.push_back(known);
  tags.insert(tags.end(), of.others.begin(), of.others.end());
  ThrowAt(index, fmt::format("summaries: the model has no scalar '{}'", tag),
          "there are: " + Join(tags, ", "));
}

// The names of the head's tensors that a metric of one batch is computed from.
std::vector<std::string> TensorsRead(const std::string& tag, size_t index, const Recordable& of,
                                     const OpRegistry& registry) {
  Graph graph(registry);
  nn::Tensors placeholders;
  for (const auto& [name, value] : of.metric_tensors) {
    placeholders.emplace(name, graph.Placeholder(value.dtype(), value.shape(), "input"));
  }
  const MetricOps metric = of.metrics.at(tag)(graph, placeholders);
  if (!metric.of_batch) {
    ThrowAt(index, fmt::format("summaries: '{}' is not a metric of one batch", tag),
            "use means and rates: accuracy, recall_at_k, precision, mean_absolute_error, ...");
  }
  const std::vector<char> needed = NeededNodes(graph, {metric.of_batch()}, {}, {});
  std::vector<std::string> read;
  for (const auto& [name, placeholder] : placeholders) {
    if (needed[static_cast<size_t>(placeholder.node->id())] != 0) read.push_back(name);
  }
  return read;
}

}  // namespace

HostCall RecordedCall(const std::vector<std::string>& tags, const Recordable& of,
                      const OpRegistry& registry) {
  HostCall call;
  nn::MetricBuilders metrics;
  for (size_t i = 0; i < tags.size(); ++i) {
    const std::string& tag = tags[i];
    if (tag.empty()) continue;
    call.tags.insert(tag);
    if (const auto scalar = of.scalars.find(tag); scalar != of.scalars.end()) {
      call.tensors[tag] = ops::ExpandDims(ops::Cast(scalar->second, DType::kFloat), 0);
      continue;
    }
    const auto metric = of.metrics.find(tag);
    if (metric == of.metrics.end()) ThrowUnknown(tag, i, of);
    for (const std::string& name : TensorsRead(tag, i, of, registry)) {
      call.tensors[OfHead(name)] = of.metric_tensors.at(name);
    }
    metrics.insert(*metric);
  }
  call.fn = [metrics = std::move(metrics)](Graph& graph,
                                           const std::map<std::string, Value>& tensors) {
    HostCallOps built;
    for (const auto& [tag, of_replicas] : tensors) {
      if (!tag.starts_with(OfHead(""))) built.scalars[tag] = ops::Mean(of_replicas);
    }
    const nn::Tensors of_head = HeadsAmong(tensors);
    for (const auto& [tag, build] : metrics) built.scalars[tag] = build(graph, of_head).of_batch();
    return built;
  };
  return call;
}

}  // namespace tpuest::models
