#include "cli/shell/console.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/shell/terminal.h"
#include "core/base/interrupt.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kPlainSeconds = 60;

bool IsTerminal() {
  const char* const term = std::getenv("TERM");
  if (std::getenv("CI") != nullptr || (term != nullptr && std::string_view(term) == "dumb")) {
    return false;
  }
  return isatty(STDERR_FILENO) != 0;
}

bool Decide(Toggle toggle, bool automatic) {
  return toggle == Toggle::kAlways || (toggle == Toggle::kAuto && automatic);
}

std::string Timestamp(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string_view LevelName(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    default:
      return "error";
  }
}

std::string_view TensorFlowPrefix(Level level) {
  switch (level) {
    case Level::kDebug:
      return "DEBUG:tensorflow:";
    case Level::kInfo:
      return "INFO:tensorflow:";
    case Level::kWarning:
      return "WARNING:tensorflow:";
    default:
      return "ERROR:tensorflow:";
  }
}

std::string Formatted(LogFormat format, bool color, Level level, std::string_view line,
                      double wall_seconds) {
  switch (format) {
    case LogFormat::kTensorFlow:
      return fmt::format("{}{}\n", TensorFlowPrefix(level), line);
    case LogFormat::kJson: {
      const nlohmann::ordered_json document = {
          {"time", Timestamp(wall_seconds)}, {"level", LevelName(level)}, {"message", line}};
      return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    }
    default:
      break;
  }
  if (level == Level::kInfo || level == Level::kDebug) return fmt::format("{}\n", line);
  const char* const start = color ? (level == Level::kWarning ? "\x1b[33m" : "\x1b[31m") : "";
  return fmt::format("{}{}:{} {}\n", start, LevelName(level), color ? "\x1b[0m" : "", line);
}

std::string RateText(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.1f}M", per_second / 1e6);
  if (per_second >= 1e3) return fmt::format("{:.1f}k", per_second / 1e3);
  return fmt::format("{:.0f}", per_second);
}

}  // namespace

std::string DurationText(double seconds) {
  const int64_t total = std::llround(seconds);
  if (total < 60) return fmt::format("{}s", total);
  if (total < 3600) return fmt::format("{}m{:02}s", total / 60, total % 60);
  return fmt::format("{}h{:02}m", total / 3600, total % 3600 / 60);
}

std::string StatusText(const ProgressReport& report, double eta_seconds) {
  const bool training = report.activity == "train";
  std::string text = training ? "step " : std::string(report.activity) + " batch ";
  text += WithCommas(report.step);
  if (report.goal) text += "/" + WithCommas(*report.goal);
  if (report.loss) text += fmt::format("  loss {:.4g}", *report.loss);
  if (report.examples_per_sec > 0)
    text += fmt::format("  {} ex/s", RateText(report.examples_per_sec));
  if (training) text += fmt::format("  input-wait {:.0f}%", report.input_wait * 100);
  if (report.next_evaluation && *report.next_evaluation > report.step) {
    text += fmt::format("  eval in {}", WithCommas(*report.next_evaluation - report.step));
  }
  if (report.last_checkpoint) text += fmt::format("  ckpt {}", *report.last_checkpoint);
  if (eta_seconds >= 0) text += fmt::format("  ETA {}", DurationText(eta_seconds));
  return text;
}

Console::Console(const Invocation& invocation, const Clock& clock)
    : clock_(clock),
      format_(invocation.log_format),
      lowest_(invocation.quiet     ? Level::kWarning
              : invocation.verbose ? Level::kDebug
                                   : Level::kInfo),
      color_(Decide(invocation.color, IsTerminal() && std::getenv("NO_COLOR") == nullptr)),
      status_line_(Decide(invocation.progress, IsTerminal() && !invocation.quiet) &&
                   format_ == LogFormat::kText),
      last_line_(clock.Seconds()) {
  log_.AddSink([this](Level level, std::string_view line) { WriteLine(level, line); });
}

Console::~Console() { Clear(); }

void Console::AppendTo(const std::string& path) {
  file_ = std::make_unique<AppendFile>(path);
  file_->Append(std::exchange(unfiled_, ""));
}

void Console::Note(Level level, std::string_view line) {
  const std::string text =
      fmt::format("{} {:<7} {}\n", Timestamp(clock_.WallSeconds()), LevelName(level), line);
  if (file_) {
    file_->Append(text);
  } else {
    unfiled_ += text;
  }
}

void Console::WriteLine(Level level, std::string_view line) {
  Note(level, line);
  if (level < lowest_) return;
  Clear();
  const std::string text = Formatted(format_, color_, level, line, clock_.WallSeconds());
  // Nobody reads it, and the run is to end: the line is lost.
  if (WaitUntilReady(STDERR_FILENO, For::kWriting))
    std::fwrite(text.data(), 1, text.size(), stderr);
  last_line_ = clock_.Seconds();
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
  if (IsStatusDue(now)) Status(StatusText(report, eta));
}

void Console::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace tpuest::cli
