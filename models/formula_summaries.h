#pragma once
// `summaries:` of a job that are formulas: the equivalent of a model_fn's calls of tf.summary.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/formula_text.h"
#include "core/estimator/contract/contract.h"
#include "core/nn/formula/formula.h"

namespace tpuest::models {

// Exactly one of the formulas must be given (core/nn/formula/formula.h).
struct FormulaSummary {
  Formula scalar = {};
  Formula histogram = {};
  Formula image = {};
  Formula text = {};
  Formula audio = {};
  std::string name;
  int64_t max_outputs = 3;
  double sample_rate = 0;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("scalar", scalar, {.help = "formula of one number per batch", .tpuest = true});
    v("histogram", histogram, {.help = "formula of numbers", .tpuest = true});
    v("image", image,
      {.help = "formula of [batch, height, width, channels] with 1, 3 or 4 channels",
       .tpuest = true});
    v("text", text, {.help = "formula of strings", .tpuest = true});
    v("name", name, {.help = "tag of the events; default: the formula", .tpuest = true});
    v("audio", audio,
      {.help = "formula of [batch, frames] or [batch, frames, channels], from -1 to 1",
       .tpuest = true});
    v("max_outputs", max_outputs,
      {.help = "maximum number of images or sounds per batch", .tpuest = true});
    v("sample_rate", sample_rate, {.help = "sample rate of sounds, in Hz", .tpuest = true});
  }
};

// An entry of `summaries:`: a tag that the model has, or a formula.
using AnySummary = std::variant<std::string, FormulaSummary>;

// The names that the entry's formula reads.
[[nodiscard]] std::vector<std::string> NamesIn(const FormulaSummary& summary);

// Builds the formulas. Puts scalars into spec.summaries and all others into spec.shown, under the
// tags of tf.compat.v1.summary. Throws Error kUsage, at its place, for an entry without exactly one
// formula, for errors of BuildFormula, and for values of another type or shape.
void AddFormulaSummaries(Graph& graph, const std::vector<FormulaSummary>& summaries,
                         const nn::FormulaNames& names, TPUEstimatorSpec& spec);

}  // namespace tpuest::models
