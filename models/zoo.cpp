#include "models/zoo.h"

#include <utility>

#include "models/table_lookup.h"

namespace tpuest::models {
namespace {

nn::Labels<nn::LabelRange> RangesOf(const std::optional<nn::AnyHead>& head) {
  return head ? nn::LabelRangesOf(*head) : nn::Labels<nn::LabelRange>();
}

}  // namespace

ModelFn MakeModelFn(const AnyModel& model, const JobContext& job) {
  return [model, job](Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
    return std::visit(
        [&](const auto& m) {
          const OriginScope origin(graph, m.place);
          try {
            if (!job.embedding_config_spec || !job.embedding_config_spec->names_tables()) {
              return m.Build(graph, inputs, mode, params, job);
            }
            const ModelInputs with_rows = WithTableRows(graph, inputs, mode, params, job);
            return m.Build(graph, with_rows, mode, params, job);
          } catch (Error& error) {
            const Fault& fault = error.faults().front();
            if (fault.place.line > 0 || !fault.key.empty()) throw;
            throw std::move(error).At(m.place);
          }
        },
        model);
  };
}

nn::Labels<nn::LabelRange> LabelRangesOf(const AnyModel& model) {
  return std::visit([](const auto& m) { return RangesOf(m.Head()); }, model);
}

bool NamesOptimizers(const AnyModel& model) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.optimizer.has_value(); }) return m.optimizer.has_value();
        return requires { m.optimizer; }
        || requires { m.dnn_optimizer; };
      },
      model);
}

bool ComputesInBfloat16(const AnyModel& model) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.precision; }) {
          return PrecisionOf(m.precision) == DType::kBfloat16;
        } else {
          return false;
        }
      },
      model);
}

bool KeepsAverages(const AnyModel& model) {
  const auto averages = [](const nn::PremadeOptimizer& optimizer) {
    const nn::PartOptimizer part = nn::ByFamily(optimizer);
    return nn::AverageOf(part) != nullptr;
  };
  return std::visit(
      [&](const auto& m) {
        if constexpr (requires { m.optimizer.has_value(); }) {
          return m.optimizer && averages(*m.optimizer);
        } else if constexpr (requires { m.optimizer; }) {
          return averages(m.optimizer);
        } else if constexpr (requires { m.dnn_optimizer; }) {
          return averages(m.dnn_optimizer) || averages(m.linear_optimizer);
        } else {
          return false;
        }
      },
      model);
}

std::optional<std::vector<nn::ColumnRef>> ColumnsOf(const AnyModel& model,
                                                    const nn::FeatureColumns& columns) {
  return std::visit(
      [&](const auto& m) -> std::optional<std::vector<nn::ColumnRef>> {
        if constexpr (requires { m.Columns(); }) {
          const nn::ColumnSet set(columns);
          std::vector<nn::ColumnRef> used;
          for (const NamedColumns& list : m.Columns()) {
            for (nn::ColumnRef& column : set.Select(list.names, list.key)) {
              used.push_back(std::move(column));
            }
          }
          return used;
        }
        return std::nullopt;
      },
      model);
}

std::optional<std::map<std::string, nn::FeatureSpec>> ParseSpecOf(
    const AnyModel& model, const nn::FeatureColumns& columns) {
  const auto used = ColumnsOf(model, columns);
  if (!used) return std::nullopt;
  return nn::ColumnSet(columns).ParseSpec(*used);
}

}  // namespace tpuest::models

namespace tpuest {
template class OneOf<models::AnyModelTypes>;
}  // namespace tpuest
