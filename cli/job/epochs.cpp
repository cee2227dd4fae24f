#include "cli/job/epochs.h"

#include <algorithm>
#include <string>
#include <variant>

#include "cli/job/job.h"
#include "core/nn/formula/formula.h"
#include "core/nn/optimizers/schedules.h"

namespace tpuest::cli {

void EpochFinder::Look(const config::Value& value) {
  using Kind = config::Type::Kind;
  const config::Type& type = *value.type;
  if (&type == config::TypeOf<nn::LearningRate>()) {
    const auto& rate = *static_cast<const nn::LearningRate*>(value.at);
    if (const auto* const formula = std::get_if<Formula>(&rate)) formulas_.push_back(*formula);
  }
  switch (type.kind) {
    case Kind::kPeriod:
      found_ |= static_cast<const Period*>(value.at)->unit == Period::Unit::kEpochs;
      return;
    case Kind::kOptional:
    case Kind::kList:
    case Kind::kMap:
      for (const config::Item& item : config::ItemsOf(value)) Look(item.value);
      return;
    case Kind::kSection:
      for (const config::Member& member : config::MembersOf(value)) Look(member.value);
      return;
    case Kind::kVariant:
      Look({type.alternatives[type.index(value.at)], type.chosen(value.at)});
      return;
    default:
      return;
  }
}

bool EpochFinder::found() const {
  return found_ || std::any_of(formulas_.begin(), formulas_.end(), [](const Formula& formula) {
           const std::vector<std::string> names = nn::NamesIn(formula);
           return std::find(names.begin(), names.end(), "epoch") != names.end();
         });
}

EpochFinder RatesOf(const Job& job) {
  // Only looked at.
  auto& sections = const_cast<Job&>(job);
  EpochFinder finder;
  finder.Look(config::ValueOf(sections.optimizer));
  finder.Look(config::ValueOf(sections.feature_columns));
  finder.Look(config::ValueOf(sections.embedding_config_spec));
  finder.Look(config::ValueOf(sections.model));
  return finder;
}

}  // namespace tpuest::cli
