// tpuest inspect --diff: two checkpoints side by side

#include <cmath>

#include "cli/look/inspect/checkpoint.h"
#include "cli/look/inspect/tensor_statistics.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

struct Difference {
  Json only_in_first = Json::array();
  Json only_in_second = Json::array();
  Json differ = Json::object();
  int64_t same = 0;  // tensors that have the same bits in both

  [[nodiscard]] bool equal() const {
    return only_in_first.empty() && only_in_second.empty() && differ.empty();
  }
};

Json NumberOrInf(double value) { return std::isfinite(value) ? Json(value) : Json("inf"); }

// The document's entry of a tensor; null where both have the same bits.
Json DifferenceOf(const BundleReader& first, const BundleReader& second, const std::string& name) {
  const Shape shapes[] = {first.ShapeOf(name), second.ShapeOf(name)};
  const DType dtypes[] = {first.DTypeOf(name), second.DTypeOf(name)};
  Json entry = Json::object();
  if (shapes[0] != shapes[1]) entry["shapes"] = {shapes[0].dims(), shapes[1].dims()};
  if (dtypes[0] != dtypes[1]) entry["dtypes"] = {TypeName(dtypes[0]), TypeName(dtypes[1])};
  if (!entry.empty()) return entry;
  if (dtypes[0] == DType::kInvalid) {  // its bytes are all that can be compared
    if (first.ChecksumOf(name) == second.ChecksumOf(name)) return {};
    return {{"elements", shapes[0].elements()}, {"max_abs", "inf"}, {"max_relative", "inf"}};
  }
  const TensorDistance distance = DistanceOf(first.Read(name), second.Read(name));
  if (distance.same_bits) return {};
  entry["elements"] = distance.differ;
  if (dtypes[0] != DType::kString) {
    entry["max_abs"] = NumberOrInf(distance.max_abs);
    entry["max_relative"] = NumberOrInf(distance.max_relative);
  }
  return entry;
}

Difference Compare(const BundleReader& first, const BundleReader& second) {
  Difference difference;
  for (const std::string& name : first.Names()) {
    if (!second.Has(name)) {
      difference.only_in_first.push_back(name);
      continue;
    }
    Json entry = DifferenceOf(first, second, name);
    if (entry.is_null()) {
      ++difference.same;
    } else {
      difference.differ[name] = std::move(entry);
    }
  }
  for (const std::string& name : second.Names()) {
    if (!first.Has(name)) difference.only_in_second.push_back(name);
  }
  return difference;
}

std::string NumberOf(const Json& json) {
  return json.is_number() ? fmt::format("{:.3g}", json.get<double>()) : json.get<std::string>();
}

std::vector<std::string> RowOf(const std::string& name, const Json& entry) {
  std::vector<std::string> row = {name, "", "", "", ""};
  if (entry.contains("elements")) row[1] = WithCommas(entry["elements"].get<int64_t>());
  if (entry.contains("max_abs")) row[2] = NumberOf(entry["max_abs"]);
  if (entry.contains("max_relative")) row[3] = NumberOf(entry["max_relative"]);
  if (entry.contains("shapes")) {
    row[4] = fmt::format("{} and {}", entry["shapes"][0].dump(), entry["shapes"][1].dump());
  }
  if (entry.contains("dtypes")) {
    row[4] +=
        fmt::format("{}{} and {}", row[4].empty() ? "" : ", ",
                    entry["dtypes"][0].get<std::string>(), entry["dtypes"][1].get<std::string>());
  }
  return row;
}

void PrintNames(const std::string& title, const Json& names) {
  if (names.empty()) return;
  fmt::print("{}\n", title);
  for (const Json& name : names) fmt::print("  {}\n", name.get<std::string>());
}

void PrintDifference(const Difference& difference, const std::string& first,
                     const std::string& second) {
  fmt::print("checkpoints {} and {}: ", first, second);
  if (difference.equal()) {
    fmt::print("the same bits in all {} tensors\n", WithCommas(difference.same));
    return;
  }
  fmt::print("{} tensors have the same bits, {} differ\n", WithCommas(difference.same),
             WithCommas(static_cast<int64_t>(difference.differ.size())));
  if (!difference.differ.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"tensor", "elements", "max abs", "max relative", "shape, dtype"}};
    for (const auto& [name, entry] : difference.differ.items()) rows.push_back(RowOf(name, entry));
    fmt::print("{}", TableText({false, true, true, true, false}, rows));
  }
  PrintNames("only in " + first, difference.only_in_first);
  PrintNames("only in " + second, difference.only_in_second);
}

}  // namespace

int ShowDifference(const InspectInvocation& invocation, const std::string& prefix,
                   const std::string& other) {
  const Difference difference = Compare(BundleReader(prefix), BundleReader(other));
  if (!invocation.json) {
    PrintDifference(difference, prefix, other);
    return 0;
  }
  PrintDocument("inspect", {{"kind", "diff"},
                            {"path", prefix},
                            {"other", other},
                            {"equal", difference.equal()},
                            {"only_in_first", difference.only_in_first},
                            {"only_in_second", difference.only_in_second},
                            {"differ", difference.differ},
                            {"same", difference.same}});
  return 0;
}

}  // namespace tpuest::cli
