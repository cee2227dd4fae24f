#include "cli/look/inspect/table_note.h"

#include <algorithm>
#include <cmath>

#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/rows/row_seen.h"
#include "core/io/row_names.h"

namespace tpuest::cli {
namespace {

constexpr size_t kNorms = 3;

// The rows with the largest norms, the largest first; of equal ones the first.
std::vector<RowNorm> LargestOf(const Tensor& tensor) {
  const int64_t width = tensor.shape().dim(1);
  const float* values = tensor.data<float>();
  std::vector<RowNorm> largest;
  for (int64_t row = 0; row < tensor.shape().dim(0); ++row, values += width) {
    double squares = 0;
    for (int64_t k = 0; k < width; ++k) squares += static_cast<double>(values[k]) * values[k];
    const RowNorm norm{row, std::sqrt(squares)};
    if (largest.size() == kNorms && !(norm.norm > largest.back().norm)) continue;
    const auto at = std::find_if(largest.begin(), largest.end(),
                                 [&](const RowNorm& other) { return norm.norm > other.norm; });
    largest.insert(at, norm);
    if (largest.size() > kNorms) largest.pop_back();
  }
  return largest;
}

}  // namespace

std::optional<TableNote> NoteOfTable(const BundleReader& reader, const std::string& name,
                                     const Tensor& tensor) {
  if (tensor.dtype() != DType::kFloat || tensor.shape().rank() != 2) return std::nullopt;
  if (name.ends_with("embedding_weights") || name.ends_with("_shared_embedding")) {
    return TableNote{false, tensor.shape().dim(0), LargestOf(tensor)};
  }
  if (!name.ends_with(kRowValuesEnding)) return std::nullopt;
  const std::string keys = RowKeysName(name.substr(0, name.size() - kRowValuesEnding.size()));
  if (!reader.Has(keys) || reader.DTypeOf(keys) != DType::kInt64) return std::nullopt;
  const Tensor numbers = reader.Read(keys);
  if (numbers.elements() != tensor.shape().dim(0)) return std::nullopt;
  TableNote note{true, tensor.shape().dim(0), LargestOf(tensor)};
  for (RowNorm& norm : note.largest) norm.row = numbers.data<int64_t>()[norm.row];
  return note;
}

std::optional<SeenNote> NoteOfSeen(const std::string& name, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const bool fits = IsSeenEntry(name) && tensor.dtype() == DType::kInt64 && shape.rank() == 2 &&
                    shape.dim(1) == 4;
  if (!fits) return std::nullopt;
  SeenNote note{.rows = shape.dim(0)};
  const int64_t* numbers = tensor.data<int64_t>();
  for (int64_t i = 0; i < note.rows; ++i, numbers += 4) {
    note.last_step = std::max(note.last_step, numbers[2]);
    if (numbers[3] != 0) ++note.trained;
  }
  return note;
}

std::string TextOf(const SeenNote& note) {
  return fmt::format("{} rows used, {} of them trained, last used at step {}",
                     WithCommas(note.rows), WithCommas(note.trained), WithCommas(note.last_step));
}

Json JsonOf(const SeenNote& note) {
  return {{"rows", note.rows}, {"trained", note.trained}, {"last_step", note.last_step}};
}

std::string TextOf(const TableNote& note) {
  std::vector<std::string> norms;
  for (const RowNorm& norm : note.largest) {
    norms.push_back(fmt::format("{}: {:.5g}", norm.row, norm.norm));
  }
  return fmt::format("{} rows{}, largest norms {}", WithCommas(note.rows),
                     note.by_rows ? " written" : "", Join(norms, ", "));
}

Json JsonOf(const TableNote& note) {
  Json json = {{"rows", note.rows}, {"written_alone", note.by_rows}, {"largest", Json::array()}};
  for (const RowNorm& norm : note.largest) {
    json["largest"].push_back({{"row", norm.row}, {"norm", norm.norm}});
  }
  return json;
}

}  // namespace tpuest::cli
