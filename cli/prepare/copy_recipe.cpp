// tpuest cp RECIPE|MODEL [PATH]

#include "cli/job/recipes.h"
#include "cli/prepare/commands.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "models/model_files.h"

namespace tpuest::cli {
namespace {

struct CopyInvocation : Invocation {
  bool force = false;
};

void Declare(FlagSet& flags, CopyInvocation& to) {
  flags.Switch("--force", to.force, "overwrite existing files");
}

constexpr const char* kCopyExample = "tpuest cp passengers_linear .";

struct NewFile {
  std::string path;
  std::string text;
};

// Returns the path of the file: in a folder it has the name of the recipe or model.
std::string JobPathOf(const std::string& name, const std::string& given) {
  if (given == ".") return name + ".yaml";
  if (EndsWith(given, "/") || DirectoryExists(given)) return JoinPath(given, name + ".yaml");
  if (IsJobFile(given)) return given;
  throw Error(Code::kUsage,
              fmt::format("{}: expected a folder, or a name that ends in .yaml", given),
              kCopyExample);
}

std::vector<NewFile> FilesOf(const Recipe& recipe, const std::string& path) {
  std::vector<NewFile> files = {{path, RecipeText(recipe, path)}};
  const std::string folder = DirName(path);
  for (const RecipeFile& data : recipe.data) {
    files.push_back({folder.empty() ? std::string(data.name) : JoinPath(folder, data.name),
                     std::string(data.text)});
  }
  return files;
}

// Returns the files for a name: a recipe with its data, or a model's layers.
std::vector<NewFile> FilesFor(const std::string& name, const std::string& given) {
  if (models::FindModelFile(name) != nullptr) {
    return {{JobPathOf(name, given), models::ModelSectionText(name)}};
  }
  const Recipe recipe = FindRecipe(name);
  return FilesOf(recipe, JobPathOf(recipe.name, given));
}

// An existing file with the same bytes need not be written.
void CheckFree(const std::vector<NewFile>& files) {
  for (const NewFile& file : files) {
    if (DirectoryExists(file.path)) {
      throw Error(Code::kUsage, fmt::format("{} is a folder", file.path));
    }
    if (!FileExists(file.path) || ReadFile(file.path) == file.text) continue;
    throw Error(Code::kUsage, fmt::format("{} already exists", file.path), "--force overwrites it");
  }
}

void Write(const std::vector<NewFile>& files) {
  // The job is written last: a job that exists has its data.
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (const std::string folder = DirName(file->path); !folder.empty()) MakeDirectories(folder);
    WriteFileAtomically(file->path, file->text, false);
  }
}

int CopyRecipe(const CopyInvocation& invocation, config::Sources& /*sources*/) {
  const std::vector<std::string>& arguments = invocation.arguments;
  if (arguments.empty() || arguments.size() > 2) {
    throw Error(
        Code::kUsage, "cp takes the name of a recipe or model, and a destination",
        fmt::format("{}; 'tpuest ls recipes' and 'tpuest ls models' list them", kCopyExample));
  }
  const std::vector<NewFile> files =
      FilesFor(arguments[0], arguments.size() == 2 ? arguments[1] : ".");
  if (!invocation.force) CheckFree(files);
  if (!invocation.dry_run) Write(files);
  if (invocation.json) {
    Json names = Json::array();
    for (const NewFile& file : files) names.push_back(file.path);
    PrintDocument("cp", {{"path", files.front().path}, {"files", names}});
  } else if (!invocation.quiet) {
    for (const NewFile& file : files) fmt::print("{}\n", file.path);
  }
  return 0;
}

}  // namespace

Command CopyCommand() {
  return MakeCommand<CopyInvocation>(
      {.name = "cp",
       .summary = "copy a recipe with its data, or a model's layers, to edit",
       .examples = {"tpuest cp passengers_linear passengers.yaml",
                    "tpuest cp resnet50 my_resnet.yaml"},
       .takes = Takes::kPaths},
      Declare, CopyRecipe);
}

}  // namespace tpuest::cli
