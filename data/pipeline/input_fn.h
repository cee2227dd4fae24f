#pragma once
// Makes of a job's options the function that makes its stream of batches.

#include <functional>
#include <optional>
#include <string>

#include "core/estimator/contract/contract.h"
#include "data/options.h"
#include "data/source.h"

namespace tpuest::data {

// Checks all that can be told without a file: dtypes, names of columns, shapes through the map ops.
// `name` is the key below input_fns ("train") that errors name. Throws Error kUsage.
//
// The InputFn opens the source: Error kData for a missing file, a pattern without a match or bad
// contents. The stream's order is a pure function of (seed, epoch, index), whatever the threads. An
// error of a worker is thrown by the Next() that would have returned its batch, and by every later
// one until Seek.
[[nodiscard]] InputFn MakeInputFn(InputFnOptions options, const std::string& name);

// Makes an InputFn over what `wrap`, where there is one, makes of the opened source: one column of
// strings, SerializedColumn(). The records are those that the filter of `original` keeps. Otherwise
// as MakeInputFn.
using WrapSource = std::function<AnySource(AnySource)>;
[[nodiscard]] InputFn MakeWrappedInputFn(InputFnOptions options, const std::string& name,
                                         WrapSource wrap, InputFnOptions original);

// The same for rows of the standard input that are predicted as they come (data/sources/
// live_source.h): a batch is of those that come within 50 ms of its first one.
[[nodiscard]] InputFn MakeLiveInputFn(InputFnOptions options, const std::string& name);

// The stream's columns, where they can be told without a file (not for idx). Throws as above.
[[nodiscard]] std::optional<StreamSpec> KnownSpec(const InputFnOptions& options,
                                                  const std::string& name);

// The examples of an epoch, where they can be told without a file (not for files). Throws as above.
[[nodiscard]] std::optional<int64_t> KnownSize(const InputFnOptions& options,
                                               const std::string& name);

}  // namespace tpuest::data
