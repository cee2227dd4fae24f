#include "core/estimator/hooks/plugin_hook.h"

#include <dlfcn.h>

#include <limits>
#include <utility>
#include <vector>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/hooks/tpuest_hook.h"

namespace tpuest {

struct PluginHook::Functions {
  decltype(&tpuest_hook_begin) begin;
  decltype(&tpuest_hook_before) before;
  decltype(&tpuest_hook_after) after;
  decltype(&tpuest_hook_end) end;
  decltype(&tpuest_hook_free) free;
};

namespace {

void* LoadLibrary(const std::string& path) {
  if (!FileExists(path)) {
    throw Error(Code::kUsage, fmt::format("{}: there is no such plugin", path)).Key("hooks");
  }
  // Without a slash dlopen would search its library path.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  throw Error(Code::kUsage, fmt::format("{}: is not a shared library: {}", path, ::dlerror()));
}

template <class Function>
void Find(void* library, const std::string& path, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function != nullptr) return;
  throw Error(Code::kUsage, fmt::format("{}: is not a plugin for hooks: it lacks {}", path, name),
              "core/estimator/hooks/tpuest_hook.h declares its functions");
}

}  // namespace

PluginHook::PluginHook(PluginHookOptions options) : options_(std::move(options)) {
  void* const library = LoadLibrary(options_.path);
  auto functions = std::make_unique<Functions>();
  Find(library, options_.path, "tpuest_hook_begin", functions->begin);
  Find(library, options_.path, "tpuest_hook_before", functions->before);
  Find(library, options_.path, "tpuest_hook_after", functions->after);
  Find(library, options_.path, "tpuest_hook_end", functions->end);
  Find(library, options_.path, "tpuest_hook_free", functions->free);
  functions_ = std::move(functions);
}

PluginHook::~PluginHook() { Free(); }

void PluginHook::Free() {
  if (hook_ != nullptr) functions_->free(std::exchange(hook_, nullptr));
}

void PluginHook::AfterCreateSession(const SessionInfo& session) {
  Free();
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : options_.arguments) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  const tpuest_hook_run run{.version = TPUEST_HOOK_VERSION,
                            .trains = trains_ ? 1 : 0,
                            .global_step = session.global_step,
                            .model_dir = session.model_dir.c_str(),
                            .argument_count = static_cast<int64_t>(names.size()),
                            .argument_names = names.data(),
                            .argument_values = values.data()};
  hook_ = functions_->begin(&run);
  if (hook_ != nullptr) return;
  throw Error(Code::kUsage, fmt::format("{}: its hook did not start", options_.path),
              "tpuest_hook_begin returned NULL");
}

void PluginHook::BeforeRun(RunContext& context) {
  if (functions_->before(hook_, context.global_step()) == 0) return;
  context.LimitIterations(0);
  context.RequestStop("plugin");
}

void PluginHook::AfterRun(RunContext& context, const RunValues& values) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  std::vector<tpuest_hook_step> steps;
  for (const StepRecord& record : values.steps) {
    steps.push_back({.step = record.step,
                     .loss = record.loss,
                     .learning_rate = record.learning_rate.value_or(kNone)});
  }
  const auto count = static_cast<int64_t>(steps.size());
  if (functions_->after(hook_, values.global_step, steps.data(), count) != 0) {
    context.RequestStop("plugin");
  }
}

void PluginHook::End(int64_t global_step) { functions_->end(hook_, global_step); }

}  // namespace tpuest
