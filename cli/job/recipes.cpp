#include "cli/job/recipes.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kEnding = ".yaml";

void Replace(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

// Returns the comment at the file's head, up to the first "." or ":" that ends a clause.
std::string SummaryOf(std::string_view text) {
  std::string comment;
  for (const std::string& line : Split(text, '\n')) {
    if (!line.starts_with("# ")) break;
    comment += (comment.empty() ? "" : " ") + line.substr(2);
  }
  for (const std::string_view end : {". ", ": "}) {
    if (const size_t at = comment.find(end); at != std::string::npos) comment.resize(at);
  }
  return comment.ends_with('.') ? comment.substr(0, comment.size() - 1) : comment;
}

}  // namespace

std::vector<Recipe> Recipes() {
  std::vector<Recipe> recipes;
  for (const RecipeFile& file : RecipeFiles()) {
    if (!file.name.ends_with(kEnding)) continue;
    Recipe recipe{.name = std::string(file.name.substr(0, file.name.size() - kEnding.size())),
                  .summary = SummaryOf(file.text),
                  .text = file.text,
                  .data = {}};
    for (const RecipeFile& other : RecipeFiles()) {
      const bool is_named = file.text.find(other.name) != std::string_view::npos;
      if (!other.name.ends_with(kEnding) && is_named) recipe.data.push_back(other);
    }
    recipes.push_back(std::move(recipe));
  }
  return recipes;
}

bool IsRecipeFile(const std::string& path) {
  const std::string name = BaseName(path);
  const std::vector<RecipeFile>& files = RecipeFiles();
  return name.ends_with(kEnding) &&
         std::any_of(files.begin(), files.end(),
                     [&](const RecipeFile& file) { return file.name == name; });
}

Recipe FindRecipe(const std::string& name) {
  std::vector<std::string> names;
  for (Recipe& recipe : Recipes()) {
    if (recipe.name == name) return std::move(recipe);
    names.push_back(recipe.name);
  }
  const auto nearest = Nearest(name, names);
  throw Error(
      Code::kUsage, fmt::format("unknown recipe '{}'", name),
      nearest ? fmt::format("did you mean '{}'?", *nearest) : "'tpuest ls recipes' lists them");
}

std::string RecipeText(const Recipe& recipe, const std::string& path) {
  std::string text(recipe.text);
  Replace(text, fmt::format("configs/{}.yaml", recipe.name), path);
  Replace(text, "./dev run ", "tpuest ");
  return text;
}

std::string RenamedText(const Recipe& recipe, const std::string& name, const std::string& path) {
  std::string text = RecipeText(recipe, path);
  Replace(text, fmt::format("\nname: {}\n", recipe.name), fmt::format("\nname: {}\n", name));
  Replace(text, fmt::format("model_dir: runs/{} ", recipe.name),
          fmt::format("model_dir: runs/{} ", name));
  return text;
}

}  // namespace tpuest::cli
