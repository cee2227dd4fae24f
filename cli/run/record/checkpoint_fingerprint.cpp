#include "cli/run/record/checkpoint_fingerprint.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/process/files.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/object_graph.h"
#include "core/kernels/fingerprint.h"

namespace tpuest::cli {

Fingerprints FingerprintsOf(const std::string& prefix) {
  const BundleReader reader(prefix);
  Fingerprints variables;
  for (const std::string& name : reader.Names()) {
    if (name.starts_with("tpuest/") || name == kObjectGraphKey || name == "save_counter") continue;
    const std::string form =
        fmt::format("{} {}", static_cast<int>(reader.DTypeOf(name)), reader.ShapeOf(name).Text());
    variables[name] = FingerprintCat64(Fingerprint64(form), reader.ChecksumOf(name));
  }
  return variables;
}

std::vector<std::string> DifferentNames(const Fingerprints& a, const Fingerprints& b) {
  std::vector<std::string> names;
  for (const auto& [name, fingerprint] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second != fingerprint) names.push_back(name);
  }
  for (const auto& [name, fingerprint] : b) {
    if (!a.contains(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tpuest::cli
