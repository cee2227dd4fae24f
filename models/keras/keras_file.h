#pragma once
// What Keras saves, recognised by content, whatever its name: whole models (.h5 of Keras 2,
// .keras, the folder of a SavedModel), weights (.h5 by layer, .weights.h5 by object) and
// configurations (model.to_json()).
// Weights are read when they are asked for. All that is wrong with a file is an Error kData that
// begins with its name.

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
  // Error kData for what is no dataset of numbers.
  KerasWeight(std::string name, const Hdf5Object& dataset);
  // A variable of a SavedModel.
  KerasWeight(std::string name, const std::shared_ptr<const BundleReader>& bundle,
              const std::string& key);
  // By layer: as Keras wrote it ("dense/kernel:0", in Keras 3 "dense/kernel"); by object: "0", "1".
  [[nodiscard]] const std::string& name() const { return name_; }
  // What Read gives: float32 for every floating type (float16, float64, bfloat16 are converted),
  // else the stored one (int64 and int32 counters, uint32 seeds).
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] const Shape& shape() const { return shape_; }
  // For messages: "model.h5: /model_weights/dense/dense/kernel:0".
  [[nodiscard]] const std::string& place() const { return place_; }
  // A copy of its own. Compare shape() with what is expected first: it asks for that memory.
  [[nodiscard]] Tensor Read() const;

 private:
  std::string name_;
  std::string place_;
  Shape shape_;
  DType stored_;
  std::function<Tensor()> read_;
};

// The weights of a layer by name; of a nested model, of all its layers (the order depends on
// whether it was trainable when it was saved).
struct KerasLayerWeights {
  std::string layer;
  std::vector<KerasWeight> weights;  // in the order of `weight_names`
};

// A saved object (model, layer, part of a layer) and what is below it.
struct KerasObject {
  std::string path;  // "layers/functional/layers/conv2d_3"; "" for the model
  std::string name;  // the layer's own name, which Keras >= 3.6 writes; else empty
  int number = 0;    // 3 of "conv2d_3", 0 of "conv2d"
  std::vector<KerasWeight>
      weights;  // `vars` 0, 1, ...: trainable, then the others, whatever `trainable`
  // Layers by class in snake case ("conv2d"), ordered by number: the k-th belongs to the k-th layer
  // of that class in model.layers, whatever its number is (Keras 2.12 leaves numbers out).
  std::map<std::string, std::vector<KerasObject>, std::less<>> layers;
  // All other groups: "optimizer", "seed_generator", "forward_layer", ...
  std::map<std::string, KerasObject, std::less<>> parts;
};

class KerasFile {
 public:
  // Error kData for a file that is none of these, is damaged, or of Keras 1; kCheckpoint for the
  // variables of a SavedModel.
  [[nodiscard]] static KerasFile Open(const std::string& path);
  // The same for bytes in memory; `name` is what messages call them.
  [[nodiscard]] static KerasFile Of(const std::string& name, std::string bytes);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] KerasFileKind kind() const { return kind_; }
  [[nodiscard]] bool has_config() const { return !config_.is_null(); }
  [[nodiscard]] bool has_weights() const { return kind_ != KerasFileKind::kConfig; }
  // "2.15.0"; empty where the file does not say (to_json of Keras 3, .weights.h5).
  [[nodiscard]] const std::string& keras_version() const { return keras_version_; }
  // {"class_name", "config", ...} of the model, with "module", "registered_name", "build_config" in
  // the newer dialects; null if there is none.
  [[nodiscard]] const KerasJson& config() const { return config_; }
  // Where that stands, for messages: "model.keras: config.json", "model.h5: model_config".
  [[nodiscard]] std::string config_place() const;
  // How the model was compiled: `training_config` of .h5 (optimizer_config, loss, metrics, ...
  // resolved), `compile_config` of an archive or of JSON (as the user wrote it); null: not
  // compiled.
  [[nodiscard]] const KerasJson& training() const { return training_; }

  // kModel, kLayerWeights: every layer of `layer_names`, also those without weights, in that order.
  // kSavedModel: those with weights.
  [[nodiscard]] const std::vector<KerasLayerWeights>& layers() const { return layers_; }
  // Weights of the model object itself, which belong to no layer; normally none.
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

// "conv2d" of "Conv2D", "re_lu" of "ReLU": how object paths call a class.
[[nodiscard]] std::string KerasSnakeCase(std::string_view class_name);

}  // namespace tpuest
