#pragma once
// The options of an input_fn: source, parsing, map ops and stages. See core/base/visit.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/formula_text.h"
#include "core/base/visit.h"
#include "data/data_errors.h"
#include "data/feature_options.h"
#include "data/fold_options.h"
#include "data/map_options.h"
#include "data/source_options.h"
#include "data/stage_options.h"

namespace tpuest {

// ---- the whole -------------------------------------------------------------------------------

// The column of each head's labels, by the head's name.
using LabelColumns = std::map<std::string, std::string>;

// Whether the source's records are parsed as tf.Examples or SequenceExamples.
template <class Options>
[[nodiscard]] bool Parses(const Options& options) {
  return !options.parse_example.empty() || options.parse_sequence_example.has_value();
}

// An input_fn of a job. Without `stages` they run in this order: source, skip and take, shard,
// parse_example, map, filter, cache, shuffle, repeat, batch, prefetch.
struct InputFnOptions {
  SourceOptions source;
  std::map<std::string, FeatureOptions> parse_example;
  std::optional<SequenceExampleOptions> parse_sequence_example;
  std::vector<MapOptions> map;
  Formula filter;
  std::vector<std::string> features;
  std::optional<std::variant<std::string, LabelColumns>> labels;
  std::optional<std::string> id;
  std::variant<bool, std::string> cache = false;
  std::optional<ShuffleOptions> shuffle;
  std::optional<int64_t> repeat;
  std::vector<StageOptions> stages;
  std::optional<bool> drop_remainder;
  std::variant<std::string, int64_t> num_parallel_calls = "auto";
  std::variant<std::string, int64_t> prefetch = "auto";
  // These belong to the whole job (tpuest.data_errors, tpuest.fold, predict.forward_features); they
  // are no keys of an input_fn.
  DataErrors data_errors;
  std::optional<FoldPart> fold;
  std::vector<std::string> forwarded;  // columns carried along as `id` is

  template <class V>
  void Visit(V& v) {
    v("source", source, {.help = "where the records come from", .required = true});
    v("parse_example", parse_example, {.help = "features of the tf.Examples, by name"});
    v("parse_sequence_example", parse_sequence_example,
      {.help = "features of SequenceExamples; in the place of parse_example"});
    v("map", map, {.help = "ops on columns, in order"});
    v("filter", filter,
      {.help =
           "a formula of an example's columns after map: records for which it is false are left "
           "out; empty: none"});
    v("features", features,
      {.help = "columns that model_fn gets: one as a tensor, several as a dict; []: all that are "
               "neither labels nor id"});
    v("labels", labels,
      {.help = "column of the labels, or a dict of them: {head's name: column}; null: none"});
    v("id", id,
      {.help = "column carried along, never fed to the model",
       .tpuest = true,
       .changes_bits = false});
    v("cache", cache,
      {.help = "memory: keep generated, inflated and decoded records; plain files are mapped "
               "anyway. A file keeps the records, or decoded images, for later runs",
       .changes_bits = false});
    v("shuffle", shuffle, {.help = "null: in the order of the source"});
    v("repeat", repeat, {.help = "passes; -1: for ever; null: -1 in training, else 1"});
    v("stages", stages,
      {.help =
           "the stages in an order of one's own, in the place of map, filter, shuffle and repeat; "
           "without a repeat the input ends after a pass"});
    v("drop_remainder", drop_remainder,
      {.help = "leave out a last short batch; null: true in training, else false"});
    v("num_parallel_calls", num_parallel_calls,
      {.help = "input workers; auto: as the machine has",
       .values = {"auto"},
       .changes_bits = false});
    v("prefetch", prefetch,
      {.help = "batches made ahead; auto: two a worker",
       .values = {"auto"},
       .changes_bits = false});
  }
};

}  // namespace tpuest
