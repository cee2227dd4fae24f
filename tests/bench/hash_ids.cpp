// Prints bucket ids for the lines on stdin. A line has a text, another text and an integer,
// separated by tabs. Prints the id of the first text, and those of its crosses with the other text
// and with the integer, one per line.
//
//   hash_ids BUCKETS < LINES

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "core/backend/cpu/program.h"
#include "core/ops/all_ops.h"
#include "core/ops/strings.h"

namespace tpuest {
namespace {

struct Columns {
  std::vector<std::string> texts, others;
  std::vector<int64_t> integers;
};

Columns ReadLines(std::istream& in) {
  Columns columns;
  std::string text;
  std::string other;
  std::string integer;
  while (std::getline(in, text, '\t') && std::getline(in, other, '\t') &&
         std::getline(in, integer)) {
    columns.texts.push_back(text);
    columns.others.push_back(other);
    columns.integers.push_back(std::strtoll(integer.c_str(), nullptr, 10));
  }
  return columns;
}

void PrintIds(const Columns& columns, int64_t buckets) {
  const auto rows = static_cast<int64_t>(columns.texts.size());
  const OpRegistry registry(ops::AllOps());
  Graph graph(registry);
  const Value text = graph.Placeholder(DType::kString, {rows}, "text");
  const Value other = graph.Placeholder(DType::kString, {rows}, "other");
  const Value integer = graph.Placeholder(DType::kInt64, {rows}, "integer");
  ProgramSpec spec{.graph = &graph};
  for (const Value& feed : {text, other, integer}) spec.feeds.push_back({feed, {rows}});
  spec.fetches = {ops::StringToHashBucketFast(text, buckets),
                  ops::SparseCrossHashed({text, other}, buckets),
                  ops::SparseCrossHashed({text, integer}, buckets)};
  VariableStore variables;
  const StepFeeds feeds = {{Tensor::Strings({rows}, columns.texts)},
                           {Tensor::Strings({rows}, columns.others)},
                           {Tensor::Of<int64_t>({rows}, columns.integers)}};
  const auto results = MakeCpuBackend()->Compile(spec, {}, variables)->Run({&feeds, 1});
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < spec.fetches.size(); ++i) {
      std::cout << results[0].fetches[i][0].data<int64_t>()[row]
                << (i + 1 < spec.fetches.size() ? '\t' : '\n');
    }
  }
}

}  // namespace
}  // namespace tpuest

int main(int argc, char** argv) {
  const int64_t buckets = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 1000;
  try {
    tpuest::PrintIds(tpuest::ReadLines(std::cin), buckets);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
