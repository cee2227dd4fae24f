#pragma once
// Reads what Keras saves, recognized by content regardless of the name: whole models (.h5 of Keras
// 2, .keras, the folder of a SavedModel), weights (.h5 by layer, .weights.h5 by object) and
// configurations (model.to_json()). Weights are read on demand. Every fault of a file is an Error
// kData that begins with the file's name.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/bundle.h"
#include "core/io/hdf5/hdf5.h"
#include "core/tensor/tensor.h"
#include "models/keras/keras_json.h"

namespace tpuest {

enum class KerasFileKind {
  kModel,          // a whole model, .h5: configuration, and weights by layer
  kLayerWeights,   // weights by layer, .h5
  kObjectWeights,  // weights by object, .weights.h5
  kArchive,        // a whole model, .keras: configuration, and weights by object
  kSavedModel,     // a whole model, a folder: configuration, and weights by layer
  kConfig          // model.to_json()
};
// "a whole model (.h5)", ...
[[nodiscard]] std::string_view NameOf(KerasFileKind kind);

// A stored tensor.
class KerasWeight {
 public:
  // Throws Error kData if it is not a dataset of numbers.
  KerasWeight(std::string name, const Hdf5Object& dataset);
  // A variable of a SavedModel.
  KerasWeight(std::string name, const std::shared_ptr<const BundleReader>& bundle,
              const std::string& key);
  // By layer: the name that Keras wrote ("dense/kernel:0", in Keras 3 "dense/kernel"); by object:
  // "0", "1".
  [[nodiscard]] const std::string& name() const { return name_; }
  // The dtype of Read's result: float32 for every floating type (float16, float64 and bfloat16 are
  // converted), otherwise the stored one (int64 and int32 counters, uint32 seeds).
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] const Shape& shape() const { return shape_; }
  // For messages: "model.h5: /model_weights/dense/dense/kernel:0".
  [[nodiscard]] const std::string& place() const { return place_; }
  // Returns a copy. Compare shape() with the expected shape first: Read allocates that much memory.
  [[nodiscard]] Tensor Read() const;

 private:
  std::string name_;
  std::string place_;
  Shape shape_;
  DType stored_;
  std::function<Tensor()> read_;
};

// The weights of a layer by name; for a nested model those of all its layers (their order depends
// on whether it was trainable when it was saved).
struct KerasLayerWeights {
  std::string layer;
  std::vector<KerasWeight> weights;  // in the order of `weight_names`
};

// A saved object (model, layer, part of a layer) and its children.
struct KerasObject {
  std::string path;  // "layers/functional/layers/conv2d_3"; "" for the model
  std::string name;  // the layer's own name, which Keras >= 3.6 writes; otherwise empty
  int number = 0;    // 3 of "conv2d_3", 0 of "conv2d"
  std::vector<KerasWeight> weights;  // `vars` 0, 1, ...: trainable ones, then others
  // Layers by class in snake case ("conv2d"), ordered by number: the k-th belongs to the k-th layer
  // of that class in model.layers, whatever its number (Keras 2.12 skips numbers).
  std::map<std::string, std::vector<KerasObject>, std::less<>> layers;
  // All other groups: "optimizer", "seed_generator", "forward_layer", ...
  std::map<std::string, KerasObject, std::less<>> parts;
};

class KerasFile {
 public:
  // Throws Error kData for a file of another kind, a damaged one, or one of Keras 1; kCheckpoint
  // for the variables of a SavedModel.
  [[nodiscard]] static KerasFile Open(const std::string& path);
  // The same for bytes in memory; messages call them `name`.
  [[nodiscard]] static KerasFile Of(const std::string& name, std::string bytes);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] KerasFileKind kind() const { return kind_; }
  [[nodiscard]] bool has_config() const { return !config_.is_null(); }
  [[nodiscard]] bool has_weights() const { return kind_ != KerasFileKind::kConfig; }
  // "2.15.0"; empty if the file does not say (to_json of Keras 3, .weights.h5).
  [[nodiscard]] const std::string& keras_version() const { return keras_version_; }
  // {"class_name", "config", ...} of the model, with "module", "registered_name", "build_config" in
  // newer dialects; null if there is none.
  [[nodiscard]] const KerasJson& config() const { return config_; }
  // The place of config(), for messages: "model.keras: config.json", "model.h5: model_config".
  [[nodiscard]] std::string config_place() const;
  // How the model was compiled: `training_config` of .h5 (optimizer_config, loss, metrics, ...
  // resolved), or `compile_config` of an archive or of JSON (as the user wrote it); null if it was
  // not compiled.
  [[nodiscard]] const KerasJson& training() const { return training_; }

  // kModel, kLayerWeights: every layer of `layer_names`, including those without weights, in that
  // order. kSavedModel: only those with weights.
  [[nodiscard]] const std::vector<KerasLayerWeights>& layers() const { return layers_; }
  // Weights of the model object itself, which belong to no layer; normally empty.
  [[nodiscard]] const KerasLayerWeights& top_level() const { return top_level_; }
  // kModel: the optimizer's variables ("Adam/m/dense/kernel:0"), in the order of `weight_names`.
  [[nodiscard]] const KerasLayerWeights& optimizer() const { return optimizer_; }
  // kObjectWeights, kArchive: the model.
  [[nodiscard]] const KerasObject& root() const { return root_; }

 private:
  friend class KerasFileReader;
  KerasFile() = default;

  std::string name_;
  KerasFileKind kind_ = KerasFileKind::kConfig;
  std::string keras_version_;
  KerasJson config_;
  KerasJson training_;
  std::vector<KerasLayerWeights> layers_;
  KerasLayerWeights top_level_;
  KerasLayerWeights optimizer_;
  KerasObject root_;
};

// Returns the name of a class in object paths: "conv2d" for "Conv2D", "re_lu" for "ReLU".
[[nodiscard]] std::string KerasSnakeCase(std::string_view class_name);

}  // namespace tpuest
