#pragma once
// What a person sees on stderr while a command runs: log lines and, on a terminal, a status line.

#include <memory>
#include <string>

#include "cli/shell/invocation.h"
#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/base/log.h"
#include "core/estimator/contract/hooks.h"

namespace tpuest::cli {

// "step 1,200/20,000  loss 0.231  6.2k ex/s  input-wait 3%  eval in 800  ckpt 1000  ETA 2m10s".
[[nodiscard]] std::string StatusText(const ProgressReport& report, double eta_seconds);
// "2m10s", "45s", "3h05m".
[[nodiscard]] std::string DurationText(double seconds);

class Console final : public ProgressListener {
 public:
  Console(const Invocation& invocation, const Clock& clock);
  ~Console() override;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  [[nodiscard]] Log& log() { return log_; }
  // Every line goes to this file too, with its time; also those that came before.
  void AppendTo(const std::string& path);
  // A line for the file alone.
  void Note(Level level, std::string_view line);
  // A status line at most ten times a second; off a terminal a plain line a minute.
  void Status(std::string_view text);
  // The same of a run's progress.
  void Report(const ProgressReport& report) override;
  // Wipes the status line.
  void Clear();

 private:
  void WriteLine(Level level, std::string_view line);
  [[nodiscard]] bool IsStatusDue(double now) const;
  [[nodiscard]] double EtaSeconds(const ProgressReport& report, double now);

  const Clock& clock_;
  LogFormat format_;
  Level lowest_;
  bool color_;
  bool status_line_;
  bool shown_ = false;       // a status line stands on the terminal
  double last_shown_ = -1;   // when a status line was last drawn
  double last_line_;         // when anything was last written off a terminal
  int64_t first_step_ = -1;  // of this activity, for the ETA
  double first_time_ = 0;
  std::string activity_;
  std::unique_ptr<AppendFile> file_;
  std::string unfiled_;  // lines from before there was a file
  Log log_;
};

}  // namespace tpuest::cli
