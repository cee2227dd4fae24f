#pragma once
// Parses the lines of a run's log into events with their numbers. The log has TensorFlow's words;
// the terminal shows fewer, and JSON has the numbers as numbers.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tpuest::cli {

struct LogEvent {
  enum class Kind {
    kOther,       // any other line
    kDetail,      // TensorFlow's internal progress, which the terminal does not show
    kStep,        // step, loss, seconds (since the line before; not of the first)
    kRate,        // steps_per_sec or examples_per_sec
    kCheckpoint,  // step, path
    kRestored,    // path
    kEvaluation,  // step, and a number a metric
    kFinalLoss,   // loss
    kEnd,         // step, why
    kExport       // path
  };
  using Field = std::pair<std::string, std::variant<int64_t, double, std::string>>;

  Kind kind = Kind::kOther;
  std::vector<Field> fields;
};

// The event's name in JSON: "step", "checkpoint"; "" of kOther and kDetail.
[[nodiscard]] std::string_view NameOf(LogEvent::Kind kind);

// Returns the event of a line.
[[nodiscard]] LogEvent EventOf(std::string_view line);

// Turns log lines, in order, into the lines that a person sees.
class Speech {
 public:
  // Returns the line to show; nullopt for none. Steps give at most one line per second, with the
  // steps per second since the previous line. now: seconds of a clock.
  [[nodiscard]] std::optional<std::string> Shown(std::string_view line, double now);

 private:
  [[nodiscard]] std::optional<std::string> Step(const LogEvent& event, double now);

  std::optional<double> last_shown_;
  std::optional<double> final_loss_;
  int64_t last_step_ = 0;
};

}  // namespace tpuest::cli
