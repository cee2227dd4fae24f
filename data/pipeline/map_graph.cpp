#include "data/pipeline/map_graph.h"

#include <memory>

#include "data/pipeline/input_fn.h"
#include "data/sources/open_source.h"

namespace tpuest {

std::vector<TensorSpec> SourceColumns(const InputFnOptions& options, const std::string& key) {
  const std::string source_key = key + ".source";
  if (auto known = KnownColumns(options.source, source_key)) return *std::move(known);
  // Bad records were reported when the job's own input was opened, hence no report here.
  const AnySource source =
      OpenSource(options.source, false, source_key, {options.data_errors.options, nullptr});
  return std::get<std::shared_ptr<IndexedSource>>(source)->columns();
}

}  // namespace tpuest
