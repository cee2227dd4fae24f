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
    throw Error(Code::kUsage, fmt::format("label_vocabulary has \"{}\" twice", word),
                "each class has a name of its own");
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
  // Of 32 bits: what reaches the device.
  return ops::LookupIndex(labels, vocabulary, DType::kInt32, "class_id_lookup");
}

Value ClassNames(Value ids, const LabelVocabulary& vocabulary, std::string_view name) {
  const AfterScope after(ids.graph());
  if (vocabulary.empty()) return ops::AsString(ids, {}, name);
  return ops::LookupWord(ops::Cast(ids, DType::kInt64), vocabulary, name);
}

}  // namespace tpuest::nn
