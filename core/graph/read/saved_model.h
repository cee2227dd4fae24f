#pragma once
// A SavedModel folder as it is read: saved_model.pb (or saved_model.pbtxt) with a MetaGraph for
// each set of tags, variables/variables.*, assets/.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest {

// A tensor of a signature: "x:0" in the MetaGraph's graph.
struct SignatureTensor {
  std::string name;
  DType dtype = DType::kInvalid;  // kInvalid: one that nothing here has
  Shape shape;
};

struct SignatureInfo {
  std::string method_name;  // "tensorflow/serving/predict"
  std::map<std::string, SignatureTensor> inputs;
  std::map<std::string, SignatureTensor> outputs;
};

struct MetaGraphInfo {
  std::vector<std::string> tags;
  std::map<std::string, int64_t> ops;  // how many nodes of each, those of functions too
  std::map<std::string, SignatureInfo> signatures;
};

class SavedModel {
 public:
  // Reads and checks what the folder describes, no variables yet. Error kData for a file that is
  // missing or damaged.
  explicit SavedModel(std::string folder);
  ~SavedModel();
  SavedModel(SavedModel&&) noexcept;
  SavedModel& operator=(SavedModel&&) noexcept;

  // A file with a bare GraphDef (frozen_graph.pb, or graph.pbtxt), as one MetaGraph without tags
  // and signatures; variables have their initializers only.
  [[nodiscard]] static SavedModel FromGraphDefFile(const std::string& path);

  [[nodiscard]] const std::string& folder() const;  // empty for a bare GraphDef
  [[nodiscard]] const std::vector<MetaGraphInfo>& meta_graphs() const;
  // The MetaGraph with exactly these tags, in any order. Error kData in TensorFlow's words, with
  // the tags that there are.
  [[nodiscard]] const MetaGraphInfo& Find(const std::vector<std::string>& tags) const;
  [[nodiscard]] const MetaGraphInfo* FindOrNull(const std::vector<std::string>& tags) const;

  // Adds to `graph` what the signature's outputs need, with `inputs` in the place of its inputs
  // (all of them; dtypes and shapes must fit). Calls of functions (PartitionedCall,
  // StatefulPartitionedCall, TPUPartitionedCall, BatchFunction) are replaced by what they call, and
  // the ops that only place a computation on a TPU by what they pass on. A variable becomes one of
  // the graph, under its name in TensorFlow; its initial value is the one in variables/. One that
  // the graph has already (global_step) is used. Returns the outputs by key. Error kData names the
  // node of an op or attribute that is not known here; kCheckpoint for variables that are missing
  // or damaged.
  [[nodiscard]] std::map<std::string, Value> Import(const MetaGraphInfo& meta_graph,
                                                    std::string_view signature,
                                                    const std::map<std::string, Value>& inputs,
                                                    Graph& graph) const;
  // Imports any tensors by their names in the graph ("d/BiasAdd:0"), with `given` in the place of
  // others. A name of a node without outputs gives {node, 0}. Errors as Import's.
  [[nodiscard]] std::vector<Value> ImportTensors(const MetaGraphInfo& meta_graph,
                                                 const std::map<std::string, Value>& given,
                                                 const std::vector<std::string>& tensors,
                                                 Graph& graph) const;

  // The global step in variables/; nullopt if there is none.
  [[nodiscard]] std::optional<int64_t> GlobalStep() const;

 private:
  struct State;
  explicit SavedModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tpuest
