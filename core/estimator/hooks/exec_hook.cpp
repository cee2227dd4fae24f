#include "core/estimator/hooks/exec_hook.h"

#include <algorithm>

#include "core/base/child_process.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/model_dir.h"

namespace tpuest {
namespace {

std::string WithValues(std::string text,
                       const std::vector<std::pair<std::string_view, std::string>>& values) {
  for (const auto& [name, value] : values) {
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size()) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

// Runs the command and returns what went wrong; "" for exit code 0.
std::string FaultOf(const std::vector<std::string>& words, const std::string& text) {
  ProcessEnd end;
  try {
    end = ChildProcess(ProgramCall{.words = words}).Wait();
  } catch (const Error& error) {
    return error.message();
  }
  if (end.signal != 0) return fmt::format("'{}' was ended by signal {}", text, end.signal);
  return end.code == 0 ? "" : fmt::format("'{}' ended with exit code {}", text, end.code);
}

}  // namespace

void CommandRunner::Run(const std::vector<std::string>& command, int64_t global_step) const {
  if (command.empty()) return;
  const std::string checkpoint = CheckpointAt(home_->model_dir, global_step);
  std::vector<std::string> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(WithValues(argument, {{"{model_dir}", home_->model_dir},
                                              {"{checkpoint}", checkpoint},
                                              {"{global_step}", std::to_string(global_step)}}));
  }
  const std::string text = Join(arguments, " ");
  home_->log.Info("{}: {}", name_, text);
  const std::string fault = FaultOf(arguments, text);
  if (fault.empty()) return;
  const std::string message = fmt::format("{}: {}", name_, fault);
  if (check_) throw Error(Code::kGate, message, "check: false makes this a warning");
  home_->log.Warning("{}", message);
}

bool ExecHook::Has(std::string_view moment) const {
  return std::find(options_.on.begin(), options_.on.end(), moment) != options_.on.end();
}

void ExecHook::AfterCreateSession(const SessionInfo& session) {
  if (Has("begin")) runner_.Run(options_.command, session.global_step);
}

void ExecHook::End(int64_t global_step) {
  if (Has("end") || Has("evaluated")) runner_.Run(options_.command, global_step);
}

CheckpointSaverListener* ExecHook::listener() {
  return Has("checkpoint_saved") ? &listener_ : nullptr;
}

std::optional<std::string> ExecHook::Listener::AfterSave(int64_t global_step) {
  hook_.runner_.Run(hook_.options_.command, global_step);
  return std::nullopt;
}

void ExecListener::AfterCreateSession(const SessionInfo& session) {
  runner_.Run(options_.begin, session.global_step);
}

void ExecListener::Listener::BeforeSave(int64_t global_step) {
  hook_.runner_.Run(hook_.options_.before_save, global_step);
}

std::optional<std::string> ExecListener::Listener::AfterSave(int64_t global_step) {
  hook_.runner_.Run(hook_.options_.after_save, global_step);
  return std::nullopt;
}

void ExecListener::Listener::End(int64_t global_step) {
  hook_.runner_.Run(hook_.options_.end, global_step);
}

}  // namespace tpuest
