#pragma once
// Finds out whether options speak of epochs anywhere: only then the input is asked for its size,
// which may mean reading all of it. A learning rate's formula may name them.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "core/nn/formula/formula.h"
#include "core/nn/optimizers/schedules.h"

namespace tpuest::cli {

// A visitor: `finder.Look(options)`, then found().
class EpochFinder {
 public:
  template <class T>
  void operator()(std::string_view /*key*/, T& field, const Field& /*about*/) {
    Look(field);
  }
  void Look(Period& period) { found_ |= period.unit == Period::Unit::kEpochs; }
  void Look(nn::LearningRate& rate) {
    if (const auto* const formula = std::get_if<Formula>(&rate)) {
      formulas_.push_back(*formula);
    } else {
      std::visit([this](auto& alternative) { Look(alternative); }, rate);
    }
  }
  template <class T>
  void Look(std::optional<T>& field) {
    if (field) Look(*field);
  }
  template <class T>
  void Look(std::vector<T>& fields) {
    for (T& field : fields) Look(field);
  }
  template <class T>
  void Look(std::map<std::string, T>& fields) {
    for (auto& [key, field] : fields) Look(field);
  }
  template <class... T>
  void Look(std::variant<T...>& field) {
    std::visit([this](auto& alternative) { Look(alternative); }, field);
  }
  template <class T>
  void Look(T& field) {
    if constexpr (requires { field.Visit(*this); }) field.Visit(*this);
  }
  // Throws Error kUsage for a rate that is no formula.
  [[nodiscard]] bool found() const {
    return found_ || std::any_of(formulas_.begin(), formulas_.end(), [](const Formula& formula) {
             const std::vector<std::string> names = nn::NamesIn(formula);
             return std::find(names.begin(), names.end(), "epoch") != names.end();
           });
  }
  // The learning rates that are formulas.
  [[nodiscard]] const std::vector<Formula>& formulas() const { return formulas_; }

 private:
  bool found_ = false;
  std::vector<Formula> formulas_;
};

}  // namespace tpuest::cli
