#include "cli/job/recipes.h"

#include <doctest/doctest.h>

#include <map>

#include "cli/prepare/deploy_files.h"
#include "cli/shell/invocation.h"
#include "core/base/error.h"
#include "core/base/process/files.h"

namespace tpuest::cli {
namespace {

TEST_CASE("the program carries every file of configs/, byte for byte") {
  std::map<std::string, std::string> carried;
  for (const RecipeFile& file : RecipeFiles()) carried[std::string(file.name)] = file.text;
  for (const std::string& name : ListDirectory(SOURCE_ROOT "/configs")) {
    CAPTURE(name);
    if (name == "deploy") continue;  // see below
    REQUIRE(carried.contains(name));
    CHECK(carried[name] == ReadFile(JoinPath(SOURCE_ROOT "/configs", name)));
    carried.erase(name);
  }
  CHECK(carried.empty());
}

TEST_CASE("the program carries every file of configs/deploy, byte for byte") {
  for (const std::string& name : ListDirectory(SOURCE_ROOT "/configs/deploy")) {
    CAPTURE(name);
    CHECK(DeployFile(name) == ReadFile(JoinPath(SOURCE_ROOT "/configs/deploy", name)));
  }
}

TEST_CASE("a recipe has a summary, and the data that it names") {
  for (const Recipe& recipe : Recipes()) {
    CAPTURE(recipe.name);
    CHECK(recipe.summary.size() > 10);
    CHECK(recipe.summary.size() < 100);
  }
  const Recipe linear = FindRecipe("passengers_linear");
  REQUIRE(linear.data.size() == 2);
  CHECK(linear.data[0].name == "passengers_eval.csv");
  CHECK(FindRecipe("mnist_cnn").data.empty());
  CHECK_THROWS_AS(FindRecipe("mnist"), Error);
}

TEST_CASE("the commands in a recipe's comments name the file that it becomes") {
  const std::string text = RecipeText(FindRecipe("mnist_cnn"), "jobs/a.yaml");
  CHECK(text.find("#   tpuest train jobs/a.yaml\n") != std::string::npos);
  CHECK(text.find("configs/") == std::string::npos);
  const std::string renamed = RenamedText(FindRecipe("starter"), "mine", "mine.yaml");
  CHECK(renamed.find("\nname: mine\n") != std::string::npos);
  CHECK(renamed.find("  model_dir: runs/mine ") != std::string::npos);
  CHECK(renamed.find("\nname: starter") == std::string::npos);
}

}  // namespace
}  // namespace tpuest::cli
