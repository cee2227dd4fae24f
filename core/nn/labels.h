#pragma once
// Labels: one tensor, or a dict by head, as tf.estimator.MultiHead takes them.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::nn {

// One T per label: its column, spec, tensor, placeholder or range. An element that is not valid()
// counts as absent.
template <class T>
class Labels {
 public:
  using Dict = std::map<std::string, T>;

  Labels() = default;
  Labels(T only) {  // NOLINT(google-explicit-constructor): most models have one label
    if (IsValid(only)) items_.emplace("", std::move(only));
  }
  // Labels by head; names are not empty.
  explicit Labels(Dict dict) : items_(std::move(dict)) {}

  // True if there are labels.
  [[nodiscard]] bool valid() const { return !items_.empty(); }
  [[nodiscard]] size_t size() const { return items_.size(); }
  [[nodiscard]] bool is_dict() const { return valid() && !items_.begin()->first.empty(); }

  // Returns the only label. Throws Error kUsage for a dict; there must be labels.
  [[nodiscard]] const T& only() const {
    Check(valid(), "there are no labels");
    if (is_dict()) {
      throw Error(
          Code::kUsage,
          fmt::format("labels must be one tensor. Given: a dict of {}", Join(names(), ", ")),
          "labels: COLUMN in the input_fn; only MultiHead takes a dict");
    }
    return items_.begin()->second;
  }
  // Returns the label of this head in a dict, or nullptr.
  [[nodiscard]] const T* Find(const std::string& head) const {
    const auto found = items_.find(head);
    return head.empty() || found == items_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, item] : items_) names.push_back(name);
    return names;
  }

  // Iterates over pairs of head name ("" for a single label) and item, in the order of the names.
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }

  // Returns labels under the same names with f(item) or f(head, item) as items.
  template <class F>
  [[nodiscard]] auto Map(F f) const {
    const auto apply = [&](const std::string& name, const T& item) {
      if constexpr (requires { f(name, item); }) {
        return f(name, item);
      } else {
        return f(item);
      }
    };
    Labels<decltype(apply(std::string(), std::declval<const T&>()))> mapped;
    for (const auto& [name, item] : items_) mapped.items_.emplace(name, apply(name, item));
    return mapped;
  }

 private:
  template <class U>
  friend class Labels;

  static bool IsValid(const T& item) {
    if constexpr (requires { item.valid(); }) return item.valid();
    return true;
  }

  Dict items_;
};

}  // namespace tpuest::nn
