#include "models/first_weights.h"

#include <memory>

#include "core/base/text.h"
#include "core/nn/job_place.h"
#include "models/keras/match.h"

namespace tpuest::models {

void StartFromFiles(const nn::LayerContext& context, const std::vector<nn::WeightsFile>& files,
                    TPUEstimatorSpec& spec) {
  auto readers = std::make_shared<KerasWeightReaders>();
  std::vector<std::string> names;
  for (const nn::WeightsFile& file : files) {
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
  spec.scaffold_fn = [before = spec.scaffold_fn, readers, source = Join(names, ", ")] {
    std::optional<Scaffold> scaffold = before ? before() : Scaffold();
    if (!scaffold) return scaffold;
    scaffold->init_source = source;
    scaffold->init_fn = [readers] {
      std::map<std::string, Tensor> values;
      for (const auto& [name, read] : *readers) values.emplace(name, read());
      return values;
    };
    return scaffold;
  };
}

}  // namespace tpuest::models
