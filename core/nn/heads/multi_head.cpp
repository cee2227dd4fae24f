#include "core/nn/heads/multi_head.h"

#include <optional>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/nn/heads/heads.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

constexpr const char* kLoss = "loss";
constexpr const char* kRegularization = "regularization_loss";
constexpr const char* kWeights = "weights";
constexpr const char* kExampleWeight = "example_weight";

[[noreturn]] void RefuseHeads(std::string message, std::string hint) {
  throw Error(Code::kUsage, std::move(message), std::move(hint));
}

// The result of f(head), called with the struct that the head is.
template <class F>
auto Ask(const NamedHead& head, F f) {
  return std::visit([&](const auto& h) { return f(h); }, head);
}

std::string NameOf(const NamedHead& head) {
  return Ask(head, [](const auto& h) { return h.name.value_or(""); });
}

std::string ReductionOf(const NamedHead& head) {
  return Ask(head, [](const auto& h) { return h.loss_reduction; });
}

// Words as Python prints a list of them: "['a', 'b']".
std::string ListText(const std::vector<std::string>& words) {
  return words.empty() ? "[]" : "['" + Join(words, "', '") + "']";
}

// The tensors whose key starts with "<head>/", without it.
Tensors TensorsOf(const std::string& head, const Tensors& all) {
  const std::string prefix = head + "/";
  Tensors own;
  for (const auto& [key, value] : all) {
    if (key.starts_with(prefix)) own[key.substr(prefix.size())] = value;
  }
  return own;
}

// The metric "loss/<head>", the mean over batches of a head's loss, which is made of its metric
// tensors.
MetricBuilder LossMetric(const std::string& head, LossReduction reduction) {
  const std::string name = fmt::format("{}/{}", kLoss, head);
  return [=](Graph& graph, const Tensors& all) {
    const Tensors own = TensorsOf(head, all);
    const auto given = [&](const char* key) { return own.contains(key) ? own.at(key) : Value(); };
    const LossWeights weights{.weights = given(kWeights), .example_weight = given(kExampleWeight)};
    return MeanMetric(graph, name, ReduceLoss(own.at("losses"), weights, reduction), {});
  };
}

// Merges the outputs of several heads as those of one.
class Merger {
 public:
  explicit Merger(const HeadInputs& inputs) : inputs_(inputs) {}

  void Add(const std::string& name, const std::string& reduction, double weight,
           const HeadOutputs& head) {
    for (const auto& [key, value] : head.predictions) merged_.predictions[name + "/" + key] = value;
    AddSignatures(name, head);
    if (!head.loss.valid()) return;
    losses_.push_back(weight == 1 ? head.loss : ops::Mul(head.loss, weight));
    AddMetrics(name, reduction, head);
  }

  HeadOutputs Finish(const std::string& scope_name) {
    merged_.export_outputs[kPredictSignature] = {ExportKind::kPredict, merged_predict_};
    if (!losses_.empty()) SetLoss(scope_name);
    return std::move(merged_);
  }

 private:
  void AddSignatures(const std::string& name, const HeadOutputs& head) {
    for (const auto& [key, signature] : head.export_outputs) {
      merged_.export_outputs[key == kDefaultSignature ? name : name + "/" + key] = signature;
      if (key != kPredictSignature) continue;
      for (const auto& [k, value] : signature.outputs) merged_predict_[name + "/" + k] = value;
    }
    if (!merged_.export_outputs.contains(kDefaultSignature)) {
      merged_.export_outputs[kDefaultSignature] = head.export_outputs.at(kDefaultSignature);
    }
  }

  void AddMetrics(const std::string& name, const std::string& reduction, const HeadOutputs& head) {
    for (const auto& [key, value] : head.metric_tensors) {
      merged_.metric_tensors[name + "/" + key] = value;
    }
    if (inputs_.example_weight.valid()) {
      merged_.metric_tensors[name + "/" + kExampleWeight] =
          ops::ExpandDims(inputs_.example_weight, -1);
    }
    for (const auto& [key, build] : head.metrics) {
      merged_.metrics[key] = [name, build = build](Graph& graph, const Tensors& all) {
        return build(graph, TensorsOf(name, all));
      };
    }
    merged_.metrics[fmt::format("{}/{}", kLoss, name)] =
        LossMetric(name, ParseLossReduction(reduction));
  }

  void SetLoss(const std::string& scope_name) {
    merged_.loss = ops::AddN(losses_, kLoss);
    if (inputs_.regularization_losses.empty()) return;
    const Value regularization = ops::AddN(inputs_.regularization_losses, kRegularization);
    merged_.loss = ops::AddV2(merged_.loss, regularization, kLoss);
    const Value zeros = ops::ZerosLike(ops::Slice(inputs_.logits, {0, 0}, {-1, 1}));
    merged_.metric_tensors[kRegularization] =
        ops::AddV2(ops::Cast(zeros, DType::kFloat), regularization);
    const std::string key = fmt::format("{}/{}", kRegularization, scope_name);
    merged_.metrics[key] = [key](Graph& graph, const Tensors& all) {
      return MeanMetric(graph, key, all.at(kRegularization), {});
    };
  }

  const HeadInputs& inputs_;
  HeadOutputs merged_;
  std::map<std::string, Value> merged_predict_;
  std::vector<Value> losses_;
};

void CheckLogits(const MultiHead& head, const Shape& shape) {
  const bool fits = shape.known_rank() && shape.rank() == 2;
  if (!fits) {
    RefuseHeads(fmt::format("logits shape must be [D0, D1, ... DN, logits_dimension], got {}.",
                            shape.Text()),
                fmt::format("the last layer must give the logits: [batch, {}] for these heads",
                            head.logits_dimension()));
  }
  const int64_t all = head.logits_dimension();
  if (shape.dim(1) == all) return;
  std::vector<std::string> each;
  for (const NamedHead& one : head.heads) {
    each.push_back(std::to_string(Ask(one, [](const auto& h) { return h.logits_dimension(); })));
  }
  // TensorFlow prints what there is before what there should be; the hint says it right.
  RefuseHeads(
      fmt::format("Could not split logits of shape {} among the heads with individual logits "
                  "dimensions: [{}]. The last dimension of the logits tensor should equal {} "
                  "but is {}.",
                  shape.Text(), Join(each, ", "), shape.dim(1), all),
      fmt::format("these heads take {} = {} logits, but the last layer gives {}", Join(each, " + "),
                  all, shape.dim(1)));
}

void CheckLabels(const MultiHead& head, const Labels<Value>& labels) {
  if (!labels.valid()) return;
  std::vector<std::string> names;
  std::vector<std::string> missing;
  for (const NamedHead& one : head.heads) {
    names.push_back(NameOf(one));
    if (labels.Find(names.back()) == nullptr) missing.push_back(names.back());
  }
  const std::string hint =
      fmt::format("labels: {{{}: COLUMN}} in the input_fn", Join(names, ": COLUMN, "));
  if (!labels.is_dict()) {
    RefuseHeads(fmt::format("labels must be a dict. Given: '{}'", labels.only().name()), hint);
  }
  if (!missing.empty()) {
    RefuseHeads(fmt::format("labels has missing values for head(s): {}", ListText(missing)), hint);
  }
}

void CheckLogitsByHead(const MultiHead& head, const std::map<std::string, Value>& logits) {
  std::set<std::string> names;
  for (const NamedHead& one : head.heads) {
    names.insert(NameOf(one));
    if (logits.contains(NameOf(one))) continue;
    RefuseHeads(fmt::format("logits has missing values for head '{}'", NameOf(one)),
                fmt::format("outputs: {{{}: LAYER}}", NameOf(one)));
  }
  for (const auto& [name, value] : logits) {
    if (names.contains(name)) continue;
    RefuseHeads(fmt::format("the model gives logits for '{}', which is not a head", name),
                "the heads are " + Join({names.begin(), names.end()}, ", "));
  }
}

// The part of the logits in a row that is a head's, from `begin` on.
Value PartOf(Value logits, int64_t begin, int64_t width) {
  const NameScope scope(logits.graph(), "split_logits");
  return ops::Slice(logits, {0, begin}, {-1, width});
}

// The inputs of one of the heads: its logits, in a row from `begin` on, and its label.
HeadInputs InputsOf(const NamedHead& head, const HeadInputs& all, int64_t begin) {
  const int64_t width = Ask(head, [](const auto& h) { return h.logits_dimension(); });
  const auto given = all.logits_by_head.find(NameOf(head));
  HeadInputs own{
      .features = all.features, .example_weight = all.example_weight, .replicas = all.replicas};
  own.logits = given != all.logits_by_head.end() ? given->second : PartOf(all.logits, begin, width);
  if (all.labels.valid()) own.labels = *all.labels.Find(NameOf(head));
  return own;
}

}  // namespace

std::string MultiHead::scope_name() const {
  std::vector<std::string> names;
  for (const NamedHead& head : heads) names.push_back(NameOf(head));
  return Join(names, "_");
}

int64_t MultiHead::logits_dimension() const {
  int64_t sum = 0;
  for (const NamedHead& head : heads) {
    sum += Ask(head, [](const auto& h) { return h.logits_dimension(); });
  }
  return sum;
}

std::string MultiHead::reduction() const {
  return heads.empty() ? "SUM_OVER_BATCH_SIZE" : ReductionOf(heads.back());
}

Labels<LabelRange> MultiHead::label_ranges() const {
  Labels<LabelRange>::Dict ranges;
  for (const NamedHead& head : heads) {
    const auto range =
        Ask(head, [](const auto& h) -> std::optional<LabelRange> { return h.label_range(); });
    if (range) ranges.emplace(NameOf(head), *range);
  }
  return Labels<LabelRange>(std::move(ranges));
}

std::set<std::string> MultiHead::weight_columns() const {
  std::set<std::string> columns;
  for (const NamedHead& head : heads) {
    const std::string column =
        Ask(head, [](const auto& h) { return h.weight_column.value_or(""); });
    if (!column.empty()) columns.insert(column);
  }
  return columns;
}

void MultiHead::CheckOptions() const {
  if (heads.empty()) {
    RefuseHeads("Must specify heads. Given: []", "heads: [{type: BinaryClassHead, name: clicks}]");
  }
  if (!head_weights.empty() && head_weights.size() != heads.size()) {
    RefuseHeads(fmt::format("heads and head_weights must have the same size. Given len(heads): {}. "
                            "Given len(head_weights): {}.",
                            heads.size(), head_weights.size()),
                "give one weight per head, or none");
  }
  std::set<std::string> names;
  std::vector<std::string> reductions;
  for (const NamedHead& head : heads) {
    const std::string name = NameOf(head);
    const auto type = Ask(head, [](const auto& h) { return std::string_view(h.kType); });
    if (name.empty()) {
      RefuseHeads(fmt::format("All given heads must have name specified. Given: {}", type),
                  "name: clicks; its label has the same name");
    }
    if (!names.insert(name).second) {
      RefuseHeads(fmt::format("two heads are called '{}'", name), "give one of them another name");
    }
    reductions.push_back(ReductionOf(head));
  }
  for (const std::string& reduction : reductions) {
    if (ParseLossReduction(reduction) == ParseLossReduction(reductions.front())) continue;
    RefuseHeads(fmt::format("The loss_reduction must be the same for different heads. Given: {}",
                            ListText(reductions)),
                "set head_weights to scale their losses");
  }
}

HeadOutputs MultiHead::Build(const HeadInputs& inputs) const {
  CheckOptions();
  if (inputs.logits_by_head.empty()) {
    CheckLogits(*this, inputs.logits.shape());
  } else {
    CheckLogitsByHead(*this, inputs.logits_by_head);
  }
  CheckLabels(*this, inputs.labels);
  Merger merger(inputs);
  int64_t begin = 0;
  for (size_t i = 0; i < heads.size(); ++i) {
    const HeadInputs own = InputsOf(heads[i], inputs, begin);
    const AnyHead head = Ask(heads[i], [](const auto& h) { return AnyHead(h); });
    merger.Add(NameOf(heads[i]), ReductionOf(heads[i]),
               head_weights.empty() ? 1.0 : head_weights[i], BuildHead(head, own));
    begin += Ask(heads[i], [](const auto& h) { return h.logits_dimension(); });
  }
  return merger.Finish(scope_name());
}

}  // namespace tpuest::nn
