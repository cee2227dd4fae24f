#pragma once
// An input_fn's map steps as nodes of a graph, for receivers of exports.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/graph.h"
#include "data/examples/map_nodes.h"
#include "data/options.h"

namespace tpuest {

// The columns that an input_fn reads from its source. `key` is its key path.
[[nodiscard]] std::vector<TensorSpec> SourceColumns(const InputFnOptions& options,
                                                    const std::string& key);

// The columns of an input_fn as a graph of map steps: numbers count the columns that are read
// first, then one a map step, so that a step's result never hides its input from an earlier reader.
class MapGraph {
 public:
  MapGraph(const InputFnOptions& options, const std::vector<TensorSpec>& read)
      : options_(options), read_(read.size()) {
    for (size_t i = 0; i < read.size(); ++i) {
      specs_.push_back(read[i]);
      newest_[read[i].name] = i;
    }
    for (const MapOptions& op : options.map) {
      const MapColumns& names = ColumnsOf(op);
      const size_t in = newest_.at(names.in);
      inputs_.push_back(in);
      newest_[names.out.value_or(names.in)] = specs_.size();
      specs_.push_back(ResolveMap(op, specs_[in], "").spec);
    }
  }

  [[nodiscard]] const TensorSpec& spec(size_t column) const { return specs_[column]; }
  // The column that has this name after all map steps.
  [[nodiscard]] size_t Last(const std::string& name) const { return newest_.at(name); }
  // The column that is read for it, through all steps.
  [[nodiscard]] size_t Root(size_t column) const {
    while (column >= read_) column = inputs_[column - read_];
    return column;
  }
  // The columns from that one to this, each made of the one before.
  [[nodiscard]] std::vector<size_t> Path(size_t column) const {
    std::vector<size_t> path = {column};
    for (; column >= read_; path.insert(path.begin(), column)) column = inputs_[column - read_];
    return path;
  }
  // True for what a reshape made.
  [[nodiscard]] bool IsReshaped(size_t column) const {
    return column >= read_ && std::holds_alternative<ReshapeMap>(options_.map[column - read_]);
  }
  // True if no step on the way to it computes: casts only.
  [[nodiscard]] bool OnlyCasts(size_t column) const {
    for (; column >= read_; column = inputs_[column - read_]) {
      if (!std::holds_alternative<CastMap>(options_.map[column - read_])) return false;
    }
    return true;
  }
  // Adds the nodes that make the column, once; `built` holds the columns that are read.
  Value Build(size_t column, std::map<size_t, Value>& built) const {
    if (const auto found = built.find(column); found != built.end()) return found->second;
    const size_t in = inputs_[column - read_];
    const Value x = Build(in, built);
    return built[column] = MapNodes(options_.map[column - read_], specs_[in], x);
  }

 private:
  const InputFnOptions& options_;
  size_t read_;
  std::vector<TensorSpec> specs_;
  std::vector<size_t> inputs_;  // of each map step
  std::map<std::string, size_t> newest_;
};

}  // namespace tpuest
