#include "core/estimator/export/exporter.h"

#include <limits>

#include "core/estimator/export/export_folder.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// An exporter in a model_dir; it writes empty folders, named by a count.
struct Bench {
  TemporaryFolder folder;
  Log log;
  int64_t next = 1500000000;
  std::unique_ptr<Exporter> exporter;

  explicit Bench(const AnyExporter& options) : exporter(MakeExporter(options, log)) {}
  bool Exports(const std::map<std::string, float>& metrics, bool is_final = false) {
    const Evaluated evaluated{.model_dir = folder.path(),
                              .label = "eval",
                              .global_step = 1,
                              .metrics = metrics,
                              .is_the_final_export = is_final};
    const std::optional<std::string> base = exporter->FolderFor(evaluated);
    if (!base) return false;
    MakeDirectories(JoinPath(*base, std::to_string(next++)));
    exporter->AfterExport(evaluated);
    return true;
  }
  [[nodiscard]] std::vector<std::string> Kept() const {
    return ListDirectory(folder.File("export/" + exporter->name()));
  }
};

template <class Options>
Options OptionsNamed(const std::string& name) {
  Options options;
  options.name = name;
  return options;
}

}  // namespace

TEST_CASE("BestExporter always exports first, then every smaller loss") {
  Bench bench{BestExporterOptions()};
  CHECK(bench.Exports({{"loss", 0.5F}}));
  CHECK(!bench.Exports({{"loss", 0.6F}}));
  CHECK(bench.Exports({{"loss", 0.4F}}));
  CHECK(!bench.Exports({{"loss", 0.4F}}));  // strictly
  CHECK(bench.exporter->name() == "best_exporter");
}

TEST_CASE("BestExporter's first export resets the best, whatever came before it") {
  Bench bench{BestExporterOptions()};
  // As if evaluations of 50 and 60 had been made without the exporter: neither was exported.
  MakeDirectories(bench.folder.File(".tpuest"));
  WriteFileAtomically(bench.folder.File(".tpuest/metrics.jsonl"),
                      "{\"step\":0,\"eval\":\"eval\",\"metrics\":{\"loss\":50}}\n"
                      "{\"step\":0,\"eval\":\"eval\",\"metrics\":{\"loss\":60}}\n");
  CHECK(bench.Exports({{"loss", 100.0F}}));
  CHECK(bench.Exports({{"loss", 10.0F}}));
  CHECK(!bench.Exports({{"loss", 20.0F}}));
}

TEST_CASE("BestExporter uses the given comparison") {
  BestExporterOptions options = OptionsNamed<BestExporterOptions>("best");
  options.compare = {.metric = "accuracy", .mode = "max"};
  Bench bench(options);
  CHECK(bench.Exports({{"accuracy", 0.7F}, {"loss", 1}}));
  CHECK(!bench.Exports({{"accuracy", 0.7F}, {"loss", 0}}));
  CHECK(bench.Exports({{"accuracy", 0.8F}, {"loss", 2}}));
  const Error error = ErrorOf([&] { (void)bench.Exports({{"loss", 1}}); });
  CHECK(error.message() == "current_eval_result cannot be empty or no accuracy is found in it.");
  CHECK(error.code() == Code::kUsage);
}

TEST_CASE("any number is better than NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(MetricOrder().Better(5, nan));
  CHECK(!MetricOrder().Better(nan, 5));
  CHECK(!MetricOrder().Better(nan, nan));
}

TEST_CASE("LatestExporter always exports and keeps the newest") {
  LatestExporterOptions options = OptionsNamed<LatestExporterOptions>("latest");
  CHECK(options.exports_to_keep == 5);
  options.exports_to_keep = 2;
  Bench bench(options);
  // A name without exactly ten digits is not an export's.
  MakeDirectories(bench.folder.File("export/latest/123456789"));
  for (int i = 0; i < 4; ++i) CHECK(bench.Exports({{"loss", 1}}));
  CHECK(bench.Kept() == std::vector<std::string>{"123456789", "1500000002", "1500000003"});
}

TEST_CASE("FinalExporter exports at the end") {
  Bench bench{OptionsNamed<FinalExporterOptions>("final")};
  CHECK(!bench.Exports({{"loss", 1}}));
  CHECK(bench.Exports({{"loss", 1}}, true));
}

TEST_CASE("a new export is later than all existing ones") {
  TemporaryFolder folder;
  CHECK(TimeOfNewest(folder.File("none"), 1600000000) == 1600000000);
  MakeDirectories(folder.File("1700000000"));
  MakeDirectories(folder.File("170000000"));
  CHECK(TimeOfNewest(folder.path(), 1600000000) == 1700000001);
  CHECK(TimeOfNewest(folder.path(), 1800000000) == 1800000000);
}

}  // namespace tpuest
