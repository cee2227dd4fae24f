// The trials of a sweep, its tasks in an array, and the values read from runs.

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "cli/host/task_index.h"
#include "cli/many/sweep/best.h"
#include "cli/many/sweep/draws.h"
#include "cli/many/sweep/trials.h"
#include "cli/run/record/series.h"
#include "core/base/error.h"

namespace tpuest::cli {
namespace {

using Texts = std::vector<std::string>;

std::string MessageOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.code() == Code::kUsage);
    return error.message();
  }
  return "";
}

TEST_CASE("values are split at commas outside quotes and brackets") {
  CHECK(SplitValues("1,2") == Texts{"1", "2"});
  CHECK(SplitValues("[1,2],[3]") == Texts{"[1,2]", "[3]"});
  CHECK(SplitValues("{a: [1, 2], b: 3},\"x,y\"") == Texts{"{a: [1, 2], b: 3}", "\"x,y\""});
  CHECK(SplitValues("").empty());
}

TEST_CASE("a grid's last key moves fastest, and draws are outermost") {
  const std::vector<Trial> trials = ExpandTrials(
      {.grid = {"a=1,2", "b=x,y,z"}, .random = {"c=uniform(0,1)"}, .draws = 2, .seed = 5});
  REQUIRE(trials.size() == 12);
  CHECK(trials[0].name == "trial_000");
  CHECK(trials[11].name == "trial_011");
  CHECK(trials[1].values[0].second == "1");
  CHECK(trials[1].values[1].second == "y");
  CHECK(trials[3].values[0].second == "2");
  CHECK(trials[6].values[0].second == "1");
  CHECK(trials[0].values[2].second != trials[6].values[2].second);
}

TEST_CASE("the draws of a key depend only on seed, trial and the key's name") {
  const auto draws = [](Texts random, int64_t count, uint64_t seed) {
    Texts values;
    for (const Trial& trial : ExpandTrials({{}, std::move(random), count, seed})) {
      values.push_back(trial.values.back().second);
    }
    return values;
  };
  const Texts alone = draws({"a=uniform(0,1)"}, 3, 1);
  CHECK(draws({"b=normal(0,1)", "a=uniform(0,1)"}, 3, 1) == alone);
  CHECK(draws({"a=uniform(0,1)"}, 2, 1) == Texts(alone.begin(), alone.begin() + 2));
  CHECK(draws({"a=uniform(0,1)"}, 3, 2) != alone);
}

TEST_CASE("draws have their distribution") {
  constexpr int kDraws = 4000;
  const auto each = [](const char* text, const std::function<void(double)>& take) {
    const Distribution distribution = ParseDistribution(text);
    for (int trial = 0; trial < kDraws; ++trial) {
      take(std::stod(DrawValue(distribution, 11, trial)));
    }
  };
  double sum = 0;
  each("k=uniform(2,4)", [&](double x) {
    CHECK(x >= 2);
    CHECK(x <= 4);
    sum += x;
  });
  CHECK(sum / kDraws == doctest::Approx(3).epsilon(0.02));
  int below = 0;
  each("k=loguniform:1e-4,1", [&](double x) { below += x < 1e-2 ? 1 : 0; });
  CHECK(below == doctest::Approx(kDraws / 2.0).epsilon(0.05));
  std::map<double, int> counts;
  each("k=randint(1,4)", [&](double x) { ++counts[x]; });
  CHECK(counts.size() == 4);
  for (const auto& [value, count] : counts) {
    CHECK(count == doctest::Approx(kDraws / 4.0).epsilon(0.1));
  }
  double squares = 0;
  each("k=normal(1,0.5)", [&](double x) { squares += (x - 1) * (x - 1); });
  CHECK(std::sqrt(squares / kDraws) == doctest::Approx(0.5).epsilon(0.05));
  std::set<std::string> chosen;
  const Distribution choice = ParseDistribution("k=choice(relu,[1,2],x)");
  for (int trial = 0; trial < 100; ++trial) chosen.insert(DrawValue(choice, 1, trial));
  CHECK(chosen == std::set<std::string>{"relu", "[1,2]", "x"});
}

TEST_CASE("an invalid distribution is refused with the reason") {
  const auto says = [](const char* text) {
    return MessageOf([&] { std::ignore = ParseDistribution(text); });
  };
  CHECK(says("k=uniform(1)") == "--random k=uniform(1): uniform takes two numbers, found 1");
  CHECK(says("k=uniform(2,1)") == "--random k=uniform(2,1): 2 is larger than 1");
  CHECK(says("k=uniform(a,1)") == "--random k=uniform(a,1): 'a' is not a number");
  CHECK(says("k=loguniform(0,1)") == "--random k=loguniform(0,1): 0 has no logarithm");
  CHECK(says("k=randint(0,1.5)") == "--random k=randint(0,1.5): randint takes integers");
  CHECK(says("k=normal(0,-1)") == "--random k=normal(0,-1): the standard deviation -1 is negative");
  CHECK(says("k=uniform(-1e308,1e308)") ==
        "--random k=uniform(-1e308,1e308): its numbers are too far apart");
  CHECK(says("k=normal(0,1e308)") == "--random k=normal(0,1e308): its numbers are too large");
  CHECK(says("k=0.1") == "--random k=0.1: expected KEY=DISTRIBUTION(...)");
}

TEST_CASE("the index of a task counts from 0 for every scheduler") {
  const auto index = [](std::map<std::string, std::string> set) {
    return ArrayTaskIndex([&](const std::string& name) -> std::optional<std::string> {
      const auto found = set.find(name);
      if (found == set.end()) return std::nullopt;
      return found->second;
    });
  };
  CHECK(index({{"SLURM_ARRAY_TASK_ID", "3"}}) == 3);
  CHECK(index({{"JOB_COMPLETION_INDEX", "0"}}) == 0);
  CHECK(index({{"PBS_ARRAY_INDEX", "2"}}) == 2);
  CHECK(index({{"AWS_BATCH_JOB_ARRAY_INDEX", "5"}}) == 5);
  CHECK(index({{"SGE_TASK_ID", "1"}}) == 0);
  CHECK(index({{"LSB_JOBINDEX", "4"}}) == 3);
  CHECK(MessageOf([&] {
          std::ignore = index({{"SGE_TASK_ID", "undefined"}, {"LSB_JOBINDEX", "0"}});
        }).starts_with("--index auto: not a task of an array"));
  CHECK(MessageOf([&] {
          std::ignore = index({{"SLURM_ARRAY_TASK_ID", "x"}});
        }) == "SLURM_ARRAY_TASK_ID is 'x'; expected a whole number from 0 on");
}

TEST_CASE("a curve is found by the names that a person uses") {
  const std::string one =
      "{\"step\":1,\"loss\":2.5,\"learning_rate\":0.1}\n"
      "{\"step\":2,\"loss\":null}\n"
      "{\"step\":2,\"eval\":\"eval\",\"metrics\":{\"accuracy\":0.5,\"loss\":2}}\n"
      "{\"step\":3,\"los";
  const RunSeries run = ParseRunSeries(one);
  REQUIRE(run.series.size() == 4);
  CHECK(run.last_step() == 2);
  CHECK(std::isnan(run.Find("train/loss")->points[1].value));
  CHECK(run.Find("loss")->points[0].value == 2);
  CHECK(run.Find("eval/accuracy") == run.Find("accuracy"));
  CHECK(run.NameOf(*run.Find("accuracy")) == "accuracy");
  CHECK(run.NameOf(*run.Find("learning_rate")) == "train/learning_rate");
  CHECK(run.Find("auc") == nullptr);
  const RunSeries two =
      ParseRunSeries(one + "\n{\"step\":2,\"eval\":\"far\",\"metrics\":{\"accuracy\":0.25}}\n");
  CHECK(two.NameOf(*two.Find("far/accuracy")) == "far/accuracy");
  CHECK(two.Find("accuracy")->of == "eval");
}

TEST_CASE("the best trial is done, has a number, and is the first of equals") {
  const auto result = [](int64_t index, const char* status, const char* loss) {
    return TrialResult{{.index = index, .name = "", .values = {}},
                       {status, 0},
                       ParseRunSeries(std::string("{\"step\":1,\"loss\":") + loss + "}\n")};
  };
  const std::vector<TrialResult> results = {result(0, "done", "null"), result(1, "stopped", "0.1"),
                                            result(2, "done", "0.5"), result(3, "done", "0.5"),
                                            result(4, "done", "0.75")};
  CHECK(BestOf(results, {"loss", "min"})->trial.index == 2);
  CHECK(BestOf(results, {"loss", "max"})->trial.index == 4);
  CHECK(BestOf(results, {"accuracy", "max"}) == nullptr);
}

TEST_CASE("a metric's direction is the recorded one, otherwise follows from its name") {
  const MetricOrder recorded{"steps_to_goal", "max"};
  CHECK(ChosenOrder(recorded, std::nullopt, std::nullopt).mode == "max");
  CHECK(ChosenOrder(recorded, "steps_to_goal", "min").mode == "min");
  CHECK(ChosenOrder(recorded, "valid/accuracy", std::nullopt).mode == "max");
  CHECK(ChosenOrder(recorded, "average_loss", std::nullopt).mode == "min");
  CHECK(MessageOf([&] { std::ignore = ChosenOrder(recorded, "other", std::nullopt); }) ==
        "--metric other: unknown whether smaller or larger is better");
}

}  // namespace
}  // namespace tpuest::cli
