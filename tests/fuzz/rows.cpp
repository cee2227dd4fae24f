// Files of rows: JSON lines, lines of text, libsvm's rows, records of fixed length, NumPy's arrays,
// single and in archives. The first byte selects one; every value of every row is read.

#include "data/sources/open_source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

// A damaged header may announce four billion rows without a byte.
constexpr int64_t kMostRows = 1000;

// Sums all bytes, so that every byte is read.
uint64_t SumOf(const data::Values& values, DType dtype) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < values.count; ++i) {
    if (dtype == DType::kString) {
      for (const char c : static_cast<const std::string_view*>(values.data)[i]) {
        sum += static_cast<uint8_t>(c);
      }
      continue;
    }
    const size_t width = SizeOf(dtype);
    const auto* const bytes =
        static_cast<const uint8_t*>(values.data) + static_cast<size_t>(i) * width;
    for (size_t at = 0; at < width; ++at) sum += bytes[at];
  }
  return sum;
}

void ReadAll(const data::IndexedSource& source) {
  data::Row row;
  volatile uint64_t seen = 0;  // keeps the compiler from removing the reads
  for (int64_t i = 0; i < std::min(source.size(), kMostRows); ++i) {
    Takes([&] {
      source.Read(i, row);
      for (size_t column = 0; column < row.columns.size(); ++column) {
        seen = seen + SumOf(row.columns[column], source.columns()[column].dtype);
      }
    });
  }
}

std::map<std::string, data::FeatureOptions> StatedFeatures() {
  data::FixedLenFeature matrix;
  matrix.shape = {2, 2};
  matrix.dtype = "float32";
  matrix.default_value = Raw{"0.5"};
  data::FixedLenFeature number;
  number.dtype = "int64";
  return {{"m", matrix}, {"n", number}, {"w", data::VarLenFeature{.dtype = "string"}}};
}

}  // namespace

void RunRows(std::string_view input) {
  const uint8_t choice = TakeChoice(input);
  const std::string compression = (choice & 8) != 0 ? "auto" : "";
  switch (choice % 6) {
    case 0: {
      data::JsonLinesSource json;
      json.filenames = {TheFiles().Put("t.jsonl", input)};
      json.compression_type = compression;
      if ((choice & 16) != 0) json.features = StatedFeatures();
      if ((choice & 32) != 0) json.num_rows_for_inference = 2;
      return ReadAll(*data::OpenJsonLines(json, "source"));
    }
    case 1: {
      data::TextLineSource lines;
      lines.filenames = {TheFiles().Put("t.txt", input)};
      lines.compression_type = compression;
      return ReadAll(*data::OpenTextLines(lines, "source"));
    }
    case 2: {
      data::FixedLengthSource fixed;
      fixed.filenames = {TheFiles().Put("t.bin", input)};
      fixed.record_bytes = 1 + choice % 7;
      fixed.header_bytes = choice / 64;
      return ReadAll(*data::OpenFixedLength(fixed, "source"));
    }
    case 3:
      return ReadAll(*data::OpenNpy({.arrays = {{"x", TheFiles().Put("x.npy", input)}}}, "source"));
    case 4:
      return ReadAll(*data::OpenNpz({.file = TheFiles().Put("x.npz", input)}, "source"));
    default: {
      data::LibsvmSource rows;
      rows.filenames = {TheFiles().Put("t.svm", input)};
      rows.compression_type = compression;
      if ((choice & 16) != 0) rows.label_dtype = "float32";
      if ((choice & 32) != 0) rows.weights = rows.filenames;
      if ((choice & 64) != 0) rows.size = 100;
      rows.base = choice / 128;
      return ReadAll(*data::OpenLibsvm(rows, "source"));
    }
  }
}

}  // namespace tpuest::fuzz
