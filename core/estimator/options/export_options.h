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

// tf.estimator.export's receivers, named after their builder functions.
struct ReceiverOptions {
  std::optional<int64_t> default_batch_size;

  template <class V>
  void Visit(V& v) {
    v("default_batch_size", default_batch_size,
      {.help = "batch size of a request; `null` allows any"});
  }
};
struct ParsingReceiver : ReceiverOptions {
  static constexpr std::string_view kType = "build_parsing_serving_input_receiver_fn";
  static constexpr std::string_view kSummary = "requests hold serialized tf.Examples";
};
struct RawReceiver : ReceiverOptions {
  static constexpr std::string_view kType = "build_raw_serving_input_receiver_fn";
  static constexpr std::string_view kSummary = "requests hold the features as tensors";
  bool with_map = false;

  template <class V>
  void Visit(V& v) {
    ReceiverOptions::Visit(v);
    v("with_map", with_map,
      {.help = "`true` takes the input's columns and exports its map steps with the model; `false` "
               "takes features",
       .tpuest = true});
  }
};
// The parsing receiver, plus the features themselves as signatures "raw:<key>".
struct BothReceivers : ReceiverOptions {
  static constexpr std::string_view kType = "both";
  static constexpr std::string_view kSummary =
      "requests hold tensors, or serialized tf.Examples under separate signatures";
};
// Image files, which the graph decodes and resizes.
struct ImageBytesReceiver : ReceiverOptions {
  static constexpr std::string_view kType = "image_bytes";
  static constexpr std::string_view kSummary = "requests hold image files";
  std::string interpolation = "bilinear";

  template <class V>
  void Visit(V& v) {
    ReceiverOptions::Visit(v);
    v("interpolation", interpolation,
      {.help = "how to resize images of another size",
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
      {.help =
           "parent folder, in which each export creates a folder; `null` is <model_dir>/export"});
    v("serving_input_receiver_fn", serving_input_receiver_fn,
      {.help = "input format of requests; `null` takes tf.Examples if the input parses them, "
               "otherwise features"});
    v("experimental_mode", experimental_mode,
      {.help = "modes to export: PREDICT, EVAL or TRAIN; a list exports several, as "
               "experimental_export_all_saved_models does",
       .values = {"PREDICT", "EVAL", "TRAIN"}});
    v("assets_extra", assets_extra,
      {.help = "files to copy to assets.extra/, keyed by their path there", .input_path = true});
    v("as_text", as_text, {.help = "write saved_model.pbtxt instead of saved_model.pb"});
    v("strip_default_attrs", strip_default_attrs,
      {.help = "leave out attributes that have their default value, so that older readers accept "
               "the model"});
    v("checkpoint_path", checkpoint_path,
      {.help = "checkpoint to use: `latest`, `best`, a step or a prefix"});
    v("batch_config", batch_config,
      {.help = "BatchConfig: how a server batches requests; for API version 2 on TPU"});
    v("verify", verify,
      {.help = "number of records on which the export is read back and compared with the model; 0 "
               "skips the check",
       .tpuest = true});
  }

  // The modes to export, without duplicates.
  [[nodiscard]] std::vector<Mode> Modes() const;
};

// Returns all faults with their keys ("export.batch_config.allowed_batch_sizes").
[[nodiscard]] std::vector<Fault> Validate(const ExportOptions& options);

}  // namespace tpuest
