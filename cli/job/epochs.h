#pragma once
// Finds out whether options speak of epochs anywhere: only then the input is asked for its size,
// which may mean reading all of it.

#include <map>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/visit.h"

namespace tpuest::cli {

// A visitor: `finder.Look(options)`, then found().
class EpochFinder {
 public:
  template <class T>
  void operator()(std::string_view /*key*/, T& field, const Field& /*about*/) {
    Look(field);
  }
  void Look(Period& period) { found_ |= period.unit == Period::Unit::kEpochs; }
  template <class T>
  void Look(std::optional<T>& field) {
    if (field) Look(*field);
  }
  template <class T>
  void Look(std::vector<T>& fields) {
    for (T& field : fields) Look(field);
  }
  template <class... T>
  void Look(std::variant<T...>& field) {
    std::visit([this](auto& alternative) { Look(alternative); }, field);
  }
  template <class T>
  void Look(T& field) {
    if constexpr (requires { field.Visit(*this); }) field.Visit(*this);
  }
  [[nodiscard]] bool found() const { return found_; }

 private:
  bool found_ = false;
};

}  // namespace tpuest::cli
