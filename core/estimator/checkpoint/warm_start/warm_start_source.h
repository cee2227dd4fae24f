#pragma once
// The checkpoint for a warm start; returns values by the graph's names.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/graph/graph.h"
#include "core/io/bundle.h"
#include "core/io/object_graph.h"

namespace tpuest {

class WarmStartSource {
 public:
  // `variables`: the variables of the graph whose values are needed.
  WarmStartSource(const std::string& prefix, const Graph& graph,
                  const std::vector<const Variable*>& variables, bool dealt_by_mod = false);

  // A tensor of the checkpoint.
  struct Entry {
    std::string key;  // in the checkpoint
    Shape shape;
    DType dtype = DType::kInvalid;
  };
  // Returns the stored value of the variable `name`, or of `previous` unless that is empty; nullopt
  // if there is none.
  [[nodiscard]] std::optional<Entry> Find(const std::string& name,
                                          const std::string& previous) const;
  // Reads the value, with rows in order. Throws Error kCheckpoint if it is damaged.
  [[nodiscard]] Tensor Read(const Entry& entry) const;

  [[nodiscard]] const BundleReader& reader() const { return reader_; }
  [[nodiscard]] const std::string& prefix() const { return reader_.prefix(); }
  [[nodiscard]] bool is_object_based() const { return objects_.has_value(); }

 private:
  [[nodiscard]] std::string KeyOf(const std::string& name) const;

  BundleReader reader_;
  bool dealt_by_mod_ = false;
  std::optional<ObjectGraph> objects_;
  std::map<std::string, std::string> keys_;  // object keys of variables, by the graph's names
  // slots and step counts of objects, by the graph's names
  std::map<std::string, Tensor> optimizers_;
};

}  // namespace tpuest
