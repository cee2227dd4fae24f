#include "core/estimator/step/programs/host_graph.h"

#include <algorithm>

#include "core/graph/bound_op.h"

namespace tpuest {
namespace {

// Feeds with other shapes need their own programs: short batches, lists of another length.
constexpr size_t kMostHostPrograms = 16;

}  // namespace

std::vector<Tensor> HostGraph::Run(const HostWork& work) {
  Key key{.fetches = work.fetches, .targets = work.targets, .cut = work.cut};
  StepFeeds feeds;
  for (const auto& [placeholder, value] : work.feeds) {
    key.placeholders.push_back(placeholder);
    key.shapes.push_back(value.shape());
    feeds.push_back({value});
  }
  const StepResult result = ProgramFor(std::move(key), feeds).Run({&feeds, 1}).front();
  std::vector<Tensor> values;
  for (const std::vector<Tensor>& fetched : result.fetches) values.push_back(fetched.front());
  return values;
}

Program& HostGraph::ProgramFor(Key key, const StepFeeds& feeds) {
  const auto found = std::find_if(compiled_.begin(), compiled_.end(),
                                  [&](const Compiled& made) { return made.key == key; });
  if (found != compiled_.end() && !found->is_of_values) {
    std::rotate(compiled_.begin(), found, found + 1);
    return *compiled_.front().program;
  }
  if (found != compiled_.end()) compiled_.erase(found);
  const bool is_of_values = IsSizedByValues(key.fetches, key.targets);
  ProgramSpec spec{.graph = &graph_, .fetches = key.fetches, .targets = key.targets};
  for (size_t i = 0; i < key.placeholders.size(); ++i) {
    spec.feeds.push_back({.placeholder = key.placeholders[i],
                          .shape = key.shapes[i],
                          .cut = key.cut && key.shapes[i].rank() > 0});
    if (is_of_values) spec.feeds.back().value = feeds[i].front();
  }
  auto program = backend_.Compile(spec, {.threads = threads_}, variables_);
  compiled_.push_front({std::move(key), std::move(program), is_of_values});
  if (compiled_.size() > kMostHostPrograms) compiled_.pop_back();
  return *compiled_.front().program;
}

}  // namespace tpuest
