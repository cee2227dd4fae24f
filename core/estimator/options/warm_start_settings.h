#pragma once
// tf.estimator.WarmStartSettings: the values that a new run takes from another run's checkpoint.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/visit.h"
#include "core/nn/initializers.h"

namespace tpuest {

// tf.estimator.VocabInfo: the words that the rows (axis 0) or columns (axis 1) of a variable stand
// for.
struct VocabInfo {
  std::string new_vocab;
  int64_t new_vocab_size = 0;
  int64_t num_oov_buckets = 0;
  std::string old_vocab;
  int64_t old_vocab_size = -1;
  std::optional<nn::Initializer> backup_initializer;
  int64_t axis = 0;

  template <class V>
  void Visit(V& v) {
    v("new_vocab", new_vocab,
      {.help = "file of the variable's words, one per line", .required = true, .input_path = true});
    v("new_vocab_size", new_vocab_size,
      {.help = "number of words to use, from the first line", .required = true});
    v("num_oov_buckets", num_oov_buckets,
      {.help = "number of rows for other words, after those of the vocabulary", .required = true});
    v("old_vocab", old_vocab,
      {.help = "file of the checkpoint's words", .required = true, .input_path = true});
    v("old_vocab_size", old_vocab_size,
      {.help = "number of words in the checkpoint; -1 counts all lines"});
    v("backup_initializer", backup_initializer,
      {.help = "initial values for words that the checkpoint lacks; `null` uses zeros"});
    v("axis", axis, {.help = "axis of the words: 0 for rows, 1 for columns"});
  }
};

struct WarmStartSettings {
  std::string ckpt_to_initialize_from;
  std::optional<std::variant<std::string, std::vector<std::string>>> vars_to_warm_start = ".*";
  std::map<std::string, VocabInfo> var_name_to_vocab_info;
  std::map<std::string, std::string> var_name_to_prev_var_name;
  std::string on_mismatch = "error";

  template <class V>
  void Visit(V& v) {
    v("ckpt_to_initialize_from", ckpt_to_initialize_from,
      {.help = "prefix of a checkpoint, its folder (takes the newest), or a SavedModel",
       .required = true,
       .input_path = true});
    v("vars_to_warm_start", vars_to_warm_start,
      {.help = "pattern that names of trainable variables must start with; or a list of patterns "
               "over all variables, including slots and global_step; `null` takes only variables "
               "with a vocabulary"});
    v("var_name_to_vocab_info", var_name_to_vocab_info,
      {.help =
           "vocabularies of variables whose rows or columns stand for words, by variable name"});
    v("var_name_to_prev_var_name", var_name_to_prev_var_name,
      {.help = "names of variables in the checkpoint, by their name here"});
    v("on_mismatch", on_mismatch,
      {.help = "what to do with variables that the checkpoint lacks or has in another shape: "
               "`error` refuses them; `skip` keeps their initial values",
       .tpuest = true,
       .values = {"error", "skip"}});
  }
};

// A path without settings, of a checkpoint or a SavedModel, means all trainable variables.
using WarmStartFrom = std::variant<std::string, WarmStartSettings>;

// Returns the checkpoint's path, and the settings that a path without settings stands for.
[[nodiscard]] const std::string& PathOf(const WarmStartFrom& from);
[[nodiscard]] WarmStartSettings SettingsOf(const WarmStartFrom& from);

// Returns the settings as Python prints them, for the log.
[[nodiscard]] std::string PythonText(const WarmStartSettings& settings);

// Returns all faults that can be found without reading a file, with TensorFlow's messages and their
// keys.
[[nodiscard]] std::vector<Fault> Validate(const WarmStartFrom& from);

}  // namespace tpuest
