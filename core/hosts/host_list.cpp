#include "core/hosts/host_list.h"

#include <fmt/format.h>

#include <cstdint>

#include "core/base/text.h"
#include "core/base/whole_number.h"

namespace tpuest::hosts {
namespace {

using Names = std::vector<std::string>;

constexpr size_t kMostHosts = 100'000;

// Splits at the commas outside of brackets; nullopt if a bracket is not closed.
std::optional<Names> HostsOf(std::string_view text) {
  Names hosts(1);
  bool inside = false;
  for (const char c : text) {
    if (c == '[' || c == ']') {
      if (inside == (c == '[')) return std::nullopt;
      inside = c == '[';
    }
    if (c == ',' && !inside) {
      hosts.emplace_back();
    } else {
      hosts.back() += c;
    }
  }
  if (inside) return std::nullopt;
  return hosts;
}

// The numbers of "001-003,007", with leading zeros.
std::optional<Names> NumbersOf(std::string_view bracket) {
  Names numbers;
  for (const std::string& range : Split(bracket, ',')) {
    const size_t dash = range.find('-');
    const std::string first_text = range.substr(0, dash);
    const auto first = WholeNumber<uint32_t>(first_text);
    const auto last =
        dash == std::string::npos ? first : WholeNumber<uint32_t>(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostHosts) return std::nullopt;
    for (uint64_t number = *first; number <= *last; ++number) {
      numbers.push_back(fmt::format("{:0{}}", number, first_text.size()));
    }
    if (numbers.size() > kMostHosts) return std::nullopt;
  }
  return numbers;
}

// Each of `names` followed by each of `endings`.
std::optional<Names> Product(const Names& names, const Names& endings) {
  if (names.size() * endings.size() > kMostHosts) return std::nullopt;
  Names product;
  for (const std::string& name : names) {
    for (const std::string& ending : endings) product.push_back(name + ending);
  }
  return product;
}

// The hosts of one list entry, whose brackets may hold several numbers.
std::optional<Names> Expand(std::string_view host) {
  std::optional<Names> names = Names{""};
  while (names && !host.empty()) {
    const size_t open = host.find('[');
    names = Product(*names, {std::string(host.substr(0, open))});
    if (!names || open == std::string_view::npos) return names;
    const size_t close = host.find(']');
    const auto numbers = NumbersOf(host.substr(open + 1, close - open - 1));
    if (!numbers) return std::nullopt;
    names = Product(*names, *numbers);
    host.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace

std::optional<std::vector<std::string>> ExpandHostList(std::string_view text) {
  const std::optional<Names> hosts = HostsOf(text);
  if (!hosts) return std::nullopt;
  Names all;
  for (const std::string& host : *hosts) {
    const std::optional<Names> names = Expand(host);
    if (host.empty() || !names || all.size() + names->size() > kMostHosts) return std::nullopt;
    all.insert(all.end(), names->begin(), names->end());
  }
  return all;
}

}  // namespace tpuest::hosts
