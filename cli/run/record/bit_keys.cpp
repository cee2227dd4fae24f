#include "cli/run/record/bit_keys.h"

#include <algorithm>

namespace tpuest::cli {
namespace {

// With all that is below them.
constexpr std::string_view kHarmless[] = {
    "version",
    "name",
    "mode",
    "eval_batch_size",
    "predict_batch_size",
    "eval_on_tpu",
    "export_to_tpu",
    "export_to_cpu",
    "export_saved_model_api_version",
    "run_config.model_dir",
    "run_config.save_summary_steps",
    "run_config.save_checkpoints_steps",
    "run_config.save_checkpoints_secs",
    "run_config.session_config",
    "run_config.keep_checkpoint_max",
    "run_config.keep_checkpoint_every_n_hours",
    "run_config.keep_best",
    "run_config.log_step_count_steps",
    "run_config.checkpoint_save_graph_def",
    "run_config.checkpoint_format",
    "run_config.eval_distribute",
    "run_config.tpu_config.iterations_per_loop",
    "run_config.tpu_config.eval_training_input_configuration",
    "run_config.tpu_config.experimental_host_call_every_n_steps",
    "summaries",
    "train_spec.steps",
    "train_spec.max_steps",
    "train_spec.saving_listeners",
    "eval_spec",
    "predict",
    "export",
    "tpuest.fsync",
    "tpuest.staging_bytes",
    "tpuest.deadlines",
};

// Of the input_fn that is trained on.
constexpr std::string_view kHarmlessOfInput[] = {"cache", "num_parallel_calls", "prefetch", "id"};

bool IsAtOrBelow(std::string_view path, std::string_view section) {
  if (!path.starts_with(section)) return false;
  return path.size() == section.size() || path[section.size()] == '.' ||
         path[section.size()] == '[';
}

}  // namespace

bool CanChangeBits(std::string_view path, std::string_view train_input) {
  const auto holds_path = [&](std::string_view section) { return IsAtOrBelow(path, section); };
  if (std::any_of(std::begin(kHarmless), std::end(kHarmless), holds_path)) return false;
  constexpr std::string_view kInputs = "input_fns.";
  if (!path.starts_with(kInputs)) return true;
  const std::string_view inside = path.substr(kInputs.size());
  if (!IsAtOrBelow(inside, train_input)) return false;
  const std::string_view key = inside.substr(std::min(inside.size(), train_input.size() + 1));
  return std::none_of(std::begin(kHarmlessOfInput), std::end(kHarmlessOfInput),
                      [&](std::string_view section) { return IsAtOrBelow(key, section); });
}

}  // namespace tpuest::cli
