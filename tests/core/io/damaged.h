#pragma once
// Damages files as accidents do.

#include <random>
#include <string>

namespace tpuest {

// Changes one to eight bytes, cuts off the end, or moves a piece.
inline std::string Damaged(const std::string& whole, std::mt19937& random) {
  std::string bytes = whole;
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  switch (random() % 8) {
    case 0:
      bytes.resize(below(bytes.size()));
      break;
    case 1: {
      const size_t size = below(64) + 1;
      const size_t from = below(bytes.size() - size);
      bytes.replace(below(bytes.size() - size), size, whole.substr(from, size));
      break;
    }
    default:
      for (size_t i = below(8) + 1; i-- > 0;) {
        char& byte = bytes[below(bytes.size())];
        const bool bit = random() % 2 == 0;
        byte = static_cast<char>(bit ? byte ^ (1 << random() % 8) : random());
      }
  }
  return bytes;
}

}  // namespace tpuest
