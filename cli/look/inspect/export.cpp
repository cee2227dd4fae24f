#include "cli/look/inspect/export.h"

#include <algorithm>

#include "cli/look/inspect/tensor_statistics.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/graph/read/saved_model.h"
#include "core/io/bundle.h"
#include "core/io/saved_model_folder.h"

namespace tpuest::cli {
namespace {

Json ShapeOrNull(const Shape& shape) { return shape.known_rank() ? Json(shape.dims()) : Json(); }

Json TensorsJson(const std::map<std::string, SignatureTensor>& tensors) {
  Json json = Json::object();
  for (const auto& [key, tensor] : tensors) {
    json[key] = {{"dtype", TypeName(tensor.dtype)},
                 {"shape", ShapeOrNull(tensor.shape)},
                 {"name", tensor.name}};
  }
  return json;
}

Json SignaturesJson(const MetaGraphInfo& meta) {
  Json json = Json::object();
  for (const auto& [name, signature] : meta.signatures) {
    json[name] = {{"method_name", signature.method_name},
                  {"inputs", TensorsJson(signature.inputs)},
                  {"outputs", TensorsJson(signature.outputs)}};
  }
  return json;
}

// Shapes and dtypes of the variables by name; empty where the SavedModel has none.
Json VariablesJson(const std::string& folder) {
  Json json = Json::object();
  const std::string prefix = SavedModelVariables(folder);
  if (!FileExists(BundleIndexPath(prefix))) return json;
  const BundleReader reader(prefix);
  for (const std::string& name : reader.Names()) {
    json[name] = {{"shape", ShapeOrNull(reader.ShapeOf(name))},
                  {"dtype", TypeName(reader.DTypeOf(name))}};
  }
  return json;
}

// The files below assets/ and assets.extra/, with their bytes.
Json AssetsJson(const std::string& folder) {
  Json assets = Json::array();
  for (const std::string_view part : {kAssets, kAssetsExtra}) {
    const std::string below = JoinPath(folder, part);
    if (!DirectoryExists(below)) continue;
    for (const std::string& name : ListDirectory(below)) {
      const std::string path = JoinPath(below, name);
      if (FileExists(path)) {
        assets.push_back({{"file", JoinPath(part, name)}, {"bytes", FileSize(path)}});
      }
    }
  }
  return assets;
}

constexpr size_t kShownOps = 12;

// "1,234 nodes of 40 ops: 300 Const, 200 Identity, ...", the most frequent first.
std::string OpsText(const std::map<std::string, int64_t>& ops) {
  std::vector<std::pair<int64_t, std::string>> sorted;
  int64_t nodes = 0;
  for (const auto& [op, count] : ops) {
    sorted.emplace_back(-count, op);
    nodes += count;
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> words;
  for (const auto& [count, op] : sorted) {
    if (words.size() == kShownOps) break;
    words.push_back(fmt::format("{} {}", -count, op));
  }
  return fmt::format("{} nodes of {} ops: {}{}", WithCommas(nodes), ops.size(), Join(words, ", "),
                     sorted.size() > kShownOps ? ", ..." : "");
}

void PrintTensors(std::string_view title, const std::map<std::string, SignatureTensor>& tensors) {
  for (const auto& [key, tensor] : tensors) {
    fmt::print("    {:<6} {:<24} {:<9} {:<16} {}\n", title, key, TypeName(tensor.dtype),
               tensor.shape.Text(), tensor.name);
  }
}

void PrintModel(const SavedModel& model, const Json& assets, const Json& variables) {
  fmt::print("SavedModel {}\n", model.folder());
  for (const MetaGraphInfo& meta : model.meta_graphs()) {
    fmt::print("tags {}\n  {}\n", Join(meta.tags, ","), OpsText(meta.ops));
    for (const auto& [name, signature] : meta.signatures) {
      fmt::print("  signature {}{}{}\n", name, signature.method_name.empty() ? "" : ", method ",
                 signature.method_name);
      PrintTensors("input", signature.inputs);
      PrintTensors("output", signature.outputs);
    }
  }
  for (const Json& asset : assets) {
    fmt::print("asset {}: {}\n", asset["file"].get<std::string>(),
               BytesText(asset["bytes"].get<int64_t>()));
  }
  fmt::print("variables\n");
  for (const auto& [name, variable] : variables.items()) {
    fmt::print("  {:<36} {:<9} {}\n", name, variable["dtype"].get<std::string>(),
               variable["shape"].dump());
  }
}

}  // namespace

std::optional<std::string> SavedModelFolder(const std::string& path) {
  const std::string base = BaseName(path);
  const bool is_file = (base == SavedModelName(false) || base == SavedModelName(true)) &&
                       FileExists(path) && !DirectoryExists(path);
  const std::string folder = is_file ? DirName(path) : path;
  if (!is_file && !IsSavedModel(path)) return {};
  return folder.empty() ? "." : folder;
}

int ShowSavedModel(const Invocation& invocation, const std::string& folder) {
  const SavedModel model(folder);
  const Json variables = VariablesJson(folder);
  const Json assets = AssetsJson(folder);
  if (!invocation.json) {
    PrintModel(model, assets, variables);
    return 0;
  }
  Json tags = Json::array();
  Json signatures = Json::object();
  Json ops = Json::object();
  for (const MetaGraphInfo& meta : model.meta_graphs()) {
    tags.push_back(meta.tags);
    signatures[Join(meta.tags, ",")] = SignaturesJson(meta);
    ops[Join(meta.tags, ",")] = meta.ops;
  }
  PrintDocument("inspect", {{"kind", "saved_model"},
                            {"path", folder},
                            {"tags", tags},
                            {"signatures", signatures},
                            {"ops", ops},
                            {"assets", assets},
                            {"variables", variables}});
  return 0;
}

int ShowGraph(const Invocation& invocation, const std::string& path) {
  const std::map<std::string, int64_t> ops =
      SavedModel::FromGraphDefFile(path).meta_graphs().front().ops;
  if (invocation.json) {
    PrintDocument("inspect", {{"kind", "graph"}, {"path", path}, {"ops", ops}});
  } else {
    fmt::print("graph {}: {}\n", path, OpsText(ops));
  }
  return 0;
}

}  // namespace tpuest::cli
