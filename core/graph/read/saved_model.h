#pragma once
// Reads a SavedModel folder: saved_model.pb (or saved_model.pbtxt) with one MetaGraph per set of
// tags, variables/variables.*, assets/.

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
  DType dtype = DType::kInvalid;  // kInvalid: a dtype that tpuest does not know
  Shape shape;
};

struct SignatureInfo {
  std::string method_name;  // "tensorflow/serving/predict"
  std::map<std::string, SignatureTensor> inputs;
  std::map<std::string, SignatureTensor> outputs;
};

struct MetaGraphInfo {
  std::vector<std::string> tags;
  std::map<std::string, int64_t> ops;  // number of nodes per op, including those in functions
  std::map<std::string, SignatureInfo> signatures;
};

class SavedModel {
 public:
  // Reads and checks the folder's description, without variables. Throws Error kData for a missing
  // or damaged file.
  explicit SavedModel(std::string folder);
  ~SavedModel();
  SavedModel(SavedModel&&) noexcept;
  SavedModel& operator=(SavedModel&&) noexcept;

  // Reads a file with a bare GraphDef (frozen_graph.pb, or graph.pbtxt) as one MetaGraph without
  // tags and signatures; variables have only their initializers.
  [[nodiscard]] static SavedModel FromGraphDefFile(const std::string& path);

  [[nodiscard]] const std::string& folder() const;  // empty for a bare GraphDef
  [[nodiscard]] const std::vector<MetaGraphInfo>& meta_graphs() const;
  // Returns the MetaGraph with exactly these tags, in any order. Throws Error kData in TensorFlow's
  // words, with the available tags.
  [[nodiscard]] const MetaGraphInfo& Find(const std::vector<std::string>& tags) const;
  [[nodiscard]] const MetaGraphInfo* FindOrNull(const std::vector<std::string>& tags) const;

  // Adds the nodes that the signature's outputs need to `graph`, with `inputs` instead of its
  // inputs (all of them; dtypes and shapes must fit). Calls of functions (PartitionedCall,
  // StatefulPartitionedCall, TPUPartitionedCall, BatchFunction) are replaced by the called nodes,
  // and ops that only place a computation on a TPU by their inputs. A variable becomes a variable
  // of the graph under its TensorFlow name, with its value in variables/ as initial value. A
  // variable that the graph has already (global_step) is used. Returns the outputs by key. Throws
  // Error kData, with the node, for an unknown op or attribute; kCheckpoint for missing or damaged
  // variables.
  [[nodiscard]] std::map<std::string, Value> Import(const MetaGraphInfo& meta_graph,
                                                    std::string_view signature,
                                                    const std::map<std::string, Value>& inputs,
                                                    Graph& graph) const;
  // Imports any tensors by their names in the graph ("d/BiasAdd:0"); `given` replaces other
  // tensors. The name of a node without outputs returns {node, 0}. Throws as Import does.
  [[nodiscard]] std::vector<Value> ImportTensors(const MetaGraphInfo& meta_graph,
                                                 const std::map<std::string, Value>& given,
                                                 const std::vector<std::string>& tensors,
                                                 Graph& graph) const;

  // Returns the global step in variables/, or nullopt.
  [[nodiscard]] std::optional<int64_t> GlobalStep() const;

 private:
  struct State;
  explicit SavedModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tpuest
