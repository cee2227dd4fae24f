#include "core/base/faults.h"

#include <iterator>

namespace tpuest {

void Faults::AddAll(std::vector<Fault> faults) {
  list_.insert(list_.end(), std::make_move_iterator(faults.begin()),
               std::make_move_iterator(faults.end()));
}

void Faults::Say(std::string_view key, std::string message, std::string hint) {
  const std::string_view dot = section_.empty() || key.empty() ? "" : ".";
  Add({std::move(message), std::move(hint), fmt::format("{}{}{}", section_, dot, key), {}, 0});
}

}  // namespace tpuest
