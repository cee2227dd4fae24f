#include "core/estimator/hooks/exec_hook.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/text.h"

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

// How the command ended: "" for exit code 0.
std::string Outcome(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int fault = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (fault != 0) return fmt::format("could not be started: {}", std::strerror(fault));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fmt::format("was lost: {}", std::strerror(errno));
  }
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : fmt::format("ended with exit code {}", code);
}

}  // namespace

void CommandRunner::Run(const std::vector<std::string>& command, int64_t global_step) const {
  if (command.empty()) return;
  const std::string checkpoint = fmt::format("{}/model.ckpt-{}", home_->model_dir, global_step);
  std::vector<std::string> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(WithValues(argument, {{"{model_dir}", home_->model_dir},
                                              {"{checkpoint}", checkpoint},
                                              {"{global_step}", std::to_string(global_step)}}));
  }
  const std::string text = Join(arguments, " ");
  home_->log.Info("{}: {}", name_, text);
  const std::string outcome = Outcome(arguments);
  if (outcome.empty()) return;
  const std::string message = fmt::format("{}: '{}' {}", name_, text, outcome);
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
