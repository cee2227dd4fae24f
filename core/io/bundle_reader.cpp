#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/io/bundle.h"
#include "core/io/crc32c.h"
#include "core/io/data_shard.h"
#include "core/io/increment.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/io/slice_key.h"
#include "core/io/table.h"
#include "core/io/wire.h"
#include "core/tensor/bool_bytes.h"

namespace tpuest {
namespace {

// The version of bundles that tpuest knows.
constexpr int kVersion = 1;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

[[noreturn]] void Refuse(const std::string& message, std::string hint = "") {
  throw Error(Code::kCheckpoint, message, std::move(hint));
}

std::string ReadIndex(const std::string& prefix) {
  const std::string path = BundleIndexPath(prefix);
  if (!FileExists(path))
    Refuse(fmt::format("{}: no such checkpoint ({} is missing)", prefix, path));
  try {
    return ReadFile(path);
  } catch (const Error& error) {
    // Not a fault of the checkpoint, such as a failed read: an older checkpoint could not be read
    // either.
    if (error.code() != Code::kData) throw;
    Refuse(error.message());
  }
}

// Returns the dtype if a host tensor can have it, otherwise kInvalid.
DType HeldDType(int number) {
  const auto dtype = static_cast<DType>(number);
  return dtype == DType::kString || SizeOf(dtype) > 0 ? dtype : DType::kInvalid;
}

// Returns the number of elements of a shape from a file; nullopt if a dimension is negative or the
// number overflows.
std::optional<uint64_t> CountElements(const Shape& shape) {
  if (!shape.fully_known()) return std::nullopt;
  uint64_t n = 1;
  for (const int64_t dim : shape.dims()) {
    if (__builtin_mul_overflow(n, static_cast<uint64_t>(dim), &n)) return std::nullopt;
  }
  if (n > static_cast<uint64_t>(INT64_MAX) / 16) return std::nullopt;
  return n;
}

// Throws the errors of a tensor; `of` names the tensor at the start of each message.
struct Refusal {
  std::string of;
  [[noreturn]] void operator()(std::string_view how) const { Refuse(of + std::string(how)); }
};

void CheckCrc(uint32_t crc, const pb::BundleEntryProto& entry, const std::string& what) {
  const uint32_t stored = UnmaskCrc(entry.crc32c());
  if (crc == stored) return;
  Refuse(fmt::format("{} is damaged (crc {:08x}, stored {:08x})", what, crc, stored));
}

// The position of a slice in its tensor.
struct Slice {
  std::vector<SliceExtent> key;  // whole dimensions as {0, -1}
  Shape shape;
};

Slice PlaceOf(const pb::TensorSliceProto& proto, const Shape& whole, const Refusal& refuse) {
  using Extent = pb::TensorSliceProto::Extent;
  if (proto.extent_size() != whole.rank()) refuse("and one of them has another rank");
  Slice slice{{}, whole};
  for (int axis = 0; axis < whole.rank(); ++axis) {
    const Extent& extent = proto.extent(axis);
    if (extent.has_length_case() == Extent::HAS_LENGTH_NOT_SET) {
      slice.key.emplace_back();
      continue;
    }
    if (extent.start() < 0 || extent.length() < 0 || extent.length() > whole.dim(axis) ||
        extent.start() > whole.dim(axis) - extent.length()) {
      refuse("and one of them lies outside it");
    }
    slice.key.push_back({extent.start(), extent.length()});
    slice.shape.set_dim(axis, extent.length());
  }
  return slice;
}

// Copies a slice, which begins at `starts`, to its position in the whole tensor.
void CopySlice(const Tensor& slice, const std::vector<SliceExtent>& extents, Tensor& whole) {
  const int rank = whole.shape().rank();
  if (slice.elements() == 0) return;
  if (rank == 0) {
    std::memcpy(whole.raw(), slice.raw(), slice.bytes());
    return;
  }
  const size_t width = SizeOf(whole.dtype());
  const auto row = static_cast<size_t>(slice.shape().dim(-1));
  const auto rows = static_cast<size_t>(slice.elements()) / row;
  const auto* in = static_cast<const char*>(slice.raw());
  auto* const out = static_cast<char*>(whole.raw());
  for (size_t r = 0; r < rows; ++r, in += row * width) {
    // The offset, in the whole tensor, of row r of the slice; rows count over all axes but the
    // last.
    size_t offset = static_cast<size_t>(extents.back().start);
    size_t stride = static_cast<size_t>(whole.shape().dim(-1));
    size_t left = r;
    for (int axis = rank - 2; axis >= 0; --axis) {
      const auto length = static_cast<size_t>(slice.shape().dim(axis));
      offset +=
          stride * (static_cast<size_t>(extents[static_cast<size_t>(axis)].start) + left % length);
      stride *= static_cast<size_t>(whole.shape().dim(axis));
      left /= length;
    }
    std::memcpy(out + offset * width, in, row * width);
  }
}

}  // namespace

struct BundleReader::State {
  std::string prefix;
  std::vector<TableEntry> entries;  // sorted by key
  std::vector<std::string> names;
  int num_shards = 0;
  std::mutex mutex;  // guards shards
  std::map<int, std::unique_ptr<DataShard>> shards;
  std::unique_ptr<const Increment> increment;
  // The entries of each slot that is stored in parts (slice_key.h), by the name of every part.
  std::map<std::string, std::vector<std::string>, std::less<>> parts;

  void CheckHeader() const;
  void JoinParts();
  void ReadThroughBase();
  // The increment if it has the entry, otherwise nullptr.
  [[nodiscard]] const Increment* IncrementWith(std::string_view name) const {
    return increment != nullptr && increment->Has(name) ? increment.get() : nullptr;
  }
  [[nodiscard]] const DataShard& Shard(int id);
  [[nodiscard]] const TableEntry* Find(std::string_view key) const;
  [[nodiscard]] pb::BundleEntryProto Entry(std::string_view name) const;
  [[nodiscard]] pb::BundleEntryProto Parse(const TableEntry& entry, std::string_view name) const;
  // The position of an entry's values, which lie within the shard; `what` names the entry in
  // messages.
  struct Stored {
    const DataShard& shard;
    std::string what;
    DType dtype;
    Shape shape;
    uint64_t elements;
  };
  [[nodiscard]] Stored StoredAt(const pb::BundleEntryProto& entry, std::string_view name);
  [[nodiscard]] Tensor ReadEntry(const pb::BundleEntryProto& entry, std::string_view name);
  void ReadPieces(const pb::BundleEntryProto& entry, std::string_view name,
                  const TakeBytesFn& take);
  [[nodiscard]] Tensor ReadStrings(const pb::BundleEntryProto& entry, const std::string& what,
                                   const DataShard& shard, Shape shape, uint64_t elements);
  [[nodiscard]] Tensor ReadSlices(const pb::BundleEntryProto& entry, std::string_view name);
  // The entries whose slices make up the tensor: the tensor's own entry, or those of all of its
  // parts.
  [[nodiscard]] std::vector<std::pair<std::string, pb::BundleEntryProto>> SlicedEntries(
      const pb::BundleEntryProto& entry, std::string_view name) const;
};

const TableEntry* BundleReader::State::Find(std::string_view key) const {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), key,
      [](const TableEntry& entry, std::string_view wanted) { return entry.key < wanted; });
  return found != entries.end() && found->key == key ? &*found : nullptr;
}

pb::BundleEntryProto BundleReader::State::Parse(const TableEntry& entry,
                                                std::string_view name) const {
  pb::BundleEntryProto proto;
  FromBytes(entry.value, proto, fmt::format("{}: entry of \"{}\"", BundleIndexPath(prefix), name),
            Code::kCheckpoint);
  return proto;
}

pb::BundleEntryProto BundleReader::State::Entry(std::string_view name) const {
  const TableEntry* const entry = name.empty() || IsSliceKey(name) ? nullptr : Find(name);
  if (entry == nullptr) {
    const std::optional<std::string> nearest = Nearest(name, names);
    Refuse(fmt::format("{}: has no \"{}\"", prefix, name),
           nearest ? fmt::format("did you mean \"{}\"?", *nearest) : "");
  }
  return Parse(*entry, name);
}

const DataShard& BundleReader::State::Shard(int id) {
  if (id < 0 || id >= num_shards) {
    Refuse(fmt::format("{}: names data shard {} of {}", BundleIndexPath(prefix), id, num_shards));
  }
  const std::lock_guard lock(mutex);
  std::unique_ptr<DataShard>& shard = shards[id];
  if (!shard) shard = std::make_unique<DataShard>(BundleDataPath(prefix, id, num_shards));
  return *shard;
}

BundleReader::State::Stored BundleReader::State::StoredAt(const pb::BundleEntryProto& entry,
                                                          std::string_view name) {
  const DType dtype = HeldDType(entry.dtype());
  if (dtype == DType::kInvalid) {
    Refuse(fmt::format("{}: \"{}\" is of type {}, which tpuest does not hold", prefix, name,
                       static_cast<int>(entry.dtype())));
  }
  Shape shape = FromProto(entry.shape());
  const std::optional<uint64_t> elements = CountElements(shape);
  if (!elements) Refuse(fmt::format("{}: \"{}\" has shape {}", prefix, name, shape.Text()));
  const DataShard& shard = Shard(entry.shard_id());
  const auto offset = static_cast<uint64_t>(entry.offset());
  const auto size = static_cast<uint64_t>(entry.size());
  std::string what = fmt::format("{}: \"{}\" at byte {}", shard.path(), name, offset);
  if (offset > shard.size() || size > shard.size() - offset) {
    Refuse(fmt::format("{} is cut short ({} bytes expected, the file has {})", what, size,
                       shard.size()));
  }
  if (dtype != DType::kString && size != *elements * SizeOf(dtype)) {
    Refuse(fmt::format("{}: {} {} takes {} bytes, the index says {}", what, NameOf(dtype),
                       shape.Text(), *elements * SizeOf(dtype), size));
  }
  return {shard, std::move(what), dtype, std::move(shape), *elements};
}

Tensor BundleReader::State::ReadEntry(const pb::BundleEntryProto& entry, std::string_view name) {
  const Stored at = StoredAt(entry, name);
  if (at.dtype == DType::kString) {
    return ReadStrings(entry, at.what, at.shard, at.shape, at.elements);
  }
  Tensor tensor(at.dtype, at.shape);
  const auto size = static_cast<uint64_t>(entry.size());
  at.shard.Read(static_cast<uint64_t>(entry.offset()), static_cast<char*>(tensor.raw()), size);
  CheckCrc(Crc32c({static_cast<const char*>(tensor.raw()), size}), entry, at.what);
  NormalizeBools(at.dtype, tensor.raw(), tensor.bytes());
  return tensor;
}

void BundleReader::State::ReadPieces(const pb::BundleEntryProto& entry, std::string_view name,
                                     const TakeBytesFn& take) {
  const Stored at = StoredAt(entry, name);
  Check(at.dtype != DType::kString, "strings have no pieces");
  std::string piece;
  uint32_t crc = 0;
  const auto size = static_cast<uint64_t>(entry.size());
  for (uint64_t done = 0; done < size; done += piece.size()) {
    piece.resize(std::min<uint64_t>(kPieceBytes, size - done));
    at.shard.Read(static_cast<uint64_t>(entry.offset()) + done, piece.data(), piece.size());
    crc = Crc32c(piece, crc);
    take(piece);
  }
  CheckCrc(crc, entry, at.what);
}

// bundle_writer.cpp describes the layout.
Tensor BundleReader::State::ReadStrings(const pb::BundleEntryProto& entry, const std::string& what,
                                        const DataShard& shard, Shape shape, uint64_t elements) {
  const auto malformed = [&](std::string_view how) {
    Refuse(fmt::format("{} is damaged ({})", what, how));
  };
  auto blob = std::make_shared<std::string>(static_cast<size_t>(entry.size()), '\0');
  shard.Read(static_cast<uint64_t>(entry.offset()), blob->data(), blob->size());
  if (elements > blob->size()) malformed("fewer lengths than strings");
  std::string_view rest = *blob;
  std::vector<uint64_t> lengths(elements);
  std::string words;
  for (uint64_t& length : lengths) {
    if (!TakeVarint(rest, length)) malformed("a length is not one");
    if (length <= UINT32_MAX) {
      AppendLittle(words, static_cast<uint32_t>(length));
    } else {
      AppendLittle(words, length);
    }
  }
  std::string_view lengths_crc;
  if (!TakeBytes(rest, 4, lengths_crc)) malformed("it ends in the lengths");
  uint32_t crc = Crc32c(words);
  const uint32_t stored_lengths = UnmaskCrc(LoadLittle<uint32_t>(lengths_crc.data()));
  if (crc != stored_lengths) {
    malformed(fmt::format("lengths: crc {:08x}, stored {:08x}", crc, stored_lengths));
  }
  crc = Crc32c(rest, Crc32c(lengths_crc, crc));
  const uint32_t stored = UnmaskCrc(entry.crc32c());
  if (crc != stored) malformed(fmt::format("crc {:08x}, stored {:08x}", crc, stored));
  std::vector<std::string_view> views(elements);
  for (size_t i = 0; i < views.size(); ++i) {
    if (!TakeBytes(rest, lengths[i], views[i])) malformed("a string reaches past its end");
  }
  if (!rest.empty()) malformed("bytes are left over");
  return Tensor::Views(std::move(shape), std::move(views), std::move(blob));
}

Tensor BundleReader::State::ReadSlices(const pb::BundleEntryProto& entry, std::string_view name) {
  const Refusal refuse{fmt::format("{}: \"{}\" is stored in slices, ", prefix, name)};
  const DType dtype = HeldDType(entry.dtype());
  Shape shape = FromProto(entry.shape());
  const std::optional<uint64_t> elements = CountElements(shape);
  if (SizeOf(dtype) == 0) refuse("and its type is not of numbers");
  if (!elements) refuse(fmt::format("and its shape is {}", shape.Text()));
  // Reads all slices before it allocates the whole tensor, so a damaged size cannot exhaust memory.
  std::vector<std::pair<std::vector<SliceExtent>, Tensor>> slices;
  uint64_t covered = 0;
  for (const auto& [holder, sliced] : SlicedEntries(entry, name)) {
    for (const pb::TensorSliceProto& slice : sliced.slices()) {
      const Slice place = PlaceOf(slice, shape, refuse);
      const TableEntry* const found = Find(SliceKey(holder, place.key));
      if (found == nullptr) refuse("and one of them is missing");
      const pb::BundleEntryProto part = Parse(*found, holder);
      if (part.dtype() != entry.dtype() || FromProto(part.shape()) != place.shape) {
        refuse("and one of them has another type or shape");
      }
      slices.emplace_back(place.key, ReadEntry(part, holder));
      covered += static_cast<uint64_t>(place.shape.elements());
    }
  }
  if (covered != *elements) {
    refuse(fmt::format("which hold {} of its {} values", covered, *elements));
  }
  Tensor tensor(dtype, std::move(shape));
  for (const auto& [extents, slice] : slices) CopySlice(slice, extents, tensor);
  return tensor;
}

std::vector<std::pair<std::string, pb::BundleEntryProto>> BundleReader::State::SlicedEntries(
    const pb::BundleEntryProto& entry, std::string_view name) const {
  const auto joined = parts.find(name);
  if (joined == parts.end()) return {{std::string(name), entry}};
  std::vector<std::pair<std::string, pb::BundleEntryProto>> entries;
  for (const std::string& part : joined->second) entries.emplace_back(part, Entry(part));
  return entries;
}

// Makes every part's name of a slot read the whole slot; Names() lists the first part.
void BundleReader::State::JoinParts() {
  const auto is_slice_of = [&](const pb::BundleEntryProto& whole, const std::string& name) {
    const pb::BundleEntryProto entry = Entry(name);
    const Shape shape = FromProto(entry.shape());
    if (entry.slices_size() != 1 || entry.dtype() != whole.dtype() ||
        shape != FromProto(whole.shape())) {
      return false;
    }
    const Refusal refuse{fmt::format("{}: \"{}\" is stored in slices, ", prefix, name)};
    return PlaceOf(entry.slices(0), shape, refuse).shape != shape;
  };
  std::set<std::string> others;
  for (auto& [first, names_of_others] : OtherParts(names)) {
    const pb::BundleEntryProto whole = Entry(first);
    if (!is_slice_of(whole, first)) continue;
    std::vector<std::string> all = {first};
    for (const std::string& name : names_of_others) {
      if (!is_slice_of(whole, name)) continue;
      all.push_back(name);
      others.insert(name);
    }
    for (const std::string& name : all) parts[name] = all;
  }
  std::erase_if(names, [&](const std::string& name) { return others.contains(name); });
}

void BundleReader::State::CheckHeader() const {
  const std::string path = BundleIndexPath(prefix);
  if (entries.empty() || !entries.front().key.empty()) {
    Refuse(fmt::format("{}: has no header", path));
  }
  pb::BundleHeaderProto header;
  FromBytes(entries.front().value, header, path + ": header", Code::kCheckpoint);
  if (header.endianness() != pb::BundleHeaderProto::LITTLE) {
    Refuse(
        fmt::format("{}: was written on a big-endian machine, which tpuest does not read", path));
  }
  if (header.version().min_consumer() > kVersion) {
    Refuse(fmt::format("{}: needs a reader of version {}, this one is {}", path,
                       header.version().min_consumer(), kVersion));
  }
}

// Hides the increment's own entries, and adds those of the tables whose rows it has.
void BundleReader::State::ReadThroughBase() {
  if (Find(kIncrementBase) == nullptr) return;
  increment = std::make_unique<const Increment>(prefix);
  std::erase_if(names, [](const std::string& name) { return name.starts_with(kIncrement); });
  for (std::string& name : increment->Names()) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

BundleReader::BundleReader(std::string prefix, bool as_written)
    : state_(std::make_unique<State>()) {
  state_->prefix = std::move(prefix);
  state_->entries = ReadTable(BundleIndexPath(state_->prefix), ReadIndex(state_->prefix));
  state_->CheckHeader();
  pb::BundleHeaderProto header;
  header.ParseFromString(state_->entries.front().value);
  state_->num_shards = header.num_shards();
  for (const TableEntry& entry : state_->entries) {
    if (!entry.key.empty() && !IsSliceKey(entry.key)) state_->names.push_back(entry.key);
  }
  state_->JoinParts();
  if (!as_written) state_->ReadThroughBase();
}

BundleReader::~BundleReader() = default;
BundleReader::BundleReader(BundleReader&&) noexcept = default;
BundleReader& BundleReader::operator=(BundleReader&&) noexcept = default;

const std::string& BundleReader::prefix() const { return state_->prefix; }
const Increment* BundleReader::increment() const { return state_->increment.get(); }
const std::vector<std::string>& BundleReader::Names() const { return state_->names; }

bool BundleReader::Has(std::string_view name) const {
  if (state_->increment != nullptr && name.starts_with(kIncrement)) return false;
  if (state_->IncrementWith(name) != nullptr) return true;
  return !name.empty() && !IsSliceKey(name) && state_->Find(name) != nullptr;
}

DType BundleReader::DTypeOf(std::string_view name) const {
  if (const Increment* const tables = state_->IncrementWith(name)) return tables->DTypeOf(name);
  return HeldDType(state_->Entry(name).dtype());
}

Shape BundleReader::ShapeOf(std::string_view name) const {
  if (const Increment* const tables = state_->IncrementWith(name)) return tables->ShapeOf(name);
  Shape shape = FromProto(state_->Entry(name).shape());
  if (!CountElements(shape)) {
    Refuse(fmt::format("{}: \"{}\" has shape [{}], which is no tensor's", state_->prefix, name,
                       fmt::join(shape.dims(), ",")));
  }
  return shape;
}

int BundleReader::RowSlicesOf(std::string_view name) const {
  if (state_->IncrementWith(name) != nullptr) return 1;
  const pb::BundleEntryProto entry = state_->Entry(name);
  const auto has_rows = [](const pb::TensorSliceProto& slice) {
    using Extent = pb::TensorSliceProto::Extent;
    for (int axis = 1; axis < slice.extent_size(); ++axis) {
      if (slice.extent(axis).has_length_case() != Extent::HAS_LENGTH_NOT_SET) return false;
    }
    return slice.extent_size() > 0;
  };
  const bool all = std::all_of(entry.slices().begin(), entry.slices().end(), has_rows);
  return all && entry.slices_size() > 1 ? entry.slices_size() : 1;
}

uint32_t BundleReader::ChecksumOf(std::string_view name) const {
  if (const Increment* const tables = state_->IncrementWith(name)) {
    uint32_t crc = 0;
    tables->ReadPieces(name, [&](std::string_view bytes) { crc = Crc32c(bytes, crc); });
    return crc;
  }
  const pb::BundleEntryProto entry = state_->Entry(name);
  if (entry.slices().empty()) return UnmaskCrc(entry.crc32c());
  const Tensor whole = state_->ReadSlices(entry, name);
  return Crc32c({static_cast<const char*>(whole.raw()), whole.bytes()});
}

Tensor BundleReader::Read(std::string_view name) const {
  if (const Increment* const tables = state_->IncrementWith(name)) {
    Tensor tensor(tables->DTypeOf(name), tables->ShapeOf(name));
    auto* to = static_cast<char*>(tensor.raw());
    tables->ReadPieces(name, [&](std::string_view bytes) {
      std::memcpy(to, bytes.data(), bytes.size());
      to += bytes.size();
    });
    return tensor;
  }
  const pb::BundleEntryProto entry = state_->Entry(name);
  return entry.slices().empty() ? state_->ReadEntry(entry, name) : state_->ReadSlices(entry, name);
}

void BundleReader::ReadPieces(std::string_view name, const TakeBytesFn& take) const {
  if (const Increment* const tables = state_->IncrementWith(name)) {
    return tables->ReadPieces(name, take);
  }
  const pb::BundleEntryProto entry = state_->Entry(name);
  if (entry.slices().empty()) return state_->ReadPieces(entry, name, take);
  const Tensor whole = state_->ReadSlices(entry, name);
  take({static_cast<const char*>(whole.raw()), whole.bytes()});
}

}  // namespace tpuest
