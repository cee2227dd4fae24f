#include "cli/run/record/series.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kTrain = "train";

class SeriesReader {
 public:
  void Take(const Json& line) {
    const bool is_line =
        line.is_object() && line.contains("step") && line["step"].is_number_integer();
    if (!is_line) return;
    const auto step = line["step"].get<int64_t>();
    if (!line.contains("eval")) return TakeValues(std::string(kTrain), step, line);
    const bool is_evaluation = line["eval"].is_string() && line.contains("metrics");
    if (is_evaluation) TakeValues(line["eval"].get<std::string>(), step, line["metrics"]);
  }

  RunSeries Finish() {
    std::stable_partition(run_.series.begin(), run_.series.end(),
                          [](const Series& series) { return series.of == kTrain; });
    return std::move(run_);
  }

 private:
  void TakeValues(const std::string& of, int64_t step, const Json& values) {
    for (const auto& [metric, value] : values.items()) {
      if (metric == "step" || !(value.is_number() || value.is_null())) continue;
      const double number =
          value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
      SeriesOf(of, metric).points.push_back({step, number});
    }
  }

  Series& SeriesOf(const std::string& of, const std::string& metric) {
    for (Series& series : run_.series) {
      if (series.of == of && series.metric == metric) return series;
    }
    return run_.series.emplace_back(Series{of, metric, {}});
  }

  RunSeries run_;
};

}  // namespace

std::string RunSeries::NameOf(const Series& named) const {
  std::set<std::string> evaluations;
  for (const Series& each : series) {
    if (each.of != kTrain) evaluations.insert(each.of);
  }
  const bool is_plain = named.of != kTrain && evaluations.size() == 1;
  return is_plain ? named.metric : named.of + "/" + named.metric;
}

const Series* RunSeries::Named(const std::string& name) const {
  const auto found = std::find_if(series.begin(), series.end(),
                                  [&](const Series& each) { return NameOf(each) == name; });
  return found == series.end() ? nullptr : &*found;
}

const Series* RunSeries::Find(const std::string& name) const {
  const auto first = [&](const auto& fits) -> const Series* {
    const auto found = std::find_if(series.begin(), series.end(), fits);
    return found == series.end() ? nullptr : &*found;
  };
  const Series* found =
      first([&](const Series& each) { return each.of != kTrain && each.metric == name; });
  if (found == nullptr) {
    found = first([&](const Series& each) { return each.of + "/" + each.metric == name; });
  }
  return found != nullptr ? found : first([&](const Series& each) { return each.metric == name; });
}

std::optional<int64_t> RunSeries::last_step() const {
  std::optional<int64_t> last;
  for (const Series& each : series) {
    if (!each.points.empty()) last = std::max(last.value_or(0), each.points.back().step);
  }
  return last;
}

RunSeries ParseRunSeries(const std::string& text) {
  SeriesReader reader;
  for (const std::string& line : Split(text, '\n')) {
    reader.Take(Json::parse(line, nullptr, /*allow_exceptions=*/false));
  }
  return reader.Finish();
}

RunSeries ReadRunSeries(const std::string& model_dir) {
  const std::string path = MetricsPath(model_dir);
  return FileExists(path) ? ParseRunSeries(ReadFile(path)) : RunSeries();
}

std::optional<int64_t> LastLoggedStep(const std::string& model_dir) {
  constexpr std::streamoff kTail = 4096;  // holds several lines
  std::ifstream file(MetricsPath(model_dir), std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTail));
  const std::string tail{std::istreambuf_iterator<char>(file), {}};
  std::optional<int64_t> step;
  for (const std::string& line : Split(tail, '\n')) {
    const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool is_line =
        object.is_object() && object.contains("step") && object["step"].is_number_integer();
    if (is_line) step = object["step"].get<int64_t>();
  }
  return step;
}

}  // namespace tpuest::cli
