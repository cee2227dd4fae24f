#include "core/estimator/hooks/exec_hook.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/base/process/child_process.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"

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

std::string JsonOf(const RunEvent& event, const HookHome& home, const std::string& checkpoint) {
  nlohmann::ordered_json json = {{"event", event.name},
                                 {"global_step", event.global_step},
                                 {"model_dir", home.model_dir},
                                 {"checkpoint", checkpoint}};
  if (event.last) {
    json["loss"] = event.last->loss;
    if (event.last->learning_rate) json["learning_rate"] = *event.last->learning_rate;
  }
  if (event.metrics != nullptr) {
    json["metrics"] = nlohmann::ordered_json::object();
    for (const auto& [name, value] : *event.metrics) {
      if (value.elements() == 1 && value.dtype() != DType::kString) {
        json["metrics"][name] = value.AsDouble(0);
      }
    }
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::vector<std::string> VariablesOf(const RunEvent& event, const HookHome& home,
                                     const std::string& checkpoint) {
  std::vector<std::string> variables = {fmt::format("TPUEST_EVENT={}", event.name),
                                        fmt::format("TPUEST_GLOBAL_STEP={}", event.global_step),
                                        "TPUEST_MODEL_DIR=" + home.model_dir,
                                        "TPUEST_CHECKPOINT=" + checkpoint};
  if (!event.last) return variables;
  variables.push_back("TPUEST_LOSS=" + NumberText(event.last->loss));
  if (event.last->learning_rate) {
    variables.push_back("TPUEST_LEARNING_RATE=" + NumberText(*event.last->learning_rate));
  }
  return variables;
}

// The signal that requested the stop.
std::optional<int> SignalOf(const StopSignal& stop) {
  if (!stop.requested()) return std::nullopt;
  return stop.kind() == StopSignal::Kind::kInterrupted ? SIGINT : SIGTERM;
}

// The reason in a line {"stop": REASON}; nullopt for any other line.
std::optional<std::string> StopIn(const std::string& line) {
  if (line.empty() || line.front() != '{') return std::nullopt;
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("stop") || !json["stop"].is_string()) {
    return std::nullopt;
  }
  return json["stop"].get<std::string>();
}

// Separates the answer from a command's output; the rest goes to stderr.
std::optional<std::string> AnswerIn(const std::string& output) {
  std::optional<std::string> reason;
  for (size_t begin = 0; begin < output.size();) {
    const size_t end = std::min(output.find('\n', begin), output.size() - 1) + 1;
    const std::string line = output.substr(begin, end - begin);
    begin = end;
    if (auto stop = StopIn(line)) {
      reason = std::move(stop);
    } else {
      std::fwrite(line.data(), 1, line.size(), stderr);
    }
  }
  return reason;
}

}  // namespace

std::string CommandRunner::Fault(const std::vector<std::string>& words, const RunEvent& event,
                                 const std::string& checkpoint, std::string& output) const {
  const std::string text = Join(words, " ");
  const bool stopped_before = home_->stop.requested();
  ProcessEnd end;
  try {
    ChildProcess child(ProgramCall{.words = words,
                                   .variables = VariablesOf(event, *home_, checkpoint),
                                   .input = JsonOf(event, *home_, checkpoint),
                                   .answers = true,
                                   .ends_with_us = true});
    // A command of a run that is already ending may take its time: it may copy the last checkpoint.
    end = child.Wait([&] { return stopped_before ? std::nullopt : SignalOf(home_->stop); });
    output = child.Output();
  } catch (const Error& error) {
    return error.message();
  }
  if (end.ShellCode() != 0 && !stopped_before && home_->stop.requested()) {
    home_->log.Info("{}: '{}' was stopped with the run", name_, text);
    return "";
  }
  if (end.signal != 0) return fmt::format("'{}' was killed by signal {}", text, end.signal);
  return end.code == 0 ? "" : fmt::format("'{}' ended with exit code {}", text, end.code);
}

std::optional<std::string> CommandRunner::Run(const std::vector<std::string>& command,
                                              const RunEvent& event) const {
  if (command.empty()) return std::nullopt;
  const std::string checkpoint = CheckpointAt(home_->model_dir, event.global_step);
  std::vector<std::string> words;
  for (const std::string& word : command) {
    words.push_back(WithValues(word, {{"{model_dir}", home_->model_dir},
                                      {"{checkpoint}", checkpoint},
                                      {"{global_step}", std::to_string(event.global_step)}}));
  }
  home_->log.Info("{}: {}", name_, Join(words, " "));
  std::string output;
  const std::string fault = Fault(words, event, checkpoint, output);
  std::optional<std::string> reason = AnswerIn(output);
  if (reason) home_->log.Info("{}: the command ends the run: {}", name_, *reason);
  if (fault.empty()) return reason;
  const std::string message = fmt::format("{}: {}", name_, fault);
  if (check_) throw Error(Code::kGate, message, "check: false makes this a warning");
  home_->log.Warning("{}", message);
  return reason;
}

bool ExecHook::Has(std::string_view moment) const {
  return std::find(options_.on.begin(), options_.on.end(), moment) != options_.on.end();
}

void ExecHook::Begin(HookHome& home) {
  runner_.Attach(home);
  home_ = &home;
  wants_stop_.reset();
}

std::optional<std::string> ExecHook::RunAt(std::string_view moment, int64_t global_step) const {
  if (!Has(moment)) return std::nullopt;
  RunEvent event{.name = moment, .global_step = global_step, .metrics = home_->metrics};
  if (event.metrics == nullptr) event.last = home_->last_step;
  return runner_.Run(options_.command, event);
}

void ExecHook::AfterCreateSession(const SessionInfo& session) {
  wants_stop_ = RunAt("begin", session.global_step);
}

void ExecHook::BeforeRun(RunContext& context) {
  if (!wants_stop_) return;
  context.LimitIterations(0);
  context.RequestStop(*wants_stop_);
}

void ExecHook::End(int64_t global_step) {
  std::ignore = RunAt("evaluated", global_step);
  std::ignore = RunAt("end", global_step);
}

CheckpointSaverListener* ExecHook::listener() {
  return Has("checkpoint_saved") ? &listener_ : nullptr;
}

std::optional<std::string> ExecHook::Listener::AfterSave(int64_t global_step) {
  return hook_.RunAt("checkpoint_saved", global_step);
}

void ExecListener::AfterCreateSession(const SessionInfo& session) {
  std::ignore = runner_.Run(options_.begin, {.name = "begin", .global_step = session.global_step});
}

void ExecListener::Listener::BeforeSave(int64_t global_step) {
  std::ignore = hook_.runner_.Run(hook_.options_.before_save,
                                  {.name = "before_save", .global_step = global_step});
}

std::optional<std::string> ExecListener::Listener::AfterSave(int64_t global_step) {
  return hook_.runner_.Run(hook_.options_.after_save,
                           {.name = "after_save", .global_step = global_step});
}

void ExecListener::Listener::End(int64_t global_step) {
  std::ignore = hook_.runner_.Run(hook_.options_.end, {.name = "end", .global_step = global_step});
}

}  // namespace tpuest
