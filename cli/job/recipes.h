#pragma once
// The jobs of configs/, embedded in the program so that it can write them anywhere.

#include <string>
#include <string_view>
#include <vector>

namespace tpuest::cli {

// A file of configs/, byte for byte.
struct RecipeFile {
  std::string_view name;  // "mnist_cnn.yaml"
  std::string_view text;
};
// Returns all embedded files, jobs and their data, in alphabetical order.
[[nodiscard]] const std::vector<RecipeFile>& RecipeFiles();

// A job of configs/ with its data.
struct Recipe {
  std::string name;     // "mnist_cnn"
  std::string summary;  // the first sentence of its comment
  std::string_view text;
  std::vector<RecipeFile> data;  // files that it reads from its own folder
};
// Returns the jobs among the files, in alphabetical order.
[[nodiscard]] std::vector<Recipe> Recipes();
// Returns true if the path ends in the name of a recipe's file: "configs/mnist_cnn.yaml".
[[nodiscard]] bool IsRecipeFile(const std::string& path);
// Returns the recipe of this name. Error kUsage for an unknown name, with the nearest name.
[[nodiscard]] Recipe FindRecipe(const std::string& name);

// Returns the recipe's text for a job at `path`: the commands in its comments use that path.
[[nodiscard]] std::string RecipeText(const Recipe& recipe, const std::string& path);
// Returns the recipe's text under another name, with a model_dir of that name.
[[nodiscard]] std::string RenamedText(const Recipe& recipe, const std::string& name,
                                      const std::string& path);

}  // namespace tpuest::cli
