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

namespace tpuest::data {

// ---- the input_fn ----------------------------------------------------------------------------

// The column of each head's labels, by the head's name.
using LabelColumns = std::map<std::string, std::string>;

// Whether the source's records are parsed as tf.Examples or SequenceExamples.
template <class Options>
[[nodiscard]] bool Parses(const Options& options) {
  return !options.parse_example.empty() || options.parse_sequence_example.has_value();
}

// An input_fn of a job. Without `stages` its parts run in this order: source, skip and take, shard,
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
  // Set by the whole job (tpuest.data_errors, tpuest.fold, predict.forward_features); not keys of
  // an input_fn.
  DataErrors data_errors;
  std::optional<FoldPart> fold;
  std::vector<std::string> forwarded;  // columns that are passed on as `id` is

  template <class V>
  void Visit(V& v) {
    v("source", source, {.help = "where the records come from", .required = true});
    v("parse_example", parse_example, {.help = "features of the tf.Examples, by name"});
    v("parse_sequence_example", parse_sequence_example,
      {.help = "features of SequenceExamples; replaces parse_example"});
    v("map", map, {.help = "ops on columns, in order"});
    v("filter", filter,
      {.help = "formula of an example's columns after `map`; examples for which it is false are "
               "left out; empty keeps all"});
    v("features", features,
      {.help = "columns passed to model_fn: one as a tensor, several as a dict; [] takes all that "
               "are neither labels nor id"});
    v("labels", labels,
      {.help = "column of the labels, or a dict {head's name: column}; `null` has none"});
    v("id", id,
      {.help = "column to carry along without feeding it to the model",
       .tpuest = true,
       .changes_bits = false});
    v("cache", cache,
      {.help = "`memory` keeps generated, decompressed and decoded records; a file name keeps "
               "records or decoded images for later runs. Plain files are always memory-mapped",
       .changes_bits = false});
    v("shuffle", shuffle, {.help = "how to shuffle; `null` keeps the order of the source"});
    v("repeat", repeat,
      {.help = "number of passes; -1 repeats forever; `null` is -1 in training, otherwise 1"});
    v("stages", stages,
      {.help = "stages in a custom order; replaces map, filter, shuffle and repeat; without a "
               "`repeat` the input ends after one pass"});
    v("drop_remainder", drop_remainder,
      {.help = "leave out a last short batch; `null` is true in training, otherwise false"});
    v("num_parallel_calls", num_parallel_calls,
      {.help = "number of input workers; `auto` depends on the machine",
       .values = {"auto"},
       .changes_bits = false});
    v("prefetch", prefetch,
      {.help = "number of batches to prepare ahead; `auto` is two per worker",
       .values = {"auto"},
       .changes_bits = false});
  }
};

}  // namespace tpuest::data
