#include "core/estimator/step/host_graph.h"

#include <algorithm>

namespace tpuest {
namespace {

// Feeds of other shapes need programs of their own: short batches, lists of another length.
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
  const StepResult result = ProgramFor(std::move(key)).Run({&feeds, 1}).front();
  std::vector<Tensor> values;
  for (const std::vector<Tensor>& fetched : result.fetches) values.push_back(fetched.front());
  return values;
}

Program& HostGraph::ProgramFor(Key key) {
  const auto found = std::find_if(compiled_.begin(), compiled_.end(),
                                  [&](const Compiled& made) { return made.key == key; });
  if (found != compiled_.end()) {
    std::rotate(compiled_.begin(), found, found + 1);
    return *compiled_.front().program;
  }
  ProgramSpec spec{.graph = &graph_, .fetches = key.fetches, .targets = key.targets};
  for (size_t i = 0; i < key.placeholders.size(); ++i) {
    spec.feeds.push_back({.placeholder = key.placeholders[i],
                          .shape = key.shapes[i],
                          .cut = key.cut && key.shapes[i].rank() > 0});
  }
  auto program = backend_.Compile(spec, {.threads = threads_}, variables_);
  compiled_.push_front({std::move(key), std::move(program)});
  if (compiled_.size() > kMostHostPrograms) compiled_.pop_back();
  return *compiled_.front().program;
}

}  // namespace tpuest
