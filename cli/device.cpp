#include "cli/device.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kPath = "pjrt:";

}  // namespace

Device::Device(const std::string& name, int replicas) {
  if (name == "cpu") return;
  client_ = LoadPjrtPlugin(name.substr(kPath.size()), replicas);
  backend_ = MakePjrtBackend(*client_);
}

}  // namespace tpuest::cli
