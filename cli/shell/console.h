#pragma once
// The console shows log lines on stderr and, on a terminal, a status line, while a command runs.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/shell/invocation.h"
#include "cli/shell/log_events.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/process/files.h"
#include "core/estimator/contract/hooks.h"

namespace tpuest::cli {

// "step 1,200/20,000  loss 0.231  6.2k ex/s  input-wait 3%  eval in 800  ckpt 1000  ETA 2m10s". A
// negative ETA is unknown, and omitted. If the text is wider than `width`, the parts after the loss
// except the ETA are dropped, then the loss.
[[nodiscard]] std::string StatusText(const ProgressReport& report, double eta_seconds,
                                     size_t width = std::string::npos);
// "2026-11-25T16:20:31Z", or with milliseconds "2026-11-25T16:20:31.123Z".
[[nodiscard]] std::string Timestamp(double wall_seconds, bool with_ms = false);
// "2m10s", "45s", "3h05m".
[[nodiscard]] std::string DurationText(double seconds);

// Owns the status line and the log of one command. `clock` must outlive it.
class Console final : public ProgressListener {
 public:
  Console(const Invocation& invocation, const Clock& clock);
  ~Console() override;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  [[nodiscard]] Log& log() { return log_; }
  // Also writes every line, of any level, to this file from now on, with its time (UTC), after the
  // earlier lines. Error if the file cannot be written (kResource: a full disk).
  void AppendTo(const std::string& path);
  // Writes a line only to the file.
  void Note(LogLevel level, std::string_view line);
  // Shows a status line, redrawn at most ten times a second; without a terminal, prints a plain
  // line per minute.
  void Status(std::string_view text);
  // Shows a run's progress as such a status line.
  void Report(const ProgressReport& report) override;
  // Wipes the status line off the terminal.
  void Clear();

 private:
  void WriteLine(LogLevel level, std::string_view line);
  [[nodiscard]] std::string Formatted(LogLevel level, std::string_view line) const;
  // Returns the text that a person sees for a line; nullopt if nothing is shown.
  [[nodiscard]] std::optional<std::string> Spoken(LogLevel level, std::string_view line,
                                                  double now);
  [[nodiscard]] bool IsStatusDue(double now) const;
  [[nodiscard]] double EtaSeconds(const ProgressReport& report, double now);

  const Clock& clock_;
  LogFormat format_;
  LogLevel lowest_;
  bool color_;
  bool timestamps_;
  bool spoken_;  // the terminal shows less than the log has
  Speech speech_;
  bool status_line_;
  bool shown_ = false;       // a status line is on the terminal
  double last_shown_ = -1;   // seconds of the clock; a status line was drawn then
  double last_line_;         // seconds of the clock; a line was written then
  int64_t first_step_ = -1;  // the activity began there, for the ETA
  double first_time_ = 0;
  std::string activity_;
  std::unique_ptr<AppendFile> file_;
  std::string unfiled_;  // lines from before the file was set
  Log log_;
};

}  // namespace tpuest::cli
