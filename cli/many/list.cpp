// tpuest ls recipes|DIR, or a kind of types: models, layers, ...

#include <algorithm>

#include "cli/job/recipes.h"
#include "cli/manual/catalog.h"
#include "cli/many/commands.h"
#include "cli/many/run_list.h"
#include "cli/run/session.h"
#include "cli/shell/console.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/clock.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr const char* kExample = "tpuest ls models, tpuest ls recipes or tpuest ls runs/";

constexpr size_t kNameColumns = 27;

int ListTypes(const Kind& kind, bool json) {
  Json types = Json::array();
  size_t width = kNameColumns;
  for (const TypeEntry* const type : TypesOf(kind)) width = std::max(width, type->name.size());
  for (const TypeEntry* const type : TypesOf(kind)) {
    types.push_back({{"type", type->name}, {"summary", type->summary}});
    if (!type->aliases.empty()) types.back()["aliases"] = type->aliases;
    if (!json) fmt::print("{:<{}} {}\n", type->name, width, type->summary);
  }
  if (json) PrintDocument("ls", {{std::string(kind.name), types}});
  return 0;
}

int ListRecipes(bool json) {
  Json recipes = Json::array();
  for (const Recipe& recipe : Recipes()) {
    recipes.push_back({{"name", recipe.name}, {"summary", recipe.summary}});
    if (!json) fmt::print("{:<{}} {}\n", recipe.name, kNameColumns, recipe.summary);
  }
  if (json) PrintDocument("ls", {{"recipes", recipes}});
  return 0;
}

Json JsonOfRun(const ListedRun& run) {
  Json json = {{"path", run.path},
               {"global_step", OrNull(run.step)},
               {"loss", OrNull(run.loss)},
               {"status", run.status},
               {"exit_code", OrNull(run.exit_code)},
               {"last_change", OrNull(run.last_change)}};
  if (run.best) {
    json["best"] = {{"metric", run.metric}, {"value", *run.best}, {"step", run.best_step}};
  }
  return json;
}

std::vector<std::string> RowOf(const ListedRun& run, double now) {
  const std::string best = run.best ? fmt::format("{} {} at {}", run.metric, NumberText(*run.best),
                                                  WithCommas(run.best_step))
                                    : "";
  return {run.path,
          run.step ? WithCommas(*run.step) : "",
          run.loss ? NumberText(*run.loss) : "",
          best,
          run.exit_code.value_or(0) == 0 ? run.status
                                         : fmt::format("{} ({})", run.status, *run.exit_code),
          run.last_change ? DurationText(now - *run.last_change) : ""};
}

int ShowRuns(const std::string& folder, bool json) {
  const std::vector<ListedRun> runs = ListRuns(folder);
  Json documents = Json::array();
  std::vector<std::vector<std::string>> rows = {{"run", "step", "loss", "best", "status", "age"}};
  const double now = SystemClock().WallSeconds();
  for (const ListedRun& run : runs) {
    documents.push_back(JsonOfRun(run));
    rows.push_back(RowOf(run, now));
  }
  if (json) {
    PrintDocument("ls", {{"runs", documents}});
  } else if (runs.empty()) {
    fmt::print("{} has no runs\n", folder);
  } else {
    fmt::print("{}", TableText({false, true, true, false, false, true}, rows));
  }
  return 0;
}

int List(const Invocation& invocation, config::Sources& /*sources*/) {
  if (!invocation.arguments.empty() && !invocation.subject.empty()) {
    throw Error(Code::kUsage, fmt::format("'ls {}' takes no argument, found '{}'",
                                          invocation.subject, invocation.arguments[0]));
  }
  if (const Kind* const kind = FindKind(invocation.subject)) {
    return ListTypes(*kind, invocation.json);
  }
  if (invocation.subject == "recipes") return ListRecipes(invocation.json);
  if (invocation.arguments.size() != 1) {
    throw Error(Code::kUsage, "ls needs a kind or a folder to list", kExample);
  }
  return ShowRuns(invocation.arguments[0], invocation.json);
}

}  // namespace

Command ListCommand() {
  std::vector<Subject> subjects = {"recipes"};
  for (const Kind& kind : Kinds()) subjects.emplace_back(kind.name.data());
  return MakeCommand(
      {.name = "ls",
       .summary =
           "list the runs in a folder, the recipes, or the types of a kind: ls models|layers|...",
       .examples = {"tpuest ls runs/", "tpuest ls models", "tpuest ls layers"},
       .takes = Takes::kPath,
       .subjects = std::move(subjects)},
      List);
}

}  // namespace tpuest::cli
