#pragma once
// An input_fn's parsing and map steps as the graph that serves requests.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/estimator/contract/contract.h"
#include "data/options.h"

namespace tpuest::data {

// tf.estimator's build_parsing_serving_input_receiver_fn. `input_example_tensor` string [batch]
// (batch unknown without default_batch_size) is fed under the key `examples` with serialized
// tf.Examples; features get the names, types and values that the input_fn's stream gives model_fn,
// [batch, ...]. What only labels and `id` need is left out.
//
// VarLenFeatures come as [batch, K], K the longest list of the batch, filled with -1, NaN or "" as
// the stream fills them, with `present` beside them.
//
// Without parse_example, the columns of other sources come from the features that `tpuest convert`
// writes (example_encoder.h); a TFRecordDataset's column is the record itself.
//
// `name` is the key below input_fns. The function throws Error kUsage, at the job's keys, for map
// steps that compute with a VarLenFeature's values and for what MakeInputFn refuses.
[[nodiscard]] ServingInputReceiverFn ParsingServingInputReceiverFn(
    InputFnOptions options, const std::string& name,
    std::optional<int64_t> default_batch_size = {});

// A placeholder for each column that the features are made of, [batch, ...], under its name, and
// the map steps behind them. The columns are the input_fn's before its map steps; lists have no
// such placeholder (Error kUsage). RawColumnsInputFn gives such columns, in the order of the
// input_fn.
[[nodiscard]] ServingInputReceiverFn RawColumnsReceiverFn(
    InputFnOptions options, const std::string& name,
    std::optional<int64_t> default_batch_size = {});
[[nodiscard]] InputFn RawColumnsInputFn(InputFnOptions options, const std::string& name);

// A receiver for the features of a spec (tf.feature_column.make_parse_example_spec), each under its
// key; errors are at `key`, a key path of the job. The spec makes lists of all that columns take as
// categories: those of `lists` were lists for the model too, the others dense, where "" and -1 are
// what fills up, a request that holds no value too: to the width in `widths`, or to 1.
[[nodiscard]] ServingInputReceiverFn ParsingServingInputReceiverFn(
    const std::map<std::string, FeatureOptions>& spec, const std::string& key,
    const std::set<std::string>& lists, const std::map<std::string, int64_t>& widths,
    std::optional<int64_t> default_batch_size = {});

// The input_fn's records in its order, each as what such a receiver takes: one feature, `examples`
// string []. For a TFRecordDataset it is the record's bytes, else the columns as a tf.Example,
// numbers of the kind that `spec` asks for.
[[nodiscard]] InputFn SerializedInputFn(InputFnOptions options, const std::string& name,
                                        const std::map<std::string, FeatureOptions>& spec = {});

// The same of the input_fn's features, as its map steps leave them: what a receiver of `spec` takes
// where not every feature is a column of the source. Each row's tf.Example holds the features of
// `spec`, numbers of the kind that it asks for, and of lists the values alone.
[[nodiscard]] InputFn FeaturesAsExamples(InputFn input_fn,
                                         const std::map<std::string, FeatureOptions>& spec);

}  // namespace tpuest::data
