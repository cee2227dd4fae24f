// A hook plugin that ends a training once a step's loss is below the argument `target`.

#include <cstdlib>
#include <string_view>

#include "core/estimator/hooks/tpuest_hook.h"

namespace {

struct Target {
  float loss = 0;
};

}  // namespace

void* tpuest_hook_begin(const tpuest_hook_run* run) {
  auto* const target = new Target;
  for (int64_t i = 0; i < run->argument_count; ++i) {
    if (std::string_view(run->argument_names[i]) == "target") {
      target->loss = std::strtof(run->argument_values[i], nullptr);
    }
  }
  return target;
}

int32_t tpuest_hook_before(void* /*hook*/, int64_t /*global_step*/) { return 0; }

int32_t tpuest_hook_after(void* hook, int64_t /*global_step*/, const tpuest_hook_step* steps,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (steps[i].loss < static_cast<Target*>(hook)->loss) return 1;
  }
  return 0;
}

void tpuest_hook_end(void* /*hook*/, int64_t /*global_step*/) {}

void tpuest_hook_free(void* hook) { delete static_cast<Target*>(hook); }
