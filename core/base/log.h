#pragma once
// Lines for a person, on stderr and in the run's log file. Thread-safe; passed in, never global.

#include <fmt/format.h>

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tpuest {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

class Log {
 public:
  // Receives every line with its level, without a newline.
  using Sink = std::function<void(LogLevel, std::string_view)>;

  void AddSink(Sink sink) {
    const std::lock_guard lock(mutex_);
    sinks_.push_back(std::move(sink));
  }
  void Write(LogLevel level, std::string_view line) {
    const std::lock_guard lock(mutex_);
    for (const Sink& sink : sinks_) sink(level, line);
  }
  template <class... Args>
  void Info(fmt::format_string<Args...> format, Args&&... args) {
    Write(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void Warning(fmt::format_string<Args...> format, Args&&... args) {
    Write(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void Debug(fmt::format_string<Args...> format, Args&&... args) {
    Write(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::mutex mutex_;
  std::vector<Sink> sinks_;
};

}  // namespace tpuest
