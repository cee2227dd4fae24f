// IDX files of images and labels: each in order, and both together. The first byte is the number of
// bytes of the labels; 0: there are no labels.

#include "data/sources/open_source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {

void RunIdx(std::string_view input) {
  const size_t labels = std::min<size_t>(TakeChoice(input), input.size());
  data::IdxSource options;
  if (labels > 0) options.labels = TheFiles().Put("labels", input.substr(0, labels));
  options.images = TheFiles().Put("images", input.substr(labels));
  const std::shared_ptr<data::IndexedSource> source = data::OpenIdx(options, "source");
  data::Row row;
  volatile unsigned seen = 0;  // keeps the compiler from removing the reads
  // A damaged header may announce four billion images without a pixel.
  for (int64_t i = 0; i < std::min<int64_t>(source->size(), 1000); ++i) {
    source->Read(i, row);
    const auto* const pixels = static_cast<const unsigned char*>(row.columns[0].data);
    if (row.columns[0].count > 0) seen = seen + pixels[row.columns[0].count - 1];
  }
}

}  // namespace tpuest::fuzz
