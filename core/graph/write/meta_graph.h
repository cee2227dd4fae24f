#pragma once
// A graph as TensorFlow's MetaGraphDef: with its saver, collections and signatures; and a
// SavedModel's saved_model.pb, which holds one for each set of tags.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/tpu_inference.h"
#include "core/graph/write/summary_nodes.h"

namespace tpuest {

// Tags of a MetaGraph: for serving, and for serving from a TPU beside it.
inline constexpr const char* kServeTag = "serve";
inline constexpr const char* kTpuTag = "tpu";

struct ExportSignature {
  std::string method_name;  // "tensorflow/serving/predict"
  std::map<std::string, Value> inputs;
  std::map<std::string, Value> outputs;
};

// A file that the graph names: `path`, a string constant, stands for assets/<filename>.
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
  // Attributes that hold their op's default are left out: older readers may not know them.
  bool strip_default_attrs = false;
  // Each node that uses a variable reads it itself, as TensorFlow's layers do. Else all share the
  // value at the start of the step, as an update needs it.
  bool reads_per_use = false;
  std::optional<TpuInference> tpu;
};

// The serialized MetaGraphDef: the graph with the nodes that initialise, save and restore its
// variables; a SaverDef; the collections variables, trainable_variables, local_variables,
// metric_variables, global_step, losses, train_op, saved_model_train_op, saved_model_main_op and
// summaries, as far as there is something in them. Equal graphs give equal bytes.
[[nodiscard]] std::string ToMetaGraphDef(const MetaGraphSpec& spec);

// Contents of saved_model.pb, or of saved_model.pbtxt.
[[nodiscard]] std::string ToSavedModel(const std::vector<MetaGraphSpec>& meta_graphs, bool as_text);

}  // namespace tpuest
