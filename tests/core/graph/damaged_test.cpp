// A cut or changed SavedModel gives one clear error, or the parts that can still be read.

#include <filesystem>

#include "core/io/saved_model_folder.h"
#include "tests/core/graph/saved_models.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

// A batch of one for any input of a signature.
Tensor AnyInput(const SignatureTensor& tensor) {
  std::vector<int64_t> dims = tensor.shape.dims();
  for (int64_t& dim : dims) dim = dim < 0 ? 2 : dim;
  int64_t elements = 1;
  for (const int64_t dim : dims) elements = dim > 64 || elements > 4096 ? 1 << 20 : elements * dim;
  if (elements > 4096) throw Error(Code::kData, "an input of a size that nobody feeds");
  if (tensor.dtype == DType::kInvalid || tensor.dtype == DType::kResource) {
    throw Error(Code::kData, "an input of a type that nobody feeds");
  }
  return Tensor(tensor.dtype, Shape(dims));
}

// Reads and runs every signature of every MetaGraph.
void UseAll(const std::string& folder) {
  const SavedModel model(folder);
  for (const MetaGraphInfo& meta : model.meta_graphs()) {
    for (const auto& [name, signature] : meta.signatures) {
      if (meta.tags == std::vector<std::string>{"train"} || name.starts_with("__")) continue;
      ImportedModel imported;
      std::map<std::string, Value> inputs;
      for (const auto& [key, tensor] : signature.inputs) {
        const Tensor fed = AnyInput(tensor);
        if (fed.shape().rank() == 0) throw Error(Code::kData, "an input without a batch");
        inputs[key] = imported.Input("fed", fed);
      }
      std::vector<Value> fetches;
      for (const auto& [key, value] : model.Import(meta, name, inputs, imported.graph())) {
        if (value.node->outputs() > 0) fetches.push_back(value);
      }
      (void)imported.Run(fetches);
    }
  }
}

// What is wrong with the outcome, or "".
std::string Complaint(const std::string& folder) {
  try {
    UseAll(folder);
  } catch (const Error& error) {
    const bool user = error.code() == Code::kData || error.code() == Code::kCheckpoint ||
                      error.code() == Code::kUsage;
    return user && !error.message().empty() ? "" : "an error of another code: " + error.message();
  } catch (const std::bad_alloc&) {
    return "";  // the command line reports it
  } catch (const std::exception& error) {
    return std::string("an exception: ") + error.what();
  }
  return "";
}

// `damage` returns the bytes that replace the file's.
void CheckFile(const std::string& kind, const std::string& file,
               const std::vector<std::string>& damaged) {
  const TemporaryFolder folder;
  std::filesystem::copy(SavedModelData(kind), folder.path(),
                        std::filesystem::copy_options::recursive);
  for (size_t i = 0; i < damaged.size(); ++i) {
    Put(folder.File(file), damaged[i]);
    const std::string complaint = Complaint(folder.path());
    INFO(kind, "/", file, ", damage ", i);
    CHECK(complaint == "");
  }
}

std::vector<std::string> Kinds() {
  std::vector<std::string> kinds = ListDirectory(SavedModelData(""));
  std::erase_if(kinds, [](const std::string& kind) { return !IsSavedModel(SavedModelData(kind)); });
  REQUIRE_FALSE(kinds.empty());
  return kinds;
}

std::vector<std::string> FilesOf(const std::string& kind) {
  std::vector<std::string> files = {"saved_model.pb", "saved_model.pbtxt",
                                    "variables/variables.index",
                                    "variables/variables.data-00000-of-00001"};
  std::erase_if(files, [&](const std::string& file) {
    return !FileExists(SavedModelData(kind + "/" + file));
  });
  return files;
}

TEST_CASE("SavedModels cut at any length are read or refused") {
  constexpr size_t kCuts = 12;
  for (const std::string& kind : Kinds()) {
    for (const std::string& file : FilesOf(kind)) {
      const std::string bytes = ReadFile(SavedModelData(kind + "/" + file));
      std::vector<std::string> damaged;
      for (size_t i = 0; i < kCuts; ++i)
        damaged.push_back(bytes.substr(0, bytes.size() * i / kCuts));
      CheckFile(kind, file, damaged);
    }
  }
}

TEST_CASE("SavedModels with flipped bits are read or refused") {
  constexpr size_t kFlips = 40;
  for (const std::string& kind : Kinds()) {
    for (const std::string& file : FilesOf(kind)) {
      const std::string bytes = ReadFile(SavedModelData(kind + "/" + file));
      std::vector<std::string> damaged;
      for (size_t i = 0; i < kFlips; ++i) {
        std::string& flipped = damaged.emplace_back(bytes);
        flipped[(bytes.size() * i + i) / kFlips % bytes.size()] ^= static_cast<char>(1 << i % 8);
      }
      CheckFile(kind, file, damaged);
    }
  }
}

TEST_CASE("an error names a missing file") {
  const TemporaryFolder folder;
  std::filesystem::copy(SavedModelData("tpu_v1"), folder.path(),
                        std::filesystem::copy_options::recursive);
  RemoveFile(folder.File("variables/variables.index"));
  const Thrown thrown = ErrorOf([&] { UseAll(folder.path()); });
  CHECK(thrown.code == Code::kCheckpoint);
  CHECK(thrown.message.find("variables/variables") != std::string::npos);
}

}  // namespace
}  // namespace tpuest
