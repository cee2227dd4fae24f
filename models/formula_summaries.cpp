#include "models/formula_summaries.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/graph/cut.h"
#include "core/ops/elementwise.h"

namespace tpuest::models {
namespace {

// The formulas of an entry by their keys.
std::vector<std::pair<std::string_view, const Formula*>> FormulasOf(const FormulaSummary& summary) {
  std::vector<std::pair<std::string_view, const Formula*>> given = {
      {"scalar", &summary.scalar},
      {"histogram", &summary.histogram},
      {"image", &summary.image},
      {"text", &summary.text},
      {"audio", &summary.audio}};
  std::erase_if(given, [](const auto& formula) { return formula.second->empty(); });
  return given;
}

// Converts a name as tf.summary does: other characters become _, and leading slashes are removed.
std::string CleanTag(const std::string& name) {
  std::string tag = name;
  for (char& c : tag) {
    const bool stays = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
                       c == '-' || c == '/';
    if (!stays) c = '_';
  }
  tag.erase(0, std::min(tag.find_first_not_of('/'), tag.size()));
  return tag.empty() ? "summary" : tag;
}

class Adder {
 public:
  Adder(Graph& graph, const nn::FormulaNames& names, TPUEstimatorSpec& spec)
      : graph_(graph), names_(names), spec_(spec) {
    for (const auto& [tag, value] : spec.summaries) tags_.insert(tag);
    for (const auto& [tag, value] : spec.histograms) tags_.insert(tag);
    for (const std::string reserved : {"loss", "learning_rate"}) tags_.insert(reserved);
  }

  void Add(const FormulaSummary& summary) {
    const auto given = FormulasOf(summary);
    if (given.size() != 1) {
      throw Error(Code::kUsage, "a summary needs exactly one formula",
                  "{scalar: \"mean(abs(logits))\"}")
          .At(summary.place);
    }
    const auto& [kind, formula] = given.front();
    const Value value = nn::BuildFormula(graph_, *formula, names_);
    const std::string tag = Unique(CleanTag(summary.name.empty() ? formula->text : summary.name));
    if (kind == "scalar") {
      spec_.summaries[tag] = Scalar(value, *formula);
      return;
    }
    ShownTensor shown{.tag = tag, .value = value};
    if (kind == "histogram") CheckNumbers(value, *formula);
    if (kind == "image" || kind == "audio") {
      CheckMany(value, kind, summary, *formula);
      shown.kind = kind == "image" ? ShownTensor::Kind::kImage : ShownTensor::Kind::kAudio;
      shown.most = summary.max_outputs;
      shown.sample_rate = static_cast<float>(summary.sample_rate);
    }
    if (kind == "text") {
      if (value.dtype() != DType::kString) {
        Refuse(value, *formula, "texts", "as_string(x) makes texts");
      }
      shown.kind = ShownTensor::Kind::kText;
    }
    spec_.shown.push_back(std::move(shown));
  }

 private:
  // A name that is taken gets a number, as a scope of TensorFlow's.
  std::string Unique(const std::string& tag) {
    std::string unique = tag;
    for (int i = 1; !tags_.insert(unique).second; ++i) unique = fmt::format("{}_{}", tag, i);
    return unique;
  }

  [[noreturn]] static void Refuse(const Value& value, const Formula& formula,
                                  std::string_view expected, const std::string& hint = "") {
    throw Error(Code::kUsage,
                fmt::format("the summary is {} {}, expected {}", NameOf(value.dtype()),
                            value.shape().Text(), expected),
                hint)
        .At(formula.place);
  }

  static void CheckNumbers(const Value& value, const Formula& formula) {
    if (value.dtype() == DType::kString) Refuse(value, formula, "numbers");
  }

  [[nodiscard]] Value Scalar(const Value& value, const Formula& formula) const {
    CheckNumbers(value, formula);
    if (value.shape() != Shape()) {
      Refuse(value, formula, "one number", "mean(...) reduces many numbers to one");
    }
    const Value real = ops::Cast(value, DType::kFloat);
    if (CutGraph(graph_, {real}, {}).PartOf(*real.node) != Part::kDevice) {
      throw Error(Code::kUsage, "a scalar is recorded at every step and cannot depend on strings",
                  "use histogram: for such numbers")
          .At(formula.place);
    }
    return real;
  }

  static void CheckMany(const Value& value, std::string_view kind, const FormulaSummary& summary,
                        const Formula& formula) {
    if (kind == "image") {
      CheckImages(value, formula);
    } else {
      CheckSounds(value, summary, formula);
    }
    if (summary.max_outputs >= 1) return;
    throw Error(Code::kUsage,
                fmt::format("max_outputs must be > 0, given: {}", summary.max_outputs))
        .At(summary.place);
  }

  static void CheckSounds(const Value& value, const FormulaSummary& summary,
                          const Formula& formula) {
    const Shape& shape = value.shape();
    const bool is_sound = shape.known_rank() && (shape.rank() == 2 || shape.rank() == 3) &&
                          value.dtype() == DType::kFloat;
    if (!is_sound) {
      Refuse(value, formula, "[batch, frames] or [batch, frames, channels] of float32",
             "cast(x, float32), expand_dims(x, -1)");
    }
    if (summary.sample_rate >= 1) return;
    throw Error(Code::kUsage,
                fmt::format("sample_rate is {}, expected samples per second",
                            NumberText(summary.sample_rate)),
                "sample_rate: 16000")
        .At(summary.place);
  }

  static void CheckImages(const Value& value, const Formula& formula) {
    const Shape& shape = value.shape();
    const bool is_image = shape.known_rank() && shape.rank() == 4 &&
                          (shape.dim(3) == 1 || shape.dim(3) == 3 || shape.dim(3) == 4);
    const bool is_pixel = value.dtype() == DType::kUint8 || IsFloating(value.dtype());
    if (is_image && is_pixel) return;
    Refuse(value, formula, "[batch, height, width, 1, 3 or 4] of uint8 or floating-point numbers",
           "reshape(x, [-1, 28, 28, 1]), cast(x, float32)");
  }

  Graph& graph_;
  const nn::FormulaNames& names_;
  TPUEstimatorSpec& spec_;
  std::set<std::string> tags_;
};

}  // namespace

std::vector<std::string> NamesIn(const FormulaSummary& summary) {
  std::vector<std::string> names;
  for (const auto& [kind, formula] : FormulasOf(summary)) {
    const std::vector<std::string> of = nn::NamesIn(*formula);
    names.insert(names.end(), of.begin(), of.end());
  }
  return names;
}

void AddFormulaSummaries(Graph& graph, const std::vector<FormulaSummary>& summaries,
                         const nn::FormulaNames& names, TPUEstimatorSpec& spec) {
  Adder adder(graph, names, spec);
  for (const FormulaSummary& summary : summaries) adder.Add(summary);
}

}  // namespace tpuest::models
