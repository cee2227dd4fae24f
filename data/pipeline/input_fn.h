#pragma once
// Makes the InputFn, which creates streams of batches, from a job's options.

#include <functional>
#include <optional>
#include <string>

#include "core/estimator/contract/contract.h"
#include "data/options.h"
#include "data/source.h"

namespace tpuest::data {

// Checks everything that does not need a file: dtypes, names of columns, shapes through the map
// ops. `name` is the key below input_fns ("train"), which errors name. Throws kUsage.
//
// The InputFn opens the source, and throws kData for a missing file, a pattern without a match or
// bad contents. The stream's order is a pure function of (seed, epoch, index) for any number of
// threads. A worker's error is thrown by the Next() that would have returned its batch, and by
// every later Next() until Seek.
[[nodiscard]] InputFn MakeInputFn(InputFnOptions options, const std::string& name);

// Like MakeInputFn, but over the source that `wrap`, if set, makes from the opened source; its only
// column is SerializedColumn(). Uses only the records that the filter of `original` keeps.
using WrapSource = std::function<AnySource(AnySource)>;
[[nodiscard]] InputFn MakeWrappedInputFn(InputFnOptions options, const std::string& name,
                                         WrapSource wrap, InputFnOptions original);

// Like MakeInputFn, for rows of the standard input that are predicted as they arrive
// (data/sources/live_source.h): a batch holds the rows that arrive within 50 ms of its first row.
[[nodiscard]] InputFn MakeLiveInputFn(InputFnOptions options, const std::string& name);

// The stream's columns, if they are known without a file (not for idx). Throws the errors of
// MakeInputFn.
[[nodiscard]] std::optional<StreamSpec> KnownSpec(const InputFnOptions& options,
                                                  const std::string& name);

// The number of examples per epoch; nullopt if only the files determine it. Throws the errors of
// MakeInputFn.
[[nodiscard]] std::optional<int64_t> KnownSize(const InputFnOptions& options,
                                               const std::string& name);

}  // namespace tpuest::data
