#pragma once
// Estimator::ExportSavedModel: writes a checkpoint and the graphs of the modes as a SavedModel.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/export/signatures.h"
#include "core/estimator/step/estimator_context.h"
#include "core/graph/write/meta_graph.h"

namespace tpuest {

class SavedModelWriter {
 public:
  explicit SavedModelWriter(EstimatorContext& context) : context_(context) {}

  // Throws Error kUsage if no mode or no receiver is given, an asset's path leaves assets.extra/,
  // or the model or its signatures break a rule; kData for a missing asset, kCheckpoint if there is
  // no trained model, kGate if verification finds a difference. Leaves no files then.
  ExportResult Write(const ExportArgs& args);
  // Throws the errors that Write throws before it looks for a checkpoint.
  void TryBuild(const ExportArgs& args) const;

 private:
  // One MetaGraph while it is built.
  struct Part {
    std::unique_ptr<Graph> graph;
    TPUEstimatorSpec spec;
    ServingInputReceiver receiver;
    Signatures signatures;
    std::vector<std::string> tags;
    std::optional<TpuInference> tpu;
    std::vector<ExportAsset> assets;
    std::map<std::string, std::string> restore_names;  // from its scaffold
    Node* local_init_op = nullptr;                     // from its scaffold
  };

  void CheckArgs(const ExportArgs& args) const;
  [[nodiscard]] static ExportResult ResultOf(const std::vector<Part>& parts,
                                             const SavedState& saved, std::string path);
  // Returns the checkpoint that `path` names, the newest of model_dir, or that of a warm start.
  [[nodiscard]] SavedState FindModel(const ExportArgs& args) const;
  // `saved`: the checkpoint; tables of which it has only the materialized rows are looked up by
  // rows. nullptr: there is none yet.
  [[nodiscard]] std::vector<Part> BuildParts(const ExportArgs& args, const SavedState* saved) const;
  [[nodiscard]] Part Build(Mode mode, bool for_tpu, const ExportArgs& args,
                           const SavedState* saved) const;
  // Finds the files that the parts' graphs name. Returns their paths by their names in assets/.
  [[nodiscard]] static std::map<std::string, std::string> FindAssets(std::vector<Part>& parts);
  [[nodiscard]] TpuInference CallOf(const Part& part) const;
  // Returns the variables of all parts, each once. A SavedModel has one value per variable for all
  // its modes. The last mode's is used, so that servers get the moving averages, and a warning says
  // so; TensorFlow writes the first mode's.
  [[nodiscard]] std::vector<NamedTensor> Variables(const std::vector<Part>& parts,
                                                   const SavedState& saved) const;
  void WriteFiles(const std::string& folder, std::vector<Part>& parts, const SavedState& saved,
                  const ExportArgs& args) const;

  EstimatorContext& context_;
};

}  // namespace tpuest
