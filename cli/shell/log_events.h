#pragma once
// The events that the lines of a run's log tell of, with their numbers. The log has TensorFlow's
// words; people are shown fewer, and machines get the numbers as numbers.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tpuest::cli {

struct LogEvent {
  enum class Kind {
    kOther,       // a line that stands for itself
    kDetail,      // what TensorFlow says of its own doing: people are not shown it
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

// What a line tells.
[[nodiscard]] LogEvent EventOf(std::string_view line);

// Makes of lines what a person is shown of them, in their order.
class Speech {
 public:
  // The line as it is shown; nullopt: it is not. Of steps there is a line a second at most, with
  // the steps per second since the one before. now: seconds of a clock.
  [[nodiscard]] std::optional<std::string> Shown(std::string_view line, double now);

 private:
  [[nodiscard]] std::optional<std::string> Step(const LogEvent& event, double now);

  std::optional<double> last_shown_;
  std::optional<double> final_loss_;
  int64_t last_step_ = 0;
};

}  // namespace tpuest::cli
