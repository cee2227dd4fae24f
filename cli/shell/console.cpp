#include "cli/shell/console.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "cli/shell/terminal.h"
#include "core/base/error.h"
#include "core/base/process/interrupt.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kPlainSeconds = 60;

bool Decide(Toggle toggle, bool automatic) {
  return toggle == Toggle::kAlways || (toggle == Toggle::kAuto && automatic);
}

// The lowest level that is shown: by the flags, or else by TPUEST_LOG_LEVEL, which a container sets
// once for all commands.
LogLevel LowestLevel(const Invocation& invocation) {
  if (invocation.quiet) return LogLevel::kWarning;
  if (invocation.verbose) return LogLevel::kDebug;
  const char* const variable = std::getenv("TPUEST_LOG_LEVEL");
  const std::string_view name = variable == nullptr ? "" : variable;
  if (name.empty() || name == "info") return LogLevel::kInfo;
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  throw Error(Code::kUsage, fmt::format("TPUEST_LOG_LEVEL is '{}'", name),
              "debug, info, warning or error");
}

std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    default:
      return "error";
  }
}

std::string_view TensorFlowPrefix(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG:tensorflow:";
    case LogLevel::kInfo:
      return "INFO:tensorflow:";
    case LogLevel::kWarning:
      return "WARNING:tensorflow:";
    default:
      return "ERROR:tensorflow:";
  }
}

// The line as a document: time, level, message, and for an event its name and its numbers.
std::string JsonLine(LogLevel level, std::string_view line, double wall_seconds) {
  nlohmann::ordered_json document = {
      {"time", Timestamp(wall_seconds, true)}, {"level", LevelName(level)}, {"message", line}};
  const LogEvent event = EventOf(line);
  if (const std::string_view name = NameOf(event.kind); !name.empty()) document["event"] = name;
  for (const auto& [key, value] : event.fields) {
    // An evaluation's metrics have names that may be any.
    const bool is_metric = event.kind == LogEvent::Kind::kEvaluation && key != "step";
    nlohmann::ordered_json& to = is_metric ? document["metrics"][key] : document[key];
    if (const auto* const number = std::get_if<double>(&value)) {
      if (std::isfinite(*number)) to = *number;
      if (!std::isfinite(*number)) to = nullptr;
    } else if (const auto* const whole = std::get_if<int64_t>(&value)) {
      to = *whole;
    } else {
      to = std::get<std::string>(value);
    }
  }
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string RateText(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.1f}M", per_second / 1e6);
  if (per_second >= 1e3) return fmt::format("{:.1f}k", per_second / 1e3);
  return fmt::format("{:.0f}", per_second);
}

}  // namespace

std::string Timestamp(double wall_seconds, bool with_ms) {
  const auto whole = static_cast<std::time_t>(std::floor(wall_seconds));
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  if (!with_ms) return fmt::format("{}Z", text);
  const auto ms = static_cast<int>((wall_seconds - static_cast<double>(whole)) * 1000);
  return fmt::format("{}.{:03}Z", text, ms);
}

std::string DurationText(double seconds) {
  const int64_t total = std::llround(seconds);
  if (total < 60) return fmt::format("{}s", total);
  if (total < 3600) return fmt::format("{}m{:02}s", total / 60, total % 60);
  return fmt::format("{}h{:02}m", total / 3600, total % 3600 / 60);
}

std::string StatusText(const ProgressReport& report, double eta_seconds, size_t width) {
  const bool training = report.activity == "train";
  std::string start = training ? "step " : std::string(report.activity) + " batch ";
  start += WithCommas(report.step);
  if (report.goal) start += "/" + WithCommas(*report.goal);
  std::vector<std::string> parts;  // what is dispensable last stands first
  if (report.loss) parts.push_back(fmt::format("  loss {:.4g}", *report.loss));
  if (report.examples_per_sec > 0) {
    parts.push_back(fmt::format("  {} ex/s", RateText(report.examples_per_sec)));
  }
  if (training) parts.push_back(fmt::format("  input-wait {:.0f}%", report.input_wait * 100));
  if (report.next_evaluation && *report.next_evaluation > report.step) {
    parts.push_back(fmt::format("  eval in {}", WithCommas(*report.next_evaluation - report.step)));
  }
  if (report.last_checkpoint) parts.push_back(fmt::format("  ckpt {}", *report.last_checkpoint));
  const std::string eta =
      eta_seconds >= 0 ? fmt::format("  ETA {}", DurationText(eta_seconds)) : "";
  while (true) {
    std::string text = start + Join(parts, "") + eta;
    if (text.size() <= width || parts.empty()) return text;
    parts.pop_back();
  }
}

Console::Console(const Invocation& invocation, const Clock& clock)
    : clock_(clock),
      format_(invocation.log_format),
      lowest_(LowestLevel(invocation)),
      color_(HasColours(invocation.color)),
      timestamps_(invocation.timestamps),
      spoken_(format_ == LogFormat::kText && lowest_ > LogLevel::kDebug),
      status_line_(Decide(invocation.progress, IsTerminal() && !invocation.quiet) &&
                   format_ == LogFormat::kText),
      last_line_(clock.Seconds()) {
  log_.AddSink([this](LogLevel level, std::string_view line) { WriteLine(level, line); });
}

Console::~Console() { Clear(); }

void Console::AppendTo(const std::string& path) {
  file_ = std::make_unique<AppendFile>(path);
  file_->Append(std::exchange(unfiled_, ""));
}

void Console::Note(LogLevel level, std::string_view line) {
  const std::string text =
      fmt::format("{} {:<7} {}\n", Timestamp(clock_.WallSeconds()), LevelName(level), line);
  if (file_) {
    file_->Append(text);
  } else {
    unfiled_ += text;
  }
}

void Console::WriteLine(LogLevel level, std::string_view line) {
  Note(level, line);
  if (level < lowest_) return;
  const std::optional<std::string> shown = Spoken(level, line, clock_.Seconds());
  if (!shown) return;
  Clear();
  const std::string text = Formatted(level, *shown);
  // Nobody reads it, and the run is to end: the line is lost.
  if (WaitUntilReady(STDERR_FILENO, For::kWriting))
    std::fwrite(text.data(), 1, text.size(), stderr);
  last_line_ = clock_.Seconds();
}

std::optional<std::string> Console::Spoken(LogLevel level, std::string_view line, double now) {
  if (!spoken_ || level != LogLevel::kInfo) return std::string(line);
  return speech_.Shown(line, now);
}

std::string Console::Formatted(LogLevel level, std::string_view line) const {
  const double now = clock_.WallSeconds();
  if (format_ == LogFormat::kJson) return JsonLine(level, line, now);
  const std::string time = timestamps_ ? Timestamp(now, true) + " " : "";
  if (format_ == LogFormat::kTensorFlow) {
    return fmt::format("{}{}{}\n", time, TensorFlowPrefix(level), line);
  }
  if (level == LogLevel::kInfo || level == LogLevel::kDebug)
    return fmt::format("{}{}\n", time, line);
  const char* const start = color_ ? (level == LogLevel::kWarning ? "\x1b[33m" : "\x1b[31m") : "";
  return fmt::format("{}{}{}:{} {}\n", time, start, LevelName(level), color_ ? "\x1b[0m" : "",
                     line);
}

double Console::EtaSeconds(const ProgressReport& report, double now) {
  if (activity_ != report.activity || first_step_ < 0) {
    activity_ = report.activity;
    first_step_ = report.step;
    first_time_ = now;
  }
  const int64_t done = report.step - first_step_;
  if (!report.goal || done <= 0) return -1;
  return (now - first_time_) / static_cast<double>(done) *
         static_cast<double>(*report.goal - report.step);
}

bool Console::IsStatusDue(double now) const {
  return status_line_ ? now - last_shown_ >= kRedrawSeconds : now - last_line_ >= kPlainSeconds;
}

void Console::Status(std::string_view text) {
  const double now = clock_.Seconds();
  if (!IsStatusDue(now)) return;
  if (!status_line_) return log_.Info("{}", text);
  fmt::print(stderr, "\r\x1b[K{}",
             text.substr(0, static_cast<size_t>(TerminalColumns(STDERR_FILENO) - 1)));
  std::fflush(stderr);
  shown_ = true;
  last_shown_ = now;
}

void Console::Report(const ProgressReport& report) {
  const double now = clock_.Seconds();
  const double eta = EtaSeconds(report, now);
  if (!IsStatusDue(now)) return;
  const size_t width =
      status_line_ ? static_cast<size_t>(TerminalColumns(STDERR_FILENO) - 1) : std::string::npos;
  Status(StatusText(report, eta, width));
}

void Console::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace tpuest::cli
