#pragma once
// A hook in a shared library with the interface of tpuest_hook.h.

#include <memory>
#include <string>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/options/hook_options.h"

namespace tpuest {

class PluginHook final : public SessionRunHook {
 public:
  // Loads the library, which is never unloaded. Throws Error kUsage for a path that is not a
  // library, and for a library that lacks a function.
  explicit PluginHook(PluginHookOptions options);
  ~PluginHook() override;
  PluginHook(const PluginHook&) = delete;
  PluginHook& operator=(const PluginHook&) = delete;

  void Begin(HookHome& home) override { trains_ = home.trains(); }
  // Begins the library's hook. Throws Error kUsage if the library returns none.
  void AfterCreateSession(const SessionInfo& session) override;
  void BeforeRun(RunContext& context) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  void End(int64_t global_step) override;

 private:
  struct Functions;
  void Free();

  PluginHookOptions options_;
  std::unique_ptr<const Functions> functions_;
  bool trains_ = false;
  void* hook_ = nullptr;  // the library's hook; nullptr: it has not begun
};

}  // namespace tpuest
