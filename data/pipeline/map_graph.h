#pragma once
// An input_fn's map steps as nodes of a graph, for the receivers of exports.

#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/graph.h"
#include "data/examples/map_nodes.h"
#include "data/options.h"

namespace tpuest::data {

// The columns that an input_fn reads from its source. `key` is its key path.
[[nodiscard]] std::vector<TensorSpec> SourceColumns(const InputFnOptions& options,
                                                    const std::string& key);

// The columns of an input_fn as a graph of map steps. Column numbers count the source's columns
// first and then one column per map step, so a step's result never hides its input from an earlier
// reader.
class MapGraph {
 public:
  MapGraph(const InputFnOptions& options, const std::vector<TensorSpec>& read)
      : map_(MapOf(options)), read_(read.size()) {
    for (size_t i = 0; i < read.size(); ++i) {
      specs_.push_back(read[i]);
      newest_[read[i].name] = i;
    }
    for (const KeyedMap& keyed : map_) Add(*keyed.op);
  }

  [[nodiscard]] const TensorSpec& spec(size_t column) const { return specs_[column]; }
  // The column that has this name after all map steps.
  [[nodiscard]] size_t Last(const std::string& name) const { return newest_.at(name); }
  // The source's columns from which this one is computed, through all steps.
  [[nodiscard]] std::set<size_t> Roots(size_t column) const {
    if (column < read_) return {column};
    std::set<size_t> roots;
    for (const auto& [name, input] : inputs_[column - read_]) roots.merge(Roots(input));
    return roots;
  }
  // The chain of columns that ends with this one; each is computed only from the previous one. The
  // chain begins with a column of the source or of a formula.
  [[nodiscard]] std::vector<size_t> Path(size_t column) const {
    std::vector<size_t> path = {column};
    while (column >= read_ && !IsFormula(column)) {
      column = InputOf(column);
      path.insert(path.begin(), column);
    }
    return path;
  }
  // True for the result of a reshape.
  [[nodiscard]] bool IsReshaped(size_t column) const {
    return column >= read_ && std::holds_alternative<ReshapeMap>(*map_[column - read_].op);
  }
  // True if all steps that lead to the column are casts.
  [[nodiscard]] bool OnlyCasts(size_t column) const {
    for (; column >= read_; column = InputOf(column)) {
      if (!std::holds_alternative<CastMap>(*map_[column - read_].op)) return false;
    }
    return true;
  }
  // Adds the nodes that compute the column, once. `built` initially holds the source's columns.
  Value Build(size_t column, std::map<size_t, Value>& built) const {
    if (const auto found = built.find(column); found != built.end()) return found->second;
    if (IsFormula(column)) return built[column] = FormulaOf(column, built);
    const size_t in = InputOf(column);
    const Value x = Build(in, built);
    return built[column] = MapNodes(*map_[column - read_].op, specs_[in], x);
  }

 private:
  [[nodiscard]] bool IsFormula(size_t column) const {
    return column >= read_ && std::holds_alternative<ExprMap>(*map_[column - read_].op);
  }
  // The only column that a step reads.
  [[nodiscard]] size_t InputOf(size_t column) const {
    return inputs_[column - read_].begin()->second;
  }
  void Add(const MapOptions& op);
  [[nodiscard]] Value FormulaOf(size_t column, std::map<size_t, Value>& built) const;

  std::vector<KeyedMap> map_;  // ops of the options, which outlive this object
  size_t read_;
  std::vector<TensorSpec> specs_;
  // The columns that each map step reads, by name.
  std::vector<std::map<std::string, size_t>> inputs_;
  std::map<std::string, size_t> newest_;
};

}  // namespace tpuest::data
