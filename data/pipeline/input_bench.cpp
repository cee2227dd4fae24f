#include "data/pipeline/input_bench.h"

#include <algorithm>
#include <variant>

#include "data/examples/map_step.h"
#include "data/pipeline/input_fn.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

// Records between two reads of the clock, whose cost would otherwise count as part of a record's
// time.
constexpr int64_t kReads = 256;

double ReadIndexed(const IndexedSource& source, const Clock& clock, double secs) {
  if (source.size() == 0) return 0;
  Row row;
  int64_t index = 0;
  int64_t records = 0;
  const double begin = clock.Seconds();
  double now = begin;
  do {
    for (int64_t i = 0; i < kReads; ++i) {
      source.Read(index, row);
      index = index + 1 == source.size() ? 0 : index + 1;
    }
    records += kReads;
    now = clock.Seconds();
  } while (now - begin < secs);
  return static_cast<double>(records) / std::max(now - begin, 1e-9);
}

double ReadStreamed(StreamedSource& source, const Clock& clock, double secs) {
  std::string_view bytes;
  Provenance from;
  int64_t records = 0;
  const double begin = clock.Seconds();
  double now = begin;
  source.Rewind();
  do {
    for (int64_t i = 0; i < kReads; ++i) {
      if (source.Next(bytes, from)) {
        ++records;
        continue;
      }
      // An empty stream would be rewound for ever.
      if (records == 0) return 0;
      source.Rewind();
    }
    now = clock.Seconds();
  } while (now - begin < secs);
  return static_cast<double>(records) / std::max(now - begin, 1e-9);
}

bool IsCached(const InputFnOptions& options) {
  const bool* const flag = std::get_if<bool>(&options.cache);
  return flag == nullptr || *flag;
}

double ReadRate(const InputFnOptions& options, const std::string& name, const Clock& clock,
                double secs) {
  AnySource source = OpenSource(options.source, IsCached(options), "input_fns." + name + ".source",
                                options.data_errors);
  if (auto* const indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source)) {
    return ReadIndexed(**indexed, clock, secs);
  }
  return ReadStreamed(*std::get<std::unique_ptr<StreamedSource>>(source), clock, secs);
}

// Measures the stages as prefixes of the input_fn: up to reading, parsing, mapping and shuffling.
// The cost of a stage is that of its prefix minus that of the previous prefix.
class Bench {
 public:
  Bench(InputFnOptions options, const std::string& name, const InputBenchArgs& args)
      : options_(std::move(options)), name_(name), args_(args) {
    options_.repeat = -1;  // a measurement must not run out of records
    options_.drop_remainder = true;
    PlanStages();
    PlanVariants();
  }

  InputBench Run() {
    // Divides the time equally among the measurements: the stages, the variants, reading, and the
    // whole input_fn.
    const double secs = args_.secs / static_cast<double>(stages_.size() + variants_.size() + 2);
    InputBench bench{.workers = args_.context.threads};
    if (const auto* const number = std::get_if<int64_t>(&options_.num_parallel_calls)) {
      bench.workers = static_cast<int>(*number);
    }
    bench.stages.push_back({"read", ReadRate(options_, name_, args_.clock, secs)});
    for (const auto& [stage, options] : stages_) {
      bench.stages.push_back({stage, Rate(options, secs)});
    }
    bench.examples_per_sec = Rate(options_, secs);
    for (const auto& [key, options] : variants_) {
      bench.variants.push_back({key, Rate(options, secs)});
    }
    AddShares(bench.stages);
    return bench;
  }

 private:
  using Named = std::pair<std::string, InputFnOptions>;

  // Each plan ends after its stage, and all existing columns become part of the batch.
  void PlanStages() {
    InputFnOptions cut = options_;
    cut.num_parallel_calls = int64_t{1};
    cut.features.clear();
    cut.labels.reset();
    cut.id.reset();
    cut.forwarded.clear();
    cut.map.clear();
    cut.filter = {};
    cut.stages.clear();
    cut.shuffle.reset();
    stages_.emplace_back(Parses(cut) ? "parse" : "batch", cut);
    for (const KeyedMap& keyed : MapOf(options_)) cut.map.push_back(*keyed.op);
    if (!cut.map.empty()) stages_.emplace_back("map", cut);
    if (!options_.filter.empty()) {
      cut.filter = options_.filter;
      stages_.emplace_back("filter", cut);
    }
    if (!options_.stages.empty()) {
      cut.map.clear();
      cut.stages = options_.stages;
      stages_.emplace_back("stages", cut);
    }
    if (options_.shuffle) {
      cut.shuffle = options_.shuffle;
      stages_.emplace_back("shuffle", cut);
    }
  }

  // Tries other values for what the job disables or sets, one key at a time.
  void PlanVariants() {
    if (!IsCached(options_)) {
      variants_.emplace_back("cache: memory", options_);
      variants_.back().second.cache = std::string("memory");
    }
    if (std::holds_alternative<int64_t>(options_.num_parallel_calls)) {
      variants_.emplace_back("num_parallel_calls: auto", options_);
      variants_.back().second.num_parallel_calls = std::string("auto");
    }
    if (std::holds_alternative<int64_t>(options_.prefetch)) {
      variants_.emplace_back("prefetch: auto", options_);
      variants_.back().second.prefetch = std::string("auto");
    }
  }

  double Rate(const InputFnOptions& options, double secs) const {
    InputContext context = args_.context;
    const auto stream = MakeInputFn(options, name_)(context);
    return RateOf(*stream, args_.clock, secs);
  }

  // The time of a stage is the difference to the previous one; noise may make it negative.
  static void AddShares(std::vector<StageRate>& stages) {
    double before = 0;
    double sum = 0;
    for (StageRate& stage : stages) {
      const double secs = stage.examples_per_sec > 0 ? 1 / stage.examples_per_sec : 0;
      stage.share = std::max(secs - before, 0.0);
      before = std::max(before, secs);
      sum += stage.share;
    }
    for (StageRate& stage : stages) stage.share = sum > 0 ? stage.share / sum : 0;
  }

  InputFnOptions options_;
  std::string name_;
  const InputBenchArgs& args_;
  std::vector<Named> stages_;
  std::vector<Named> variants_;
};

}  // namespace

double RateOf(BatchStream& stream, const Clock& clock, double secs) {
  if (!stream.Next()) return 0;
  int64_t examples = 0;
  const double begin = clock.Seconds();
  double now = begin;
  do {
    const std::optional<Batch> batch = stream.Next();
    if (!batch) break;
    examples += batch->examples;
    now = clock.Seconds();
  } while (now - begin < secs);
  return static_cast<double>(examples) / std::max(now - begin, 1e-9);
}

InputBench BenchInput(const InputFnOptions& options, const std::string& name,
                      const InputBenchArgs& args) {
  return Bench(options, name, args).Run();
}

}  // namespace tpuest::data
