#include "models/keras/config/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/nn/optimizers/keras_optimizers.h"
#include "models/keras/config/arguments.h"

namespace tpuest {
namespace {

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// A schedule's section if it is of this class.
template <class T>
std::optional<KerasJson> ScheduleAs(const std::string& name, const KerasJson& options) {
  if constexpr (requires { T::kKeras; }) {
    if (T::kKeras.empty() || T::kKeras != name) return std::nullopt;
    KerasConfig config(options);
    config.Ignore({"name"});
    // Without a target Keras does not look at the steps.
    if (MemberOf(options, "warmup_target").is_null()) config.Ignore({"warmup_steps"});
    ArgumentSection section(config);
    section.Rename("learning_rate", "initial_learning_rate");
    T usual;
    usual.Visit(section);
    config.Finish();
    KerasJson schedule = {{"type", T::kType}};
    schedule.update(section.Take());
    if (!schedule.contains("warmup_target")) schedule.erase("warmup_steps");
    return schedule;
  }
  return std::nullopt;
}

template <class... Ts>
KerasJson ScheduleOf(const KerasJson& rate, const std::variant<Ts...>* /*kinds*/) {
  const std::string name = KerasClassOf(rate);
  const KerasJson& options = MemberOf(rate, "config");
  std::optional<KerasJson> found;
  try {
    (void)((found = ScheduleAs<Ts>(name, options)).has_value() || ...);
  } catch (const KerasRefusal& refusal) {
    RefuseKeras(fmt::format("learning_rate ({}): {}", name, refusal.message), refusal.hint);
  }
  if (!found) RefuseKeras(fmt::format("the schedule '{}' is not supported", name));
  return *found;
}

KerasJson RateOf(const KerasJson& rate) {
  if (rate.is_object()) {
    return ScheduleOf(rate, static_cast<const nn::LearningRate*>(nullptr));
  }
  if (!rate.is_number()) {
    RefuseKeras(fmt::format("learning_rate is {}, expected a number or a schedule", rate.dump()));
  }
  return ShortNumbers(rate);
}

// Arguments of Keras' optimizers that the legacy ones, which a job has, do not have.
void CheckOthers(KerasConfig& config, std::vector<std::string>& notes) {
  config.Ignore({"name", "jit_compile", "is_legacy_optimizer"});
  const KerasJson& decay = config.Take("weight_decay");
  if (!decay.is_null() && decay != false && decay != 0) {
    RefuseKeras(fmt::format("weight_decay is {}, which is not supported", decay.dump()),
                "set weight_decay=None, or an optimizer in the job");
  }
  config.Expect("use_ema", false);
  config.Ignore({"ema_momentum", "ema_overwrite_frequency"});  // of use_ema
  config.Expect("amsgrad", false);
  config.Expect("gradient_accumulation_steps", 1,
                "set gradient_accumulation_steps of an optimizer in the job");
  const KerasJson& scale = config.Take("loss_scale_factor");
  if (!scale.is_null()) {
    notes.push_back(fmt::format(
        "loss_scale_factor: {} is dropped: gradients are float32, which it does not change",
        scale.dump()));
  }
}

template <class T>
std::optional<KerasJson> OptimizerAs(const std::string& name, const KerasJson& options,
                                     std::vector<std::string>& notes) {
  if (!SameWord(T::kType, name)) return std::nullopt;
  KerasConfig config(options);
  KerasJson optimizer = {{"type", T::kType}};
  const KerasJson& old = config.Take("lr");
  const KerasJson& rate = config.Take("learning_rate");
  if (!rate.is_null() || !old.is_null()) {
    optimizer["learning_rate"] = RateOf(rate.is_null() ? old : rate);
  }
  ArgumentSection section(config);
  T usual;
  usual.Visit(section);
  optimizer.update(section.Take());
  if (MemberOf(optimizer, "decay") == 0) optimizer.erase("decay");
  CheckOthers(config, notes);
  config.Finish();
  return optimizer;
}

template <class... Ts>
KerasJson OptimizerOf(const KerasJson& given, std::vector<std::string>& notes,
                      const std::variant<Ts...>* /*kinds*/) {
  const std::string name = KerasClassOf(given);
  std::optional<KerasJson> found;
  (void)((found = OptimizerAs<Ts>(name, MemberOf(given, "config"), notes)).has_value() || ...);
  if (!found) RefuseKeras("it is not supported");
  return *found;
}

}  // namespace

std::string KerasClassOf(const KerasJson& object) {
  std::string name = object.is_string() ? object.get<std::string>() : WordOf(object, "class_name");
  for (const std::string_view package : {"Custom>", "Keras>"}) {
    if (name.starts_with(package)) return name.substr(package.size());
  }
  return name;
}

KerasJson KerasOptimizerOf(const KerasJson& given, std::vector<std::string>& notes) {
  return OptimizerOf(given, notes, static_cast<const nn::KerasOptimizer*>(nullptr));
}

}  // namespace tpuest
