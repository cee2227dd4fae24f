#include "data/pipeline/filter.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "data/pipeline/batch_builder.h"

namespace tpuest::data {
namespace {

constexpr int64_t kChunk = 1024;       // records that a worker takes at a time
constexpr int64_t kStreamChunk = 64;   // records to read ahead of a stream
constexpr size_t kPooledTensors = 16;  // more than most formulas have columns

BuildContext ContextOf(const FilterContext& filter, const Source& source) {
  BuildContext build;
  build.plan = filter.plan;
  build.parser = filter.parser;
  build.files = &source.files();
  return build;
}

BuildContext StreamContextOf(const FilterContext& filter, const StreamedSource& source) {
  BuildContext build = ContextOf(filter, source);
  build.decoder = source.decoder();
  return build;
}

// Returns for each drawn record whether the filter keeps it.
std::vector<bool> Kept(BatchBuilder& builder, Drawn& drawn) {
  drawn.stretches = {{0, drawn.rows}};
  const Batch batch = builder.Build(drawn, 0);
  const auto* const keeps = batch.features.front().data<bool>();
  return std::vector<bool>(keeps, keeps + drawn.rows);
}

// The lengths of the drawn records.
std::vector<int64_t> Lengths(BatchBuilder& builder, Drawn& drawn) {
  drawn.stretches = {{0, drawn.rows}};
  const Batch batch = builder.Build(drawn, 0);
  std::vector<int64_t> lengths;
  const int64_t width = batch.present.empty() ? 1 : batch.present.front().shape().dim(1);
  for (int64_t row = 0; row < drawn.rows; ++row) {
    if (batch.present.empty()) {
      lengths.push_back(static_cast<int64_t>(batch.features.front().AsDouble(row)));
    } else {
      const bool* const places = batch.present.front().data<bool>() + row * width;
      lengths.push_back(std::count(places, places + width, true));
    }
  }
  return lengths;
}

class KeptSource final : public IndexedSource {
 public:
  KeptSource(std::shared_ptr<IndexedSource> source, std::vector<int64_t> records)
      : IndexedSource(source->columns(), source->files()),
        source_(std::move(source)),
        records_(std::move(records)) {}
  [[nodiscard]] int64_t size() const override { return static_cast<int64_t>(records_.size()); }
  [[nodiscard]] Provenance From(int64_t index) const override {
    return source_->From(records_[static_cast<size_t>(index)]);
  }
  void Read(int64_t index, Row& row) const override {
    source_->Read(records_[static_cast<size_t>(index)], row);
  }

 private:
  std::shared_ptr<IndexedSource> source_;
  std::vector<int64_t> records_;
};

// The pass over an indexed source. Workers take chunks in any order; the results of `look` are in
// the order of the records.
template <class T>
class Pass {
 public:
  using Look = std::vector<T> (*)(BatchBuilder&, Drawn&);
  Pass(const IndexedSource& source, const FilterContext& filter, Look look)
      : look_(look),
        context_(ContextOf(filter, source)),
        size_(source.size()),
        kept_(static_cast<size_t>((size_ + kChunk - 1) / kChunk)) {
    context_.source = &source;
  }

  std::vector<T> Run(int workers) {
    {
      std::vector<std::jthread> threads;
      const auto most = static_cast<int64_t>(kept_.size());
      for (int64_t i = 1; i < std::min<int64_t>(workers, most); ++i) {
        threads.emplace_back([this] { Work(); });
      }
      Work();
    }
    if (error_) std::rethrow_exception(error_);
    std::vector<T> all;
    all.reserve(static_cast<size_t>(size_));
    for (const std::vector<T>& chunk : kept_) all.insert(all.end(), chunk.begin(), chunk.end());
    return all;
  }

 private:
  void Work() {
    TensorPool pool(kPooledTensors);
    BatchBuilder builder(context_, pool);
    Drawn drawn;
    for (size_t chunk = next_++; chunk < kept_.size(); chunk = next_++) {
      try {
        LookAt(builder, chunk, drawn);
      } catch (...) {
        // Reports the first error in the order of the records.
        const std::lock_guard lock(mutex_);
        if (!error_ || chunk < error_chunk_) {
          error_ = std::current_exception();
          error_chunk_ = chunk;
        }
        next_ = kept_.size();
      }
    }
  }

  void LookAt(BatchBuilder& builder, size_t chunk, Drawn& drawn) {
    drawn.Clear();
    const int64_t first = static_cast<int64_t>(chunk) * kChunk;
    drawn.rows = std::min(kChunk, size_ - first);
    for (int64_t i = 0; i < drawn.rows; ++i) drawn.records.push_back(first + i);
    kept_[chunk] = look_(builder, drawn);
  }

  Look look_;
  BuildContext context_;
  int64_t size_;
  std::atomic<size_t> next_ = 0;      // chunk
  std::vector<std::vector<T>> kept_;  // by chunk
  std::mutex mutex_;
  std::exception_ptr error_;
  size_t error_chunk_ = 0;
};

class KeptStream final : public StreamedSource {
 public:
  KeptStream(std::unique_ptr<StreamedSource> source, FilterContext filter)
      : StreamedSource(source->columns(), source->files()),
        source_(std::move(source)),
        filter_(std::move(filter)),
        context_(StreamContextOf(filter_, *source_)),
        pool_(kPooledTensors),
        builder_(context_, pool_) {}

  void Rewind() override {
    source_->Rewind();
    drawn_.Clear();
    at_ = 0;
  }

  [[nodiscard]] bool Next(std::string_view& bytes, Provenance& from) override {
    for (;;) {
      if (at_ == drawn_.rows && !Fill()) return false;
      const auto row = static_cast<size_t>(at_++);
      if (!kept_[row]) continue;
      const size_t begin = row == 0 ? 0 : drawn_.ends[row - 1];
      bytes = std::string_view(drawn_.bytes).substr(begin, drawn_.ends[row] - begin);
      from = drawn_.from[row];
      return true;
    }
  }

  [[nodiscard]] std::shared_ptr<const RowDecoder> decoder() const override {
    return source_->decoder();
  }

 private:
  // Reads the next records; false at the end.
  bool Fill() {
    drawn_.Clear();
    at_ = 0;
    std::string_view bytes;
    Provenance from;
    while (drawn_.rows < kStreamChunk && source_->Next(bytes, from)) {
      drawn_.bytes.append(bytes);
      drawn_.ends.push_back(drawn_.bytes.size());
      drawn_.from.push_back(from);
      ++drawn_.rows;
    }
    if (drawn_.rows == 0) return false;
    kept_ = Kept(builder_, drawn_);
    return true;
  }

  std::unique_ptr<StreamedSource> source_;
  FilterContext filter_;
  BuildContext context_;
  TensorPool pool_;
  BatchBuilder builder_;
  Drawn drawn_;
  int64_t at_ = 0;  // current row of drawn_
  std::vector<bool> kept_;
};

}  // namespace

std::vector<bool> TruthsOf(const IndexedSource& source, const FilterContext& context) {
  return Pass<bool>(source, context, Kept).Run(context.workers);
}

std::vector<int64_t> LengthsOf(const IndexedSource& source, const FilterContext& context) {
  return Pass<int64_t>(source, context, Lengths).Run(context.workers);
}

AnySource KeepRecords(AnySource source, FilterContext context) {
  auto* const indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source);
  if (indexed == nullptr) {
    return std::make_unique<KeptStream>(
        std::move(std::get<std::unique_ptr<StreamedSource>>(source)), std::move(context));
  }
  const std::vector<bool> truths = TruthsOf(**indexed, context);
  std::vector<int64_t> records;
  for (size_t i = 0; i < truths.size(); ++i) {
    if (truths[i]) records.push_back(static_cast<int64_t>(i));
  }
  if (records.empty()) {
    throw Error(Code::kData, fmt::format("the filter rejects all {} records", (*indexed)->size()))
        .Key(context.key);
  }
  return std::make_shared<KeptSource>(std::move(*indexed), std::move(records));
}

}  // namespace tpuest::data
