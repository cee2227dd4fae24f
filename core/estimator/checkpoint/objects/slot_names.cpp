#include "core/estimator/checkpoint/objects/slot_names.h"

#include <algorithm>

namespace tpuest {
namespace {

using Words = std::vector<std::string_view>;

const std::vector<SlotNames>& Plain() {
  static const Words momentum = {"momentum"};
  static const Words adam = {"m", "v"};
  static const Words adagrad = {"accumulator"};
  static const Words ftrl = {"accum", "accumulator", "linear"};
  static const Words rms_prop = {"rms", "momentum"};
  static const std::vector<SlotNames> all = {
      {"Momentum", {"momentum"}, "momentums", momentum},
      {"LARSOptimizer", {"momentum"}, "", momentum},
      {"Adam", {"m"}, "_momentums", adam},
      {"Adam_1", {"v"}, "_velocities", adam},
      {"adam_m", {"m"}, "_momentums", adam},
      {"adam_v", {"v"}, "_velocities", adam},
      {"Adagrad", {"accumulator"}, "_accumulators", adagrad},
      {"Ftrl", {"accum", "accumulator"}, "_accumulators", ftrl},
      {"Ftrl_1", {"linear"}, "_linears", ftrl},
      {"RMSProp", {"rms"}, "_velocities", rms_prop},
      {"RMSProp_1", {"momentum"}, "_momentums", rms_prop},
  };
  return all;
}

const std::vector<SlotNames>& Centered() {
  static const Words rms_prop = {"rms", "momentum", "mg"};
  static const std::vector<SlotNames> all = {
      {"RMSProp", {"rms"}, "_velocities", rms_prop},
      {"RMSProp_1", {"mg"}, "_average_gradients", rms_prop},
      {"RMSProp_2", {"momentum"}, "_momentums", rms_prop},
  };
  return all;
}

}  // namespace

const SlotNames* FindSlotNames(std::string_view suffix, bool centered) {
  const std::vector<SlotNames>& all = centered ? Centered() : Plain();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const SlotNames& slot) { return slot.suffix == suffix; });
  return found == all.end() ? nullptr : &*found;
}

std::string OwnerOfSlot(std::string_view name) {
  const size_t slash = name.rfind('/');
  std::string_view owner = name.substr(0, slash == std::string_view::npos ? 0 : slash);
  for (const std::string_view part : {"/part_0", "/t_0"}) {
    if (owner.ends_with(part)) owner.remove_suffix(part.size());
  }
  return std::string(owner);
}

bool IsOfKeras(std::string_view name) {
  constexpr std::string_view kScope = "training";
  if (!name.starts_with(kScope)) return false;
  name.remove_prefix(kScope.size());
  if (name.starts_with('_')) {
    name.remove_prefix(1);
    name.remove_prefix(std::min(name.find_first_not_of("0123456789"), name.size()));
  }
  return name.starts_with('/');
}

}  // namespace tpuest
