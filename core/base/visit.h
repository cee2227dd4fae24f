#pragma once
// A set of options is declared once: a plain struct lists its fields in a template Visit.
//
//   struct MomentumOptimizer {
//     static constexpr std::string_view kType = "MomentumOptimizer";  // value of `type:`
//     static constexpr std::string_view kSummary = "a part of the last step is kept";  // a phrase
//     LearningRate learning_rate;
//     double momentum = 0.0;
//     bool use_nesterov = false;
//     Place place;                          // optional: the reader stores where the section stands
//
//     template <class V>
//     void Visit(V& v) {
//       v("learning_rate", learning_rate, {.help = "a number or a schedule", .required = true});
//       v("momentum", momentum, {.help = "fraction of the last update kept", .required = true});
//       v("use_nesterov", use_nesterov, {.help = "look ahead, Sutskever et al. 2013"});
//     }
//   };
//
// A field is one of: bool, int, int64_t, uint64_t, double, std::string, Formula, Period, StepCount,
// Raw, std::optional<T> (null), Given<T> (null or absent), std::vector<T>, std::map<std::string,
// T>, another such struct, or std::variant of these. A variant's struct alternatives are told apart
// by `type:` (kType, and the further names in kAliases where the struct has that array); its scalar
// alternatives by the kind of the YAML value; a bare string that is some alternative's kType stands
// for that struct with defaults, so `metrics: [accuracy]` is `metrics: [{type: accuracy}]`. If
// another key than `type:` distinguishes the structs, each names it as kTypeKey ("op" for `{op:
// cast, in: image}`). A variant may also hold one struct without kType or one std::map: a map whose
// values are all maps and whose keys are none of the struct's is the std::map.
//
// An absent section keeps the defaults it is constructed with, unless it is required; a section
// that is there must hold every required key of its struct. Visit only lists: it may be called at
// any time, and on a copy.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tpuest {

// A Field says what is known about a field beside its type and its default (the value that it is
// constructed with).
struct Field {
  std::string_view help;  // one line
  bool required = false;
  bool tpuest = false;                   // not TensorFlow's own word
  std::vector<std::string_view> values;  // allowed values of a string, if they are few
  bool input_path = false;               // resolved against the job file's folder
  // False where it is known that a run's losses and parameters depend neither on this key nor on
  // those below it: where files go, how often something is written, what is evaluated.
  bool changes_bits = true;
};

// An option for which absence means something else than null: not given, null, or a value. Code
// that only needs the value uses it as a std::optional.
template <class T>
class Given : public std::optional<T> {
 public:
  Given() = default;
  template <class U>
  Given& operator=(U&& value) {
    std::optional<T>::operator=(std::forward<U>(value));
    given_ = true;
    return *this;
  }
  void reset() {
    std::optional<T>::reset();
    given_ = true;
  }
  T& emplace() {
    given_ = true;
    return std::optional<T>::emplace();
  }

  [[nodiscard]] bool is_given() const { return given_; }

 private:
  bool given_ = false;
};

// A value of any kind that its part interprets later: kept as YAML flow text ("[1, 2]", "abc").
struct Raw {
  std::string text;
  bool operator==(const Raw&) const = default;
};

// A stretch of training: "500" steps, "2ep" epochs, or "90s", "10m", "1h" of time.
struct Period {
  enum class Unit { kSteps, kEpochs, kSeconds };
  double value = 0;
  Unit unit = Unit::kSteps;
  bool operator==(const Period&) const = default;
};

}  // namespace tpuest
