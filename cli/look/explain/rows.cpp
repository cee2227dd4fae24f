#include "cli/look/explain/rows.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/estimator/contract/wrapped_stream.h"

namespace tpuest::cli {
namespace {

int64_t AllRowsOf(const Batch& batch) { return batch.features.front().shape().dim(0); }

int64_t RealRowsOf(const Batch& batch) {
  return batch.example_weight.valid() ? batch.examples : AllRowsOf(batch);
}

// A row's batch, and its place there.
struct RowPlace {
  size_t batch = 0;
  int64_t row = 0;
};

// The places of all rows but padding.
std::vector<RowPlace> PlacesOf(const KeptRows& rows) {
  std::vector<RowPlace> places;
  for (size_t batch = 0; batch < rows.batches.size(); ++batch) {
    for (int64_t row = 0; row < RealRowsOf(rows.batches[batch]); ++row) {
      places.push_back({batch, row});
    }
  }
  return places;
}

using ColumnOf = std::function<const Tensor&(const Batch&)>;

// Rows of a column [batch, ...], put together in this order. If batches differ in the second axis,
// as lists do, all are padded to the longest with zeros or empty strings.
Tensor Gathered(const KeptRows& rows, const std::vector<RowPlace>& places, const ColumnOf& column) {
  std::vector<int64_t> dims = column(rows.batches[places.front().batch]).shape().dims();
  dims[0] = static_cast<int64_t>(places.size());
  for (const RowPlace& place : places) {
    const Shape& shape = column(rows.batches[place.batch]).shape();
    if (dims.size() > 1) dims[1] = std::max(dims[1], shape.dim(1));
  }
  const DType dtype = column(rows.batches[places.front().batch]).dtype();
  const Shape shape(dims);
  const auto width = static_cast<size_t>(shape.elements() / std::max<int64_t>(dims[0], 1));
  if (dtype == DType::kString) {
    std::vector<std::string> texts(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < places.size(); ++i) {
      const Tensor row =
          column(rows.batches[places[i].batch]).Rows(places[i].row, places[i].row + 1);
      for (size_t k = 0; k < row.strings().size(); ++k) {
        texts[i * width + k] = std::string(row.strings()[k]);
      }
    }
    return Tensor::Strings(shape, texts);
  }
  Tensor gathered(dtype, shape);
  for (size_t i = 0; i < places.size(); ++i) {
    const Tensor row = column(rows.batches[places[i].batch]).Rows(places[i].row, places[i].row + 1);
    if (row.bytes() == 0) continue;
    std::memcpy(static_cast<char*>(gathered.raw()) + i * width * SizeOf(dtype), row.raw(),
                row.bytes());
  }
  return gathered;
}

// The place of a feature among the spec's lists; nullopt: it is none.
std::optional<size_t> ListOf(const StreamSpec& spec, size_t feature) {
  const auto found = std::find(spec.lists.begin(), spec.lists.end(), spec.features[feature].name);
  if (found == spec.lists.end()) return std::nullopt;
  return static_cast<size_t>(found - spec.lists.begin());
}

// Gives `batch` the feature of these rows, one for each of its own.
void SetFeature(const KeptRows& rows, size_t feature, const std::vector<RowPlace>& places,
                Batch& batch) {
  batch.features[feature] = Gathered(
      rows, places, [&](const Batch& of) -> const Tensor& { return of.features[feature]; });
  if (const std::optional<size_t> list = ListOf(rows.spec, feature)) {
    batch.present[*list] =
        Gathered(rows, places, [&](const Batch& of) -> const Tensor& { return of.present[*list]; });
  }
}

class KeepingStream final : public WrappedStream {
 public:
  KeepingStream(std::unique_ptr<BatchStream> of, int64_t most, KeptRows& rows)
      : WrappedStream(std::move(of)), most_(most), rows_(rows) {
    rows_ = {.spec = this->of().spec(), .files = {}, .batches = {}};
  }
  [[nodiscard]] std::optional<Batch> Next() override {
    if (seen_ >= most_) return std::nullopt;
    std::optional<Batch> batch = of().Next();
    rows_.files = of().files();
    if (!batch) return batch;
    seen_ += RealRowsOf(*batch);
    rows_.batches.push_back(*batch);
    return batch;
  }

 private:
  const int64_t most_;
  KeptRows& rows_;
  int64_t seen_ = 0;
};

// Batches that are made one by one.
class MadeStream final : public BatchStream {
 public:
  // `next` gives the batch of this number, or nullopt after the last.
  using Make = std::function<std::optional<Batch>(size_t number)>;
  MadeStream(StreamSpec spec, const KeptRows& rows, Make make)
      : spec_(std::move(spec)), rows_(rows), make_(std::move(make)) {}

  [[nodiscard]] const StreamSpec& spec() const override { return spec_; }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override { return std::nullopt; }
  [[nodiscard]] bool endless() const override { return false; }
  void Seek(const StreamPosition& /*position*/) override {
    throw Error(Code::kInternal, "kept rows are read from their first");
  }
  [[nodiscard]] std::optional<Batch> Next() override { return make_(next_++); }
  [[nodiscard]] const std::vector<std::string>& files() const override { return rows_.files; }

 private:
  StreamSpec spec_;
  const KeptRows& rows_;
  Make make_;
  size_t next_ = 0;
};

// The batch of these rows; those behind `examples` are padding.
Batch MixedBatch(const KeptRows& rows, const std::vector<RowPlace>& places,
                 const std::vector<MixedRow>& mixed, int64_t examples) {
  Batch batch;
  batch.features.resize(rows.spec.features.size());
  batch.present.resize(rows.spec.lists.size());
  for (size_t feature = 0; feature < batch.features.size(); ++feature) {
    std::vector<RowPlace> from;
    for (const MixedRow& row : mixed) {
      const bool is_other = row.feature == feature;
      from.push_back(places[static_cast<size_t>(is_other ? row.from : row.row)]);
    }
    SetFeature(rows, feature, from, batch);
  }
  batch.examples = examples;
  if (examples < static_cast<int64_t>(mixed.size())) {
    std::vector<float> weights(mixed.size(), 0.0F);
    std::fill_n(weights.begin(), examples, 1.0F);
    batch.example_weight = Tensor::Of<float>(Shape{static_cast<int64_t>(mixed.size())}, weights);
  }
  return batch;
}

}  // namespace

int64_t KeptRows::count() const {
  int64_t count = 0;
  for (const Batch& batch : batches) count += RealRowsOf(batch);
  return count;
}

InputFn Keeping(InputFn of, int64_t most, KeptRows& rows) {
  return [of = std::move(of), most, &rows](const InputContext& context) {
    return std::make_unique<KeepingStream>(of(context), most, rows);
  };
}

InputFn Shuffled(const KeptRows& rows, size_t feature, std::vector<int64_t> order) {
  return [&rows, feature, order = std::move(order)](const InputContext& /*context*/) {
    const std::vector<RowPlace> places = PlacesOf(rows);
    return std::make_unique<MadeStream>(
        rows.spec, rows,
        [&rows, feature, order, places,
         first = size_t{0}](size_t number) mutable -> std::optional<Batch> {
          if (number >= rows.batches.size()) return std::nullopt;
          Batch batch = rows.batches[number];
          std::vector<RowPlace> from;
          const int64_t real = RealRowsOf(batch);
          for (int64_t row = 0; row < AllRowsOf(batch); ++row) {
            const size_t at = first + static_cast<size_t>(row);
            from.push_back(row < real ? places[static_cast<size_t>(order[at])]
                                      : RowPlace{number, row});
          }
          first += static_cast<size_t>(real);
          SetFeature(rows, feature, from, batch);
          return batch;
        });
  };
}

InputFn Mixed(const KeptRows& rows, std::vector<MixedRow> mixed) {
  return [&rows, mixed = std::move(mixed)](const InputContext& context) {
    StreamSpec spec = rows.spec;
    spec.labels = {};
    const auto size = static_cast<size_t>(context.batch_size);
    return std::make_unique<MadeStream>(
        std::move(spec), rows,
        [&rows, mixed, size, pads = context.pad_last,
         places = PlacesOf(rows)](size_t number) -> std::optional<Batch> {
          const size_t begin = number * size;
          if (begin >= mixed.size()) return std::nullopt;
          const size_t end = std::min(begin + size, mixed.size());
          std::vector<MixedRow> part(mixed.begin() + static_cast<std::ptrdiff_t>(begin),
                                     mixed.begin() + static_cast<std::ptrdiff_t>(end));
          if (pads) part.resize(size, part.front());
          return MixedBatch(rows, places, part, static_cast<int64_t>(end - begin));
        });
  };
}

Tensor ValueOf(const KeptRows& rows, size_t feature, int64_t row) {
  const RowPlace place = PlacesOf(rows)[static_cast<size_t>(row)];
  return rows.batches[place.batch].features[feature].Rows(place.row, place.row + 1);
}

}  // namespace tpuest::cli
