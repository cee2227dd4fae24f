#pragma once
// The jobs of configs/, which the program carries with it, so that it can write them down anywhere.

#include <string>
#include <string_view>
#include <vector>

namespace tpuest::cli {

// A file of configs/, byte for byte.
struct RecipeFile {
  std::string_view name;  // "mnist_cnn.yaml"
  std::string_view text;
};
// All such files, jobs and the data that they read, in alphabetical order.
[[nodiscard]] const std::vector<RecipeFile>& RecipeFiles();

// A job of configs/ with the data that it reads.
struct Recipe {
  std::string name;     // "mnist_cnn"
  std::string summary;  // the first sentence of its comment
  std::string_view text;
  std::vector<RecipeFile> data;  // files that it reads from its own folder
};
// The jobs among the files, in alphabetical order.
[[nodiscard]] std::vector<Recipe> Recipes();
// True for the name of a recipe's file in any folder: "configs/mnist_cnn.yaml".
[[nodiscard]] bool IsRecipeFile(const std::string& path);
// The recipe of this name. Error kUsage for a name that is none, with the nearest.
[[nodiscard]] Recipe FindRecipe(const std::string& name);

// The recipe's text as the job at `path`: the commands in its comments name that path.
[[nodiscard]] std::string RecipeText(const Recipe& recipe, const std::string& path);
// The recipe under another name, with a model_dir of its own.
[[nodiscard]] std::string RenamedText(const Recipe& recipe, const std::string& name,
                                      const std::string& path);

}  // namespace tpuest::cli
