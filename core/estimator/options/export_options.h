#pragma once
// The arguments of Estimator.export_saved_model and of the receivers that it takes.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/visit.h"
#include "core/estimator/contract/contract.h"

namespace tpuest {

// tf.estimator.export's receivers by the names of their builders.
struct ReceiverOptions {
  std::optional<int64_t> default_batch_size;

  template <class V>
  void Visit(V& v) {
    v("default_batch_size", default_batch_size, {.help = "of a request; null: any"});
  }
};
struct ParsingReceiver : ReceiverOptions {
  static constexpr std::string_view kType = "build_parsing_serving_input_receiver_fn";
  static constexpr std::string_view kSummary = "takes serialized tf.Examples";
};
struct RawReceiver : ReceiverOptions {
  static constexpr std::string_view kType = "build_raw_serving_input_receiver_fn";
  static constexpr std::string_view kSummary = "takes the features as tensors";
  bool with_map = false;

  template <class V>
  void Visit(V& v) {
    ReceiverOptions::Visit(v);
    v("with_map", with_map,
      {.help =
           "requests hold the input's columns, and the graph has its map steps; false: they hold "
           "features",
       .tpuest = true});
  }
};
// The parsing receiver, and the features themselves as signatures "raw:<key>".
struct BothReceivers : ReceiverOptions {
  static constexpr std::string_view kType = "both";
  static constexpr std::string_view kSummary =
      "takes tensors, and serialized tf.Examples under signatures of their own";
};
// Image files, which the graph decodes and resizes.
struct ImageBytesReceiver : ReceiverOptions {
  static constexpr std::string_view kType = "image_bytes";
  static constexpr std::string_view kSummary = "takes files of images";
  std::string interpolation = "bilinear";

  template <class V>
  void Visit(V& v) {
    ReceiverOptions::Visit(v);
    v("interpolation", interpolation,
      {.help = "how a file of another size is resized",
       .values = {"bilinear", "nearest", "bicubic", "area"}});
  }
};
using AnyReceiver = std::variant<ParsingReceiver, RawReceiver, BothReceivers, ImageBytesReceiver>;

// The section `export` of a job.
struct ExportOptions {
  std::optional<std::string> export_dir_base;
  std::optional<AnyReceiver> serving_input_receiver_fn;
  std::variant<std::string, std::vector<std::string>> experimental_mode = "PREDICT";
  std::map<std::string, std::string> assets_extra;
  bool as_text = false;
  bool strip_default_attrs = true;
  std::string checkpoint_path = "latest";
  std::optional<BatchConfig> batch_config;
  int64_t verify = 0;

  template <class V>
  void Visit(V& v) {
    v("export_dir_base", export_dir_base,
      {.help = "folder that gets a folder an export; null: <model_dir>/export"});
    v("serving_input_receiver_fn", serving_input_receiver_fn,
      {.help = "what requests hold; null: tf.Examples where the input parses such, else features"});
    v("experimental_mode", experimental_mode,
      {.help = "PREDICT, EVAL or TRAIN; a list: experimental_export_all_saved_models",
       .values = {"PREDICT", "EVAL", "TRAIN"}});
    v("assets_extra", assets_extra,
      {.help = "files for assets.extra/, by their path there", .input_path = true});
    v("as_text", as_text, {.help = "saved_model.pbtxt instead of saved_model.pb"});
    v("strip_default_attrs", strip_default_attrs,
      {.help = "leave out attributes that hold their default, for older readers"});
    v("checkpoint_path", checkpoint_path, {.help = "latest, best, a step or a prefix"});
    v("batch_config", batch_config,
      {.help = "of BatchConfig: how a server gathers requests; API version 2, on TPU"});
    v("verify", verify,
      {.help = "read the export back and compare it with the model on so many records; 0: do not",
       .tpuest = true});
  }

  // The modes to export, each once.
  [[nodiscard]] std::vector<Mode> Modes() const;
};

// All faults, each with its key ("export.batch_config.allowed_batch_sizes").
[[nodiscard]] std::vector<Fault> Validate(const ExportOptions& options);

}  // namespace tpuest
