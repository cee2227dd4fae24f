#include "core/nn/label_vocabulary.h"

#include <set>

#include "core/base/text.h"
#include "core/ops/elementwise.h"
#include "core/ops/lookup.h"
#include "core/ops/strings.h"

namespace tpuest::nn {

void CheckLabelVocabulary(const LabelVocabulary& vocabulary, int64_t n_classes) {
  if (vocabulary.empty()) return;
  if (static_cast<int64_t>(vocabulary.size()) != n_classes) {
    throw Error(Code::kUsage,
                fmt::format("\"label_vocabulary\" does not have \"n_classes\" items. "
                            "len(label_vocabulary)={}, n_classes={}, label_vocabulary=['{}']",
                            vocabulary.size(), n_classes, Join(vocabulary, "', '")));
  }
  std::set<std::string_view> seen;
  for (const std::string& word : vocabulary) {
    if (seen.insert(word).second) continue;
    throw Error(Code::kUsage, fmt::format("label_vocabulary contains \"{}\" twice", word),
                "each class needs a different name");
  }
}

Value LabelIds(Value labels, const LabelVocabulary& vocabulary) {
  if (labels.dtype() != DType::kString) {
    throw Error(Code::kUsage,
                fmt::format("Labels dtype should be string if there is a vocabulary. Instead got "
                            "{}",
                            NameOf(labels.dtype())),
                "without label_vocabulary, labels are the numbers of the classes");
  }
  // Ids have 32 bits, for they reach the device.
  const Value table = ops::IndexTable(labels.graph(), vocabulary, DType::kInt32, "class_id_lookup");
  return ops::LookupVocabulary(table, labels, "label_ids");
}

void AddClassNames(const LabelVocabulary& vocabulary, std::map<std::string, Value>& predictions) {
  const Value class_ids = predictions.at("class_ids");
  const Value all_class_ids = predictions.at("all_class_ids");
  Graph& graph = class_ids.graph();
  const AfterScope after(graph);
  if (vocabulary.empty()) {
    predictions["all_classes"] = ops::AsString(all_class_ids, {}, "all_classes");
    predictions["classes"] = ops::AsString(class_ids, {}, "str_classes");
    return;
  }
  const Value table = ops::WordTable(graph, vocabulary, "class_string_lookup");
  predictions["all_classes"] =
      ops::LookupVocabulary(table, ops::Cast(all_class_ids, DType::kInt64), "all_classes");
  predictions["classes"] = ops::LookupVocabulary(table, class_ids, "str_classes");
}

Value ClassNames(const LabelVocabulary& vocabulary, Value ids) {
  Graph& graph = ids.graph();
  const AfterScope after(graph);
  if (vocabulary.empty()) return ops::AsString(ids, {}, "classes");
  const Value table = ops::WordTable(graph, vocabulary, "class_string_lookup");
  return ops::LookupVocabulary(table, ops::Cast(ids, DType::kInt64), "classes");
}

}  // namespace tpuest::nn
