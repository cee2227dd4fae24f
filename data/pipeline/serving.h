#pragma once
// Builds an input_fn's parsing and map steps as the graph that serves requests.

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
// [batch, ...]. Columns that only labels and `id` need are omitted.
//
// VarLenFeatures become [batch, K], K being the longest list of the batch, padded with -1, NaN or
// "" as in the stream, with an additional tensor `present`.
//
// Without parse_example, the columns of other sources are read from the features that `tpuest
// convert` writes (example_encoder.h); a TFRecordDataset's column is the record itself.
//
// `name` is the key below input_fns. The function throws kUsage, at the job's keys, for map steps
// that compute with a VarLenFeature's values, and the errors of MakeInputFn.
[[nodiscard]] ServingInputReceiverFn ParsingServingInputReceiverFn(
    InputFnOptions options, const std::string& name,
    std::optional<int64_t> default_batch_size = {});

// Adds a placeholder [batch, ...] for each source column that the features need, under the column's
// name, followed by the map steps. Lists have no such placeholder (kUsage). RawColumnsInputFn
// returns such columns, in the order of the input_fn.
[[nodiscard]] ServingInputReceiverFn RawColumnsReceiverFn(
    InputFnOptions options, const std::string& name,
    std::optional<int64_t> default_batch_size = {});
[[nodiscard]] InputFn RawColumnsInputFn(InputFnOptions options, const std::string& name);

// A receiver for the features of a spec (tf.feature_column.make_parse_example_spec), each under its
// key; errors point at `key`, a key path of the job. The spec declares all categorical features as
// lists. Features in `lists` were also lists for the model; all other features were dense, and are
// padded with "" and -1, even in a request without values, to the width in `widths`, or to 1.
[[nodiscard]] ServingInputReceiverFn ParsingServingInputReceiverFn(
    const std::map<std::string, FeatureOptions>& spec, const std::string& key,
    const std::set<std::string>& lists, const std::map<std::string, int64_t>& widths,
    std::optional<int64_t> default_batch_size = {});

// The input_fn's records in order, in the form that such a receiver takes: one feature, `examples`
// string []. For a TFRecordDataset it holds the record's bytes, otherwise the columns as a
// tf.Example with the numeric types of `spec`.
[[nodiscard]] InputFn SerializedInputFn(InputFnOptions options, const std::string& name,
                                        const std::map<std::string, FeatureOptions>& spec = {});

// The same for the input_fn's features after its map steps, for a receiver of `spec` whose features
// are not all columns of the source. Each row's tf.Example holds the features of `spec` with its
// numeric types; lists contain only their values, without padding.
[[nodiscard]] InputFn FeaturesAsExamples(InputFn input_fn,
                                         const std::map<std::string, FeatureOptions>& spec);

}  // namespace tpuest::data
