#include "data/sources/joined_source.h"

#include <algorithm>
#include <utility>

namespace tpuest::data {
namespace {

// One row per part, because each part keeps its own state in a row.
struct JoinedState final : Row::State {
  std::vector<Row> rows;
};

Row& RowOf(Row& row, size_t part, size_t parts) {
  if (!row.state) row.state = std::make_unique<JoinedState>();
  auto& state = static_cast<JoinedState&>(*row.state);
  if (state.rows.empty()) state.rows.resize(parts);
  return state.rows[part];
}

std::vector<std::string> FilesOfAll(const std::vector<std::shared_ptr<IndexedSource>>& parts) {
  std::vector<std::string> files;
  for (const auto& part : parts) {
    files.insert(files.end(), part->files().begin(), part->files().end());
  }
  return files;
}

std::string Described(const TensorSpec& column) {
  return fmt::format("\"{}\" {} {}", column.name, NameOf(column.dtype), column.shape.Text());
}

// Maps each column of `wanted` to the index of the part's column.
std::vector<size_t> ColumnsOfPart(const std::vector<TensorSpec>& wanted, const IndexedSource& part,
                                  const std::string& key) {
  std::vector<size_t> columns;
  for (const TensorSpec& column : wanted) {
    const auto found =
        std::find_if(part.columns().begin(), part.columns().end(),
                     [&](const TensorSpec& other) { return other.name == column.name; });
    if (found == part.columns().end()) {
      throw Error(Code::kUsage,
                  fmt::format("the first dataset's column {} is missing", Described(column)))
          .Key(key);
    }
    if (found->dtype != column.dtype || !(found->shape == column.shape)) {
      throw Error(
          Code::kUsage,
          fmt::format("{} is {} in the first dataset", Described(*found), Described(column)),
          "set the type with column_defaults or features")
          .Key(key);
    }
    columns.push_back(static_cast<size_t>(found - part.columns().begin()));
  }
  return columns;
}

class ChainedSource final : public IndexedSource {
 public:
  ChainedSource(std::vector<std::shared_ptr<IndexedSource>> parts,
                const std::vector<std::string>& keys)
      : IndexedSource(parts.front()->columns(), FilesOfAll(parts)), parts_(std::move(parts)) {
    int32_t files = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      starts_.push_back(starts_.back() + parts_[i]->size());
      first_files_.push_back(files);
      files += static_cast<int32_t>(parts_[i]->files().size());
      columns_of_.push_back(ColumnsOfPart(columns(), *parts_[i], keys[i]));
    }
  }
  [[nodiscard]] int64_t size() const override { return starts_.back(); }
  [[nodiscard]] Provenance From(int64_t index) const override {
    const size_t part = PartOf(index);
    const Provenance from = parts_[part]->From(index - starts_[part]);
    return {from.file + first_files_[part], from.record};
  }
  void Read(int64_t index, Row& row) const override {
    const size_t part = PartOf(index);
    Row& inner = RowOf(row, part, parts_.size());
    parts_[part]->Read(index - starts_[part], inner);
    row.from = From(index);
    row.columns.resize(columns().size());
    for (size_t i = 0; i < row.columns.size(); ++i) {
      row.columns[i] = inner.columns[columns_of_[part][i]];
    }
  }

 private:
  // Skips empty parts, which begin where the next part does.
  [[nodiscard]] size_t PartOf(int64_t index) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);
    return static_cast<size_t>(after - starts_.begin()) - 1;
  }

  std::vector<std::shared_ptr<IndexedSource>> parts_;
  std::vector<int64_t> starts_ = {0};
  std::vector<int32_t> first_files_;             // of each part, index in files()
  std::vector<std::vector<size_t>> columns_of_;  // of each part, in the order of columns()
};

std::vector<TensorSpec> ColumnsOfAll(const std::vector<std::shared_ptr<IndexedSource>>& parts,
                                     const std::vector<std::string>& keys) {
  std::vector<TensorSpec> columns;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const TensorSpec& column : parts[i]->columns()) {
      const bool is_there =
          std::any_of(columns.begin(), columns.end(),
                      [&](const TensorSpec& other) { return other.name == column.name; });
      if (is_there) {
        throw Error(Code::kUsage,
                    fmt::format("an earlier dataset also has a column \"{}\"", column.name),
                    "zip joins all columns; rename one")
            .Key(keys[i]);
      }
      columns.push_back(column);
    }
  }
  return columns;
}

class ZippedSource final : public IndexedSource {
 public:
  ZippedSource(std::vector<std::shared_ptr<IndexedSource>> parts,
               const std::vector<std::string>& keys)
      : IndexedSource(ColumnsOfAll(parts, keys), FilesOfAll(parts)), parts_(std::move(parts)) {
    for (const auto& part : parts_) size_ = std::min(size_, part->size());
  }
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] Provenance From(int64_t index) const override {
    return parts_.front()->From(index);
  }
  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    row.columns.clear();
    for (size_t part = 0; part < parts_.size(); ++part) {
      Row& inner = RowOf(row, part, parts_.size());
      parts_[part]->Read(index, inner);
      row.columns.insert(row.columns.end(), inner.columns.begin(), inner.columns.end());
    }
  }

 private:
  std::vector<std::shared_ptr<IndexedSource>> parts_;
  int64_t size_ = INT64_MAX;
};

}  // namespace

std::shared_ptr<IndexedSource> Chained(std::vector<std::shared_ptr<IndexedSource>> parts,
                                       const std::vector<std::string>& keys) {
  if (parts.size() == 1) return parts.front();
  return std::make_shared<ChainedSource>(std::move(parts), keys);
}

std::shared_ptr<IndexedSource> Zipped(std::vector<std::shared_ptr<IndexedSource>> parts,
                                      const std::vector<std::string>& keys) {
  return std::make_shared<ZippedSource>(std::move(parts), keys);
}

std::vector<int64_t> FileStarts(const IndexedSource& source) {
  Row row;
  const auto file_of = [&](int64_t index) {
    source.Read(index, row);
    return row.from.file;
  };
  std::vector<int64_t> starts = {0};
  const auto files = static_cast<int32_t>(source.files().size());
  for (int32_t file = 0; file < files; ++file) {
    // Records are in the order of their files, so a binary search finds the end of this file's
    // records.
    int64_t low = starts.back();
    int64_t high = source.size();
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (file_of(middle) <= file) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts.push_back(low);
  }
  return starts;
}

}  // namespace tpuest::data
