#include "core/io/slice_key.h"

#include <array>
#include <bit>
#include <optional>
#include <set>

#include "core/base/whole_number.h"

namespace tpuest {
namespace {

// Writes a number big-endian without leading zeros, after its number of bytes.
void AppendUnsigned(std::string& key, uint64_t value) {
  const int bytes = (std::bit_width(value) + 7) / 8;
  key.push_back(static_cast<char>(bytes));
  for (int i = bytes - 1; i >= 0; --i) key.push_back(static_cast<char>(value >> (8 * i)));
}

// Writes 0x00 as 0x00 0xff and 0xff as 0xff 0x00; 0x00 0x01, below both, ends the string, so that a
// prefix sorts first.
void AppendEscaped(std::string& key, std::string_view text) {
  for (const char c : text) {
    key.push_back(c);
    if (c == '\0') key.push_back('\xFF');
    if (c == '\xFF') key.push_back('\0');
  }
  key.append("\0\1", 2);
}

// Writes two's complement, big-endian, in the n bytes that have room for 7 n bits and the sign.
// Flips the top n bits, which include the sign, so that numbers sort by value.
void AppendSigned(std::string& key, int64_t value) {
  const auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int n = std::bit_width(magnitude) / 7 + 1;
  std::array<unsigned char, 10> bytes{};
  for (int i = 0; i < n; ++i) {
    const int shift = 8 * i < 63 ? 8 * i : 63;
    bytes[static_cast<size_t>(n - 1 - i)] = static_cast<unsigned char>(value >> shift);
  }
  for (int bit = 0; bit < n; ++bit) bytes[static_cast<size_t>(bit / 8)] ^= 0x80U >> (bit % 8);
  key.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(n));
}

// Returns "w/part_0/Ftrl" for "w/part_2/Ftrl"; nullopt for a name without a part or with part 0.
std::optional<std::string> NameOfFirstPart(std::string_view name) {
  for (size_t end = name.rfind('/'); end != std::string_view::npos && end > 0;) {
    const size_t slash = name.rfind('/', end - 1);
    if (slash == std::string_view::npos) return std::nullopt;
    const std::string_view folder = name.substr(slash + 1, end - slash - 1);
    for (const std::string_view word : {"part_", "t_"}) {
      if (!folder.starts_with(word)) continue;
      const std::optional<int64_t> part = WholeNumber<int64_t>(folder.substr(word.size()));
      if (!part || *part < 1) continue;
      std::string first(name.substr(0, slash + 1 + word.size()));
      return first.append("0").append(name.substr(end));
    }
    end = slash;
  }
  return std::nullopt;
}

}  // namespace

std::string SliceKey(std::string_view name, const std::vector<SliceExtent>& slice) {
  std::string key;
  AppendUnsigned(key, 0);
  AppendEscaped(key, name);
  AppendUnsigned(key, slice.size());
  for (const SliceExtent& extent : slice) {
    AppendSigned(key, extent.start);
    AppendSigned(key, extent.length);
  }
  return key;
}

std::map<std::string, std::vector<std::string>> OtherParts(const std::vector<std::string>& names) {
  const std::set<std::string_view> all(names.begin(), names.end());
  std::map<std::string, std::vector<std::string>> others;
  for (const std::string& name : names) {
    std::optional<std::string> first = NameOfFirstPart(name);
    if (first && all.contains(*first)) others[*std::move(first)].push_back(name);
  }
  return others;
}

}  // namespace tpuest
