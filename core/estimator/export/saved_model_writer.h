#pragma once
// Estimator::ExportSavedModel.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/estimator/checkpoint/saved_state.h"
#include "core/estimator/export/signatures.h"
#include "core/estimator/step/estimator_context.h"
#include "core/graph/write/meta_graph.h"

namespace tpuest {

class SavedModelWriter {
 public:
  explicit SavedModelWriter(EstimatorContext& context) : context_(context) {}

  ExportResult Write(const ExportArgs& args);
  // Throws what Write would throw before it looks for a checkpoint.
  void TryBuild(const ExportArgs& args) const;

 private:
  // One MetaGraph on its way out.
  struct Part {
    std::unique_ptr<Graph> graph;
    TPUEstimatorSpec spec;
    ServingInputReceiver receiver;
    Signatures signatures;
    std::vector<std::string> tags;
    std::optional<TpuInference> tpu;
    std::vector<ExportAsset> assets;
    std::map<std::string, std::string> restore_names;  // of its scaffold
  };

  void CheckArgs(const ExportArgs& args) const;
  [[nodiscard]] static ExportResult ResultOf(const std::vector<Part>& parts,
                                             const SavedState& saved, std::string path);
  // The checkpoint that `path` names, the newest of model_dir, or what a warm start takes.
  [[nodiscard]] SavedState FindModel(const std::optional<std::string>& path) const;
  [[nodiscard]] std::vector<Part> BuildParts(const ExportArgs& args) const;
  [[nodiscard]] Part Build(Mode mode, bool for_tpu, const ExportArgs& args) const;
  // Finds the files that the parts' graphs name: where they are, by their name in assets/.
  [[nodiscard]] static std::map<std::string, std::string> FindAssets(std::vector<Part>& parts);
  [[nodiscard]] TpuInference CallOf(const Part& part) const;
  // The variables of all parts, each once. A SavedModel has one value of each for all its modes;
  // the last mode's stay, so that servers get the moving averages, and a warning says so.
  // TensorFlow writes the first mode's.
  [[nodiscard]] std::vector<NamedTensor> Variables(const std::vector<Part>& parts,
                                                   const SavedState& saved) const;
  void WriteFiles(const std::string& folder, std::vector<Part>& parts, const SavedState& saved,
                  const ExportArgs& args) const;

  EstimatorContext& context_;
};

}  // namespace tpuest
