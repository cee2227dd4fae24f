#pragma once
// Writes a graph as TensorFlow's MetaGraphDef, with its saver, collections and signatures, and a
// SavedModel's saved_model.pb, which holds one MetaGraph per set of tags.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/tpu_inference.h"
#include "core/graph/write/summary_nodes.h"

namespace tpuest {

// Tags of a MetaGraph: kServeTag for serving; a TPU's MetaGraph has the second tag as well.
inline constexpr const char* kServeTag = "serve";
inline constexpr const char* kTpuTag = "tpu";

struct ExportSignature {
  std::string method_name;  // "tensorflow/serving/predict"
  std::map<std::string, Value> inputs;
  std::map<std::string, Value> outputs;
};

// A file that the graph names: the string constant `path` refers to assets/<filename>.
struct ExportAsset {
  Value path;
  std::string filename;
};

struct MetaGraphSpec {
  const Graph& graph;
  std::vector<std::string> tags;
  std::map<std::string, ExportSignature> signatures;
  std::vector<ExportAsset> assets;
  const Node* train_op = nullptr;
  Value loss;
  GraphSummaries summaries;
  // Omits attributes that hold their op's default, which older readers may not know.
  bool strip_default_attrs = false;
  // True: each node that uses a variable reads it itself, as in TensorFlow's layers. False: all
  // share the value at the start of the step, as updates need it.
  bool reads_per_use = false;
  std::optional<TpuInference> tpu;
};

// Returns the serialized MetaGraphDef: the graph with the nodes that initialize, save and restore
// its variables; a SaverDef; and the collections variables, trainable_variables, local_variables,
// metric_variables, global_step, losses, train_op, saved_model_train_op, saved_model_main_op and
// summaries, each only if it is not empty. Equal graphs give equal bytes.
[[nodiscard]] std::string ToMetaGraphDef(const MetaGraphSpec& spec);

// Returns the contents of saved_model.pb, or of saved_model.pbtxt.
[[nodiscard]] std::string ToSavedModel(const std::vector<MetaGraphSpec>& meta_graphs, bool as_text);

}  // namespace tpuest
