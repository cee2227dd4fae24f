// Stands in for client.cpp and topology.cpp where the build has no PJRT interface.

#include "core/backend/pjrt/client.h"
#include "core/backend/pjrt/topology.h"
#include "core/base/error.h"

namespace tpuest {

namespace {

Error Missing(const std::string& path) {
  return {Code::kUsage, fmt::format("{}: tpuest was built without PJRT", path),
          "./dev plugins cpu fetches the interface; then build again"};
}

}  // namespace

std::unique_ptr<PjrtClient> LoadPjrtPlugin(const std::string& path, int /*cpu_devices*/,
                                           PjrtLogging /*logging*/) {
  throw Missing(path);
}

std::unique_ptr<PjrtTopology> OpenTopology(const std::string& path, const std::string& /*name*/,
                                           PjrtLogging /*logging*/) {
  throw Missing(path);
}

bool HasPjrt() { return false; }

}  // namespace tpuest
