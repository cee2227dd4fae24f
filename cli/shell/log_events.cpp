#include "cli/shell/log_events.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "cli/shell/tables.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"

namespace tpuest::cli {
namespace {

constexpr double kStepSeconds = 1;  // between two lines of steps

// The beginnings of lines in which TensorFlow tells of its own doing.
constexpr std::string_view kDetails[] = {"'",
                                         "Assets added to graph.",
                                         "Calling checkpoint listeners ",
                                         "Calling model_fn.",
                                         "Create CheckpointSaverHook.",
                                         "Done calling model_fn.",
                                         "Done running local_init_op.",
                                         "ElapsedTime: ",
                                         "Evaluation [",
                                         "Finished evaluation at ",
                                         "Graph was finalized.",
                                         "Inference Time : ",
                                         "Initializing RunConfig with distribution strategies.",
                                         "Loading best metric from event files.",
                                         "No assets to save.",
                                         "No assets to write.",
                                         "Not using Distribute Coordinator.",
                                         "Running eval on ",
                                         "Running infer on ",
                                         "Running local_init_op.",
                                         "Running train on ",
                                         "Running training and evaluation locally ",
                                         "Saving 'checkpoint_path' summary for global step ",
                                         "Signatures EXCLUDED from export ",
                                         "Signatures INCLUDED in export ",
                                         "Start train and evaluate loop. ",
                                         "Starting evaluation at ",
                                         "Using config: ",
                                         "_TPUContext: ",
                                         "_is_running_on_cpu: "};

// Takes words off the front of a line.
class Words {
 public:
  explicit Words(std::string_view rest) : rest_(rest) {}

  bool Take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // The text up to `end`, which is also removed; nullopt if it is absent.
  std::optional<std::string_view> Until(std::string_view end) {
    const size_t at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return text;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::optional<double> NumberOf(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0') return std::nullopt;
  return number;
}

using Fields = std::optional<std::vector<LogEvent::Field>>;

// "loss = 0.5, step = 100 (0.4 sec)"
Fields StepOf(Words words) {
  if (!words.Take("loss = ")) return std::nullopt;
  const auto loss_text = words.Until(", step = ");
  if (!loss_text) return std::nullopt;
  const std::optional<double> loss = NumberOf(*loss_text);
  const std::string_view step_text = words.rest().substr(0, words.rest().find(' '));
  const auto step = WholeNumber<int64_t>(step_text);
  words.Take(step_text);
  if (!loss || !step) return std::nullopt;
  std::vector<LogEvent::Field> fields = {{"step", *step}, {"loss", *loss}};
  if (words.rest().empty()) return fields;
  if (!words.Take(" (")) return std::nullopt;
  const auto seconds_text = words.Until(" sec)");
  const auto seconds = seconds_text ? NumberOf(*seconds_text) : std::nullopt;
  if (!seconds || !words.rest().empty()) return std::nullopt;
  fields.emplace_back("seconds", *seconds);
  return fields;
}

Fields RateOf(Words words) {
  const bool of_steps = words.Take("global_step/sec: ");
  if (!of_steps && !words.Take("examples/sec: ")) return std::nullopt;
  const std::optional<double> rate = NumberOf(words.rest());
  if (!rate) return std::nullopt;
  return {{{of_steps ? "steps_per_sec" : "examples_per_sec", *rate}}};
}

// "Saving checkpoints for 100 into run/model.ckpt."
Fields CheckpointOf(Words words) {
  if (!words.Take("Saving checkpoints for ")) return std::nullopt;
  const auto step_text = words.Until(" into ");
  const auto step = step_text ? WholeNumber<int64_t>(*step_text) : std::nullopt;
  if (!step || !words.rest().ends_with('.')) return std::nullopt;
  const std::string_view base = words.rest().substr(0, words.rest().size() - 1);
  return {{{"step", *step}, {"path", fmt::format("{}-{}", base, *step)}}};
}

Fields RestOf(Words words, std::string_view beginning, const char* name) {
  if (!words.Take(beginning)) return std::nullopt;
  return {{{name, std::string(words.rest())}}};
}

// "Saving dict for global step 50: accuracy = 0.9, global_step = 50, loss = 0.4"
Fields EvaluationOf(Words words) {
  if (!words.Take("Saving dict for global step ")) return std::nullopt;
  const auto step_text = words.Until(": ");
  const auto step = step_text ? WholeNumber<int64_t>(*step_text) : std::nullopt;
  if (!step) return std::nullopt;
  std::vector<LogEvent::Field> fields = {{"step", *step}};
  for (const std::string& item : Split(std::string(words.rest()), ',')) {
    const size_t at = item.find(" = ");
    if (at == std::string::npos) return std::nullopt;
    const std::string name =
        item.substr(item.find_first_not_of(' '), at - item.find_first_not_of(' '));
    const std::optional<double> value = NumberOf(std::string_view(item).substr(at + 3));
    if (!value) return std::nullopt;
    if (name != "global_step") fields.emplace_back(name, *value);
  }
  return fields;
}

Fields FinalLossOf(Words words) {
  if (!words.Take("Loss for final step: ") || !words.rest().ends_with('.')) return std::nullopt;
  const auto loss = NumberOf(words.rest().substr(0, words.rest().size() - 1));
  if (!loss) return {{}};
  return {{{"loss", *loss}}};
}

// "stopped at step 20: max_steps"
Fields EndOf(Words words) {
  if (!words.Take("stopped at step ")) return std::nullopt;
  const auto step_text = words.Until(": ");
  const auto step = step_text ? WholeNumber<int64_t>(*step_text) : std::nullopt;
  if (!step) return std::nullopt;
  return {{{"step", *step}, {"stopped_because", std::string(words.rest())}}};
}

bool IsDetail(std::string_view line) {
  for (const std::string_view beginning : kDetails) {
    if (line.starts_with(beginning)) return true;
  }
  return false;
}

std::string NumberShown(double value) {
  if (!std::isfinite(value) || (value != 0 && (std::abs(value) >= 1e4 || std::abs(value) < 1e-3))) {
    return fmt::format("{:.3g}", value);
  }
  return fmt::format("{:.{}f}", value, std::abs(value) >= 100 ? 1 : 3);
}

template <class T>
const T* Find(const LogEvent& event, std::string_view name) {
  for (const auto& [key, value] : event.fields) {
    if (key == name) return std::get_if<T>(&value);
  }
  return nullptr;
}

std::string EvaluationText(const LogEvent& event) {
  std::string text = fmt::format("evaluated at step {}", WithCommas(*Find<int64_t>(event, "step")));
  for (const auto& [name, value] : event.fields) {
    if (const double* const number = std::get_if<double>(&value)) {
      text += fmt::format("  {} {}", name, NumberShown(*number));
    }
  }
  return text;
}

}  // namespace

std::string_view NameOf(LogEvent::Kind kind) {
  constexpr std::string_view kNames[] = {"",           "",         "step",       "rate",
                                         "checkpoint", "restored", "evaluation", "final_loss",
                                         "end",        "export"};
  return kNames[static_cast<int>(kind)];
}

LogEvent EventOf(std::string_view line) {
  using Kind = LogEvent::Kind;
  const Words words(line);
  if (Fields of = StepOf(words)) return {Kind::kStep, std::move(*of)};
  if (Fields of = RateOf(words)) return {Kind::kRate, std::move(*of)};
  if (Fields of = CheckpointOf(words)) return {Kind::kCheckpoint, std::move(*of)};
  if (Fields of = RestOf(words, "Restoring parameters from ", "path")) {
    return {Kind::kRestored, std::move(*of)};
  }
  if (Fields of = EvaluationOf(words)) return {Kind::kEvaluation, std::move(*of)};
  if (Fields of = FinalLossOf(words)) return {Kind::kFinalLoss, std::move(*of)};
  if (Fields of = EndOf(words)) return {Kind::kEnd, std::move(*of)};
  if (Fields of = RestOf(words, "SavedModel written to: ", "path")) {
    return {Kind::kExport, std::move(*of)};
  }
  return {IsDetail(line) ? Kind::kDetail : Kind::kOther, {}};
}

std::optional<std::string> Speech::Step(const LogEvent& event, double now) {
  if (last_shown_ && now - *last_shown_ < kStepSeconds) return std::nullopt;
  const int64_t step = *Find<int64_t>(event, "step");
  std::string text =
      fmt::format("step {}  loss {}", WithCommas(step), NumberShown(*Find<double>(event, "loss")));
  if (last_shown_ && step > last_step_) {
    const double rate = static_cast<double>(step - last_step_) / (now - *last_shown_);
    text += fmt::format("  {} steps/s", CountText(rate));
  }
  last_shown_ = now;
  last_step_ = step;
  return text;
}

std::optional<std::string> Speech::Shown(std::string_view line, double now) {
  using Kind = LogEvent::Kind;
  const LogEvent event = EventOf(line);
  switch (event.kind) {
    case Kind::kStep:
      return Step(event, now);
    case Kind::kDetail:
    case Kind::kRate:
      return std::nullopt;
    case Kind::kFinalLoss:
      if (const double* const loss = Find<double>(event, "loss")) final_loss_ = *loss;
      return std::nullopt;
    case Kind::kEnd:
      if (!final_loss_) return std::string(line);
      return fmt::format("{}, loss {}", line, NumberShown(*final_loss_));
    case Kind::kCheckpoint:
      return "saved " + *Find<std::string>(event, "path");
    case Kind::kEvaluation:
      return EvaluationText(event);
    default:
      return std::string(line);
  }
}

}  // namespace tpuest::cli
