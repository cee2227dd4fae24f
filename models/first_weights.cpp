#include "models/first_weights.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/nn/job_place.h"
#include "models/keras/match.h"

namespace tpuest::models {
namespace {

[[noreturn]] void ThrowMissing(const nn::WeightsFile& file) {
  throw Error(Code::kData, fmt::format("{}: there is no such file", file.path),
              "the model's initial weights come from it")
      .At(file.place);
}

}  // namespace

void StartFromFiles(const nn::LayerContext& context, const std::vector<nn::WeightsFile>& files,
                    TPUEstimatorSpec& spec) {
  auto readers = std::make_shared<KerasWeightReaders>();
  std::vector<std::string> names;
  std::optional<nn::WeightsFile> missing;
  for (const nn::WeightsFile& file : files) {
    const bool is_there = FileExists(file.path) || DirectoryExists(file.path);  // a SavedModel
    if (!is_there) {
      missing = file;
      continue;
    }
    nn::AtPlace(file.place, [&] {
      const KerasTarget target{.graph = context.graph,
                               .first_variable = file.first_variable,
                               .end_variable = file.end_variable,
                               .object_prefix = file.object_prefix,
                               .models = context.models};
      for (auto& [name, read] : MatchKerasWeights(file.path, target)) {
        readers->insert_or_assign(name, read);
      }
    });
    names.push_back(file.path);
  }
  spec.scaffold_fn = [before = spec.scaffold_fn, readers, missing, source = Join(names, ", ")] {
    std::optional<Scaffold> scaffold = before ? before() : Scaffold();
    if (!scaffold) return scaffold;
    scaffold->init_source = source;
    scaffold->init_fn = [readers, missing] {
      if (missing) ThrowMissing(*missing);
      std::map<std::string, Tensor> values;
      for (const auto& [name, read] : *readers) values.emplace(name, read());
      return values;
    };
    return scaffold;
  };
}

}  // namespace tpuest::models
