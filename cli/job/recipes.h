#pragma once
// The jobs of configs/, which the program carries with it, so that it can write them down anywhere.

#include <string>
#include <string_view>
#include <vector>

namespace tpuest::cli {

// A file of configs/ as it is.
struct RecipeFile {
  std::string_view name;  // "mnist_cnn.yaml"
  std::string_view text;
};
// Jobs and the data that they read, in alphabetical order.
[[nodiscard]] const std::vector<RecipeFile>& RecipeFiles();

struct Recipe {
  std::string name;     // "mnist_cnn"
  std::string summary;  // the first sentence of its comment
  std::string_view text;
  std::vector<RecipeFile> data;  // that it reads from its own folder
};
// In alphabetical order.
[[nodiscard]] std::vector<Recipe> Recipes();
// Error kUsage for a name that is none, with the nearest.
[[nodiscard]] Recipe FindRecipe(const std::string& name);

// The recipe as the job at `path`: commands in its comments name that.
[[nodiscard]] std::string RecipeText(const Recipe& recipe, const std::string& path);
// The recipe under another name, with a model_dir of its own.
[[nodiscard]] std::string RenamedText(const Recipe& recipe, const std::string& name,
                                      const std::string& path);

}  // namespace tpuest::cli
