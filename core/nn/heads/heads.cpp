#include "core/nn/heads/heads.h"

#include "core/nn/job_place.h"

namespace tpuest::nn {
namespace {

// The scope of a head's ops: its name, if heads of this type have one.
template <class Head>
std::string ScopeOf(const Head& head) {
  if constexpr (requires { head.name; }) {
    CheckHeadName(head.name);
    return head.name.value_or("head");
  }
  if constexpr (requires { head.scope_name(); }) {
    head.CheckOptions();
    return head.scope_name();
  }
  return "head";
}

}  // namespace

HeadOutputs BuildHead(const AnyHead& head, const HeadInputs& inputs) {
  return std::visit(
      [&](const auto& h) {
        Graph& graph = inputs.logits.graph();
        return AtPlace(graph, h.place, [&] {
          const NameScope scope(graph, ScopeOf(h));
          return h.Build(inputs);
        });
      },
      head);
}

Labels<LabelRange> LabelRangesOf(const AnyHead& head) {
  if (const auto* const multi = std::get_if<MultiHead>(&head)) return multi->label_ranges();
  return std::visit(
      [](const auto& h) -> Labels<LabelRange> {
        if constexpr (requires { h.label_range(); }) {
          const std::optional<LabelRange> range = h.label_range();
          if (range) return *range;
        }
        return {};
      },
      head);
}

int64_t LogitsDimensionOf(const AnyHead& head) {
  return std::visit([](const auto& h) { return h.logits_dimension(); }, head);
}

int HeadsOf(const AnyHead& head) {
  const auto* const multi = std::get_if<MultiHead>(&head);
  return multi == nullptr ? 1 : static_cast<int>(multi->heads.size());
}

LossReduction LossReductionOf(const AnyHead& head) {
  return ParseLossReduction(std::visit(
      [](const auto& h) -> std::string {
        if constexpr (requires { h.loss_reduction; }) return h.loss_reduction;
        if constexpr (requires { h.reduction(); }) return h.reduction();
        return "SUM_OVER_BATCH_SIZE";
      },
      head));
}

std::set<std::string> WeightColumnsOf(const AnyHead& head) {
  if (const auto* const multi = std::get_if<MultiHead>(&head)) return multi->weight_columns();
  if (const auto* const keras = std::get_if<KerasHead>(&head)) return keras->weight_columns();
  const std::string column = std::visit(
      [](const auto& h) -> std::string {
        if constexpr (requires { h.weight_column; }) return h.weight_column.value_or("");
        return "";
      },
      head);
  return column.empty() ? std::set<std::string>() : std::set<std::string>{column};
}

std::map<std::string, MetricOps> BuildMetrics(Graph& graph, const MetricBuilders& builders,
                                              const Tensors& tensors) {
  const AfterScope after(graph);
  const NameScope scope(graph, "metrics");
  std::map<std::string, MetricOps> metrics;
  for (const auto& [name, build] : builders) metrics[name] = build(graph, tensors);
  return metrics;
}

}  // namespace tpuest::nn
