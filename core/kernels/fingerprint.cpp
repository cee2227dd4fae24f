#include "core/kernels/fingerprint.h"

#include <farmhash.h>

namespace tpuest {

uint64_t Fingerprint64(std::string_view text) {
  return util::Fingerprint64(text.data(), text.size());
}

}  // namespace tpuest
