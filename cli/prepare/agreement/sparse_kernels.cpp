#include "cli/prepare/agreement/sparse_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "core/base/error.h"
#include "core/kernels/fingerprint.h"

namespace tpuest::cli {
namespace {

using Tensors = std::vector<Tensor>;

void Expect(bool fits, const SeenNode& node) {
  if (fits) return;
  throw Error(Code::kData, fmt::format("{} \"{}\" has inputs that do not fit", node.op, node.name));
}

std::vector<int64_t> Integers(const Tensor& tensor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    values.push_back(static_cast<int64_t>(tensor.AsDouble(i)));
  }
  return values;
}

Tensor Vector(const std::vector<int64_t>& values) {
  return Tensor::Of<int64_t>(Shape({static_cast<int64_t>(values.size())}), values);
}

Tensor Matrix(const std::vector<int64_t>& values, int64_t columns) {
  const int64_t rows = columns == 0 ? 0 : static_cast<int64_t>(values.size()) / columns;
  return Tensor::Of<int64_t>(Shape({rows, columns}), values);
}

int64_t NumberOf(const SeenNode& node, const std::string& key) {
  const auto found = node.ints.find(key);
  return found == node.ints.end() ? 0 : found->second;
}

Tensors Where(const SeenNode& node, const Tensors& in) {
  Expect(in.size() == 1, node);
  const auto dims = in[0].shape().dims();
  std::vector<int64_t> places;
  for (int64_t i = 0; i < in[0].elements(); ++i) {
    if (in[0].AsDouble(i) == 0) continue;
    std::vector<int64_t> place(dims.size());
    int64_t rest = i;
    for (size_t axis = dims.size(); axis-- > 0;) {
      place[axis] = rest % dims[axis];
      rest /= dims[axis];
    }
    places.insert(places.end(), place.begin(), place.end());
  }
  return {Matrix(places, static_cast<int64_t>(dims.size()))};
}

Tensors GatherNd(const SeenNode& node, const Tensors& in) {
  Expect(in.size() == 2 && in[1].shape().rank() > 0, node);
  const int64_t depth = in[1].shape().dim(-1);
  const auto dims = in[0].shape().dims();
  Expect(depth <= static_cast<int64_t>(dims.size()), node);
  const std::vector<int64_t> indices = Integers(in[1]);
  int64_t blocks = 1;
  for (int64_t axis = 0; axis < depth; ++axis) blocks *= dims[static_cast<size_t>(axis)];
  std::vector<int64_t> inner = {blocks};
  inner.insert(inner.end(), dims.begin() + depth, dims.end());
  std::vector<int64_t> rows;
  for (size_t i = 0; depth > 0 && i < indices.size(); i += static_cast<size_t>(depth)) {
    int64_t row = 0;
    for (int64_t axis = 0; axis < depth; ++axis) {
      row = row * dims[static_cast<size_t>(axis)] + indices[i + static_cast<size_t>(axis)];
    }
    rows.push_back(row);
  }
  const Tensor taken = TakeRows(in[0].Reshaped(Shape(inner)), rows);
  std::vector<int64_t> outer(in[1].shape().dims().begin(), in[1].shape().dims().end() - 1);
  outer.insert(outer.end(), dims.begin() + depth, dims.end());
  return {taken.Reshaped(Shape(outer))};
}

Tensors SparseReshape(const SeenNode& node, const Tensors& in) {
  Expect(in.size() == 3 && in[0].shape().rank() == 2, node);
  const std::vector<int64_t> from = Integers(in[1]);
  std::vector<int64_t> to = Integers(in[2]);
  int64_t all = 1;
  for (const int64_t dim : from) all *= dim;
  int64_t known = 1;
  for (const int64_t dim : to) known *= dim < 0 ? 1 : dim;
  for (int64_t& dim : to) {
    if (dim < 0) dim = known == 0 ? 0 : all / known;
  }
  const std::vector<int64_t> indices = Integers(in[0]);
  std::vector<int64_t> moved;
  for (size_t i = 0; i + from.size() <= indices.size() && !from.empty(); i += from.size()) {
    int64_t at = 0;
    for (size_t axis = 0; axis < from.size(); ++axis) at = at * from[axis] + indices[i + axis];
    std::vector<int64_t> place(to.size());
    for (size_t axis = to.size(); axis-- > 0;) {
      place[axis] = to[axis] == 0 ? 0 : at % to[axis];
      at = to[axis] == 0 ? 0 : at / to[axis];
    }
    moved.insert(moved.end(), place.begin(), place.end());
  }
  return {Matrix(moved, static_cast<int64_t>(to.size())), Vector(to)};
}

// Joins tensors of one dtype along axis 0.
Tensor Joined(const Tensor& first, const Tensor& second) {
  const auto dims = first.shape().dims();
  std::vector<int64_t> whole(dims.begin(), dims.end());
  whole[0] += second.shape().dim(0);
  if (first.dtype() == DType::kString) {
    std::vector<std::string> words(first.strings().begin(), first.strings().end());
    words.insert(words.end(), second.strings().begin(), second.strings().end());
    return Tensor::Strings(Shape(whole), words);
  }
  Tensor joined(first.dtype(), Shape(whole));
  std::memcpy(joined.raw(), first.raw(), first.bytes());
  std::memcpy(static_cast<char*>(joined.raw()) + first.bytes(), second.raw(), second.bytes());
  return joined;
}

// Gives each row without a value one: the default, at place 0.
Tensors SparseFillEmptyRows(const SeenNode& node, const Tensors& in) {
  Expect(in.size() == 4 && in[0].shape().rank() == 2, node);
  const std::vector<int64_t> indices = Integers(in[0]);
  const std::vector<int64_t> shape = Integers(in[2]);
  const auto rank = static_cast<size_t>(in[0].shape().dim(1));
  const size_t count = rank == 0 ? 0 : indices.size() / rank;
  Expect(!shape.empty(), node);
  std::vector<std::vector<int64_t>> of_row(static_cast<size_t>(shape[0]));
  for (size_t i = 0; i < count; ++i) {
    const int64_t row = indices[i * rank];
    Expect(row >= 0 && row < shape[0], node);
    of_row[static_cast<size_t>(row)].push_back(static_cast<int64_t>(i));
  }
  std::vector<int64_t> places;
  std::vector<int64_t> taken;
  std::vector<int64_t> moved(count);
  Tensor is_empty(DType::kBool, Shape({shape[0]}));
  for (size_t row = 0; row < of_row.size(); ++row) {
    is_empty.data<bool>()[row] = of_row[row].empty();
    if (of_row[row].empty()) {
      taken.push_back(static_cast<int64_t>(count));  // the default stands after the values
      places.push_back(static_cast<int64_t>(row));
      places.resize(places.size() + rank - 1);
    }
    for (const int64_t i : of_row[row]) {
      moved[static_cast<size_t>(i)] = static_cast<int64_t>(taken.size());
      taken.push_back(i);
      const auto from = indices.begin() + i * static_cast<int64_t>(rank);
      places.insert(places.end(), from, from + static_cast<int64_t>(rank));
    }
  }
  const Tensor values = TakeRows(Joined(in[1], in[3].Reshaped(Shape({1}))), taken);
  return {Matrix(places, static_cast<int64_t>(rank)), values, is_empty, Vector(moved)};
}

// Deals the rows out over lists, as the numbers of `partitions` say.
Tensors DynamicPartition(const SeenNode& node, const Tensors& in) {
  Expect(in.size() == 2 && in[1].shape().rank() == 1 && in[0].shape().rank() > 0, node);
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(NumberOf(node, "num_partitions")));
  for (int64_t i = 0; i < in[1].elements(); ++i) {
    const auto list = static_cast<size_t>(in[1].AsDouble(i));
    Expect(list < rows.size(), node);
    rows[list].push_back(i);
  }
  Tensors lists;
  for (const std::vector<int64_t>& list : rows) lists.push_back(TakeRows(in[0], list));
  return lists;
}

// Puts rows of several lists at the places that are named: first all places, then all lists.
Tensors DynamicStitch(const SeenNode& node, const Tensors& in) {
  Expect(in.size() >= 2 && in.size() % 2 == 0, node);
  const size_t lists = in.size() / 2;
  std::vector<int64_t> from;
  Tensor all;
  for (size_t i = 0; i < lists; ++i) {
    Expect(in[i].shape().rank() == 1 && in[lists + i].shape().rank() > 0, node);
    const int64_t first = all.valid() ? all.shape().dim(0) : 0;
    all = all.valid() ? Joined(all, in[lists + i]) : in[lists + i];
    for (int64_t row = 0; row < in[i].elements(); ++row) {
      const auto place = static_cast<size_t>(in[i].AsDouble(row));
      if (place >= from.size()) from.resize(place + 1);
      from[place] = first + row;
    }
  }
  return {TakeRows(all, from)};
}

// The values, each once, in the order in which they come, and where each one is among them.
Tensors Unique(const SeenNode& node, const Tensors& in) {
  Expect(in.size() == 1 && in[0].shape().rank() == 1 && in[0].dtype() != DType::kString, node);
  std::map<double, int64_t> known;
  std::vector<int64_t> first;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < in[0].elements(); ++i) {
    const auto [entry, is_new] =
        known.emplace(in[0].AsDouble(i), static_cast<int64_t>(first.size()));
    if (is_new) first.push_back(i);
    places.push_back(entry->second);
  }
  const Tensor indices = Vector(places);
  const bool is_wide = NumberOf(node, "out_idx") == static_cast<int64_t>(DType::kInt64);
  return {TakeRows(in[0], first), is_wide ? indices : indices.Cast(DType::kInt32)};
}

enum class Combine { kSum, kMean, kSqrtN };

// Combines rows of `data`, those that `rows` names, by segment: sorted numbers from 0.
Tensor Segments(const Tensor& data, const std::vector<int64_t>& rows,
                const std::vector<int64_t>& segments, int64_t count, Combine combine) {
  const auto dims = data.shape().dims();
  std::vector<int64_t> shape(dims.begin(), dims.end());
  shape[0] = count;
  Tensor result(DType::kFloat, Shape(shape));
  int64_t width = 1;
  for (size_t axis = 1; axis < dims.size(); ++axis) width *= dims[axis];
  std::vector<double> sums(static_cast<size_t>(count * width));
  std::vector<int64_t> sizes(static_cast<size_t>(count));
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i] < 0 || segments[i] >= count || rows[i] < 0 || rows[i] >= dims[0]) {
      throw Error(Code::kData, "a segment, or a row of it, is not there");
    }
    ++sizes[static_cast<size_t>(segments[i])];
    for (int64_t j = 0; j < width; ++j) {
      sums[static_cast<size_t>(segments[i] * width + j)] += data.AsDouble(rows[i] * width + j);
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto size = static_cast<double>(sizes[i / static_cast<size_t>(width)]);
    const double divisor = combine == Combine::kSum || size == 0 ? 1
                           : combine == Combine::kMean           ? size
                                                                 : std::sqrt(size);
    result.data<float>()[i] = static_cast<float>(sums[i] / divisor);
  }
  return result;
}

SparseKernel SparseSegment(Combine combine) {
  return [combine](const SeenNode& node, const Tensors& in) -> Tensors {
    Expect(in.size() >= 3 && in[0].dtype() == DType::kFloat && in[0].shape().rank() > 0, node);
    const std::vector<int64_t> rows = Integers(in[1]);
    const std::vector<int64_t> segments = Integers(in[2]);
    Expect(rows.size() == segments.size(), node);
    int64_t count = segments.empty() ? 0 : segments.back() + 1;
    if (in.size() == 4) count = Integers(in[3]).at(0);
    return {Segments(in[0], rows, segments, count, combine)};
  };
}

Tensors SegmentSum(const SeenNode& node, const Tensors& in) {
  Expect(in.size() == 2 && in[0].dtype() == DType::kFloat && in[0].shape().rank() > 0, node);
  const std::vector<int64_t> segments = Integers(in[1]);
  std::vector<int64_t> rows(segments.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  Expect(static_cast<int64_t>(rows.size()) == in[0].shape().dim(0), node);
  return {
      Segments(in[0], rows, segments, segments.empty() ? 0 : segments.back() + 1, Combine::kSum)};
}

// The part of a sparse tensor from `start` on, of this size.
Tensors SparseSlice(const SeenNode& node, const Tensors& in) {
  Expect(in.size() == 5 && in[0].shape().rank() == 2, node);
  const std::vector<int64_t> indices = Integers(in[0]);
  const std::vector<int64_t> whole = Integers(in[2]);
  const std::vector<int64_t> start = Integers(in[3]);
  std::vector<int64_t> size = Integers(in[4]);
  const size_t rank = whole.size();
  Expect(start.size() == rank && size.size() == rank && rank > 0, node);
  for (size_t axis = 0; axis < rank; ++axis) {
    size[axis] = std::max<int64_t>(0, std::min(size[axis], whole[axis] - start[axis]));
  }
  std::vector<int64_t> places;
  std::vector<int64_t> taken;
  for (size_t i = 0; i * rank < indices.size(); ++i) {
    std::vector<int64_t> place(rank);
    bool is_inside = true;
    for (size_t axis = 0; axis < rank; ++axis) {
      place[axis] = indices[i * rank + axis] - start[axis];
      is_inside = is_inside && place[axis] >= 0 && place[axis] < size[axis];
    }
    if (!is_inside) continue;
    places.insert(places.end(), place.begin(), place.end());
    taken.push_back(static_cast<int64_t>(i));
  }
  return {Matrix(places, static_cast<int64_t>(rank)), TakeRows(in[1], taken), Vector(size)};
}

// One column of a cross: the fingerprints of each row's values.
using Fingerprints = std::vector<std::vector<uint64_t>>;

uint64_t FingerprintOf(const Tensor& values, int64_t i) {
  if (values.dtype() == DType::kString) {
    return Fingerprint64(values.strings()[static_cast<size_t>(i)]);
  }
  return static_cast<uint64_t>(values.data<int64_t>()[i]);
}

Fingerprints SparseColumn(const Tensor& indices, const Tensor& values, int64_t batch) {
  Fingerprints column(static_cast<size_t>(batch));
  const int64_t rank = indices.shape().dim(1);
  for (int64_t i = 0; i < values.elements(); ++i) {
    const auto row = static_cast<size_t>(indices.AsDouble(i * rank));
    column.at(row).push_back(FingerprintOf(values, i));
  }
  return column;
}

Fingerprints DenseColumn(const Tensor& values) {
  Fingerprints column(static_cast<size_t>(values.shape().dim(0)));
  const int64_t width = column.empty() ? 0 : values.elements() / values.shape().dim(0);
  for (int64_t i = 0; i < values.elements(); ++i) {
    column[static_cast<size_t>(i / width)].push_back(FingerprintOf(values, i));
  }
  return column;
}

// The hashes of a row's combinations: the last column's values change fastest.
std::vector<int64_t> CrossesOf(const std::vector<Fingerprints>& columns, size_t row, uint64_t key,
                               uint64_t buckets) {
  std::vector<uint64_t> hashes = {key};
  for (const Fingerprints& column : columns) {
    std::vector<uint64_t> next;
    for (const uint64_t hash : hashes) {
      for (const uint64_t value : column.at(row)) next.push_back(FingerprintCat64(hash, value));
    }
    hashes = std::move(next);
  }
  std::vector<int64_t> crosses;
  for (const uint64_t hash : hashes) crosses.push_back(static_cast<int64_t>(hash % buckets));
  return crosses;
}

// Inputs: the indices of all sparse tensors, their values, their shapes, then the dense tensors.
Tensors SparseCross(const SeenNode& node, const Tensors& in) {
  const auto sparse = static_cast<size_t>(NumberOf(node, "N"));
  const int64_t buckets = NumberOf(node, "num_buckets");
  Expect(NumberOf(node, "hashed_output") != 0 && buckets > 0 && in.size() >= 3 * sparse, node);
  int64_t batch = 0;
  if (sparse > 0) batch = Integers(in[2 * sparse]).at(0);
  if (sparse == 0 && !in.empty()) batch = in[0].shape().dim(0);
  std::vector<Fingerprints> columns;
  for (size_t i = 0; i < sparse; ++i) {
    columns.push_back(SparseColumn(in[i], in[sparse + i], batch));
  }
  for (size_t i = 3 * sparse; i < in.size(); ++i) columns.push_back(DenseColumn(in[i]));
  std::vector<int64_t> places;
  std::vector<int64_t> values;
  int64_t most = 0;
  for (int64_t row = 0; row < batch; ++row) {
    const std::vector<int64_t> crosses = CrossesOf(
        columns, static_cast<size_t>(row), static_cast<uint64_t>(NumberOf(node, "hash_key")),
        static_cast<uint64_t>(buckets));
    for (size_t i = 0; i < crosses.size(); ++i) {
      places.push_back(row);
      places.push_back(static_cast<int64_t>(i));
      values.push_back(crosses[i]);
    }
    most = std::max(most, static_cast<int64_t>(crosses.size()));
  }
  return {Matrix(places, 2), Vector(values), Vector({batch, most})};
}

}  // namespace

Tensor TakeRows(const Tensor& tensor, const std::vector<int64_t>& rows) {
  const auto dims = tensor.shape().dims();
  std::vector<int64_t> shape(dims.begin(), dims.end());
  if (shape.empty()) throw Error(Code::kData, "a scalar has no rows");
  shape[0] = static_cast<int64_t>(rows.size());
  int64_t width = 1;
  for (size_t axis = 1; axis < dims.size(); ++axis) width *= dims[axis];
  for (const int64_t row : rows) {
    if (row < 0 || row >= dims[0]) {
      throw Error(Code::kData, fmt::format("row {} of {} rows", row, dims[0]));
    }
  }
  if (tensor.dtype() == DType::kString) {
    std::vector<std::string> words;
    for (const int64_t row : rows) {
      for (int64_t i = 0; i < width; ++i) {
        words.emplace_back(tensor.strings()[static_cast<size_t>(row * width + i)]);
      }
    }
    return Tensor::Strings(Shape(shape), words);
  }
  Tensor taken(tensor.dtype(), Shape(shape));
  const size_t bytes = static_cast<size_t>(width) * SizeOf(tensor.dtype());
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(static_cast<char*>(taken.raw()) + i * bytes,
                static_cast<const char*>(tensor.raw()) + static_cast<size_t>(rows[i]) * bytes,
                bytes);
  }
  return taken;
}

Tensor LookUp(const Tensor& words, const Tensor& places, const Tensor& keys,
              const Tensor& otherwise) {
  const auto text = [](const Tensor& tensor, int64_t i) {
    return tensor.dtype() == DType::kString
               ? std::string(tensor.strings()[static_cast<size_t>(i)])
               : fmt::format("{}", static_cast<int64_t>(tensor.AsDouble(i)));
  };
  std::map<std::string, int64_t> known;
  for (int64_t i = 0; i < words.elements(); ++i) {
    known.emplace(text(words, i), static_cast<int64_t>(places.AsDouble(i)));
  }
  Tensor found(DType::kInt64, keys.shape());
  for (int64_t i = 0; i < keys.elements(); ++i) {
    const auto place = known.find(text(keys, i));
    found.data<int64_t>()[i] =
        place == known.end() ? static_cast<int64_t>(otherwise.AsDouble(0)) : place->second;
  }
  return found;
}

const SparseKernel* FindSparseKernel(std::string_view op) {
  static const std::map<std::string_view, SparseKernel> kKernels = {
      {"Where", Where},
      {"GatherNd", GatherNd},
      {"SparseReshape", SparseReshape},
      {"SparseFillEmptyRows", SparseFillEmptyRows},
      {"SparseSegmentSum", SparseSegment(Combine::kSum)},
      {"SparseSegmentMean", SparseSegment(Combine::kMean)},
      {"SparseSegmentSqrtN", SparseSegment(Combine::kSqrtN)},
      {"SparseSegmentSumWithNumSegments", SparseSegment(Combine::kSum)},
      {"SparseSegmentMeanWithNumSegments", SparseSegment(Combine::kMean)},
      {"SparseSegmentSqrtNWithNumSegments", SparseSegment(Combine::kSqrtN)},
      {"SegmentSum", SegmentSum},
      {"SparseSlice", SparseSlice},
      {"DynamicPartition", DynamicPartition},
      {"DynamicStitch", DynamicStitch},
      {"ParallelDynamicStitch", DynamicStitch},
      {"SparseCross", SparseCross},
      {"Unique", Unique},
  };
  const auto found = kKernels.find(op);
  return found == kKernels.end() ? nullptr : &found->second;
}

}  // namespace tpuest::cli
