#include "data/images/folder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/kernels/fingerprint.h"
#include "data/images/folder_list.h"
#include "data/images/geometry.h"

namespace tpuest::data {
namespace {

int ChannelsOf(const std::string& color_mode) {
  if (color_mode == "grayscale") return 1;
  return color_mode == "rgba" ? 4 : 3;
}

// The columns of images with `classes` labels; 0: without labels.
std::vector<TensorSpec> ImageColumns(const ImageFolderSource& options, int64_t classes) {
  // `nearest` keeps a file's type, but Keras converts it to float when it batches.
  std::vector<TensorSpec> columns = {
      {"image", options.whole_numbers ? DType::kUint8 : DType::kFloat,
       Shape({options.image_size[0], options.image_size[1], ChannelsOf(options.color_mode)})}};
  if (classes == 0) return columns;
  if (options.label_mode == "int") {
    columns.push_back({"label", DType::kInt32, Shape()});
  } else {
    columns.push_back(
        {"label", DType::kFloat, Shape({options.label_mode == "binary" ? int64_t{1} : classes})});
  }
  return columns;
}

// A worker's memory between reads.
struct ImageState final : Row::State {
  Picture picture;
  PictureScratch scratch;
};

class ImageFolder : public IndexedSource {
 public:
  ImageFolder(ImageFolderSource options, ImageList list)
      : IndexedSource(ImageColumns(options, static_cast<int64_t>(list.class_names.size())),
                      list.files),
        options_(std::move(options)),
        labels_(std::move(list.labels)),
        classes_(list.class_names.size()) {}

  [[nodiscard]] int64_t size() const override { return static_cast<int64_t>(files().size()); }
  [[nodiscard]] Provenance From(int64_t index) const override {
    return {static_cast<int32_t>(index), 0};
  }
  void Read(int64_t index, Row& row) const override {
    auto* state = dynamic_cast<ImageState*>(row.state.get());
    if (state == nullptr) {
      auto made = std::make_unique<ImageState>();
      state = made.get();
      row.state = std::move(made);
    }
    ReadImage(index, *state);
    SetRow(index, state->picture.bytes.data(), row);
  }

  // Decodes image `index` to floats and resizes it to the options' size. Throws Error kData that
  // names the file.
  void ReadImage(int64_t index, ImageState& state) const {
    const std::string& path = files()[static_cast<size_t>(index)];
    const MappedFile file(path);
    try {
      Decode(file.bytes(), state);
    } catch (const Error& error) {
      const Fault& fault = error.faults().front();
      throw Error(error.code(), fmt::format("{}: {}", path, fault.message), fault.hint);
    }
  }
  [[nodiscard]] size_t image_bytes() const {
    return static_cast<size_t>(columns()[0].shape.elements()) * sizeof(float);
  }
  [[nodiscard]] const ImageFolderSource& options() const { return options_; }

 protected:
  // Fills the row for an image whose pixels are at `image`.
  void SetRow(int64_t index, const void* image, Row& row) const {
    row.from = From(index);
    row.columns.resize(columns().size());
    row.columns[0] = {image, columns()[0].shape.elements()};
    if (columns().size() == 1) return;
    const int32_t label = labels_[static_cast<size_t>(index)];
    if (options_.label_mode == "int") {
      row.bytes.resize(sizeof label);
      std::memcpy(row.bytes.data(), &label, sizeof label);
      row.columns[1] = {row.bytes.data(), 1};
      return;
    }
    const bool binary = options_.label_mode == "binary";
    const size_t count = binary ? 1 : classes_;
    row.bytes.assign(count * sizeof(float), 0);
    const float value = binary ? static_cast<float>(label) : 1;
    const size_t at = binary ? 0 : static_cast<size_t>(label);
    Check(at < count);
    std::memcpy(&row.bytes[at * sizeof value], &value, sizeof value);
    row.columns[1] = {row.bytes.data(), static_cast<int64_t>(count)};
  }

 private:
  void Decode(std::string_view bytes, ImageState& state) const {
    Picture& picture = state.picture;
    DecodedImage& decoded = state.scratch.decoded;
    DecodeImage(bytes, ChannelsOf(options_.color_mode), decoded);
    picture.bytes.swap(decoded.pixels);
    picture.dtype = DType::kUint8;
    picture.height = decoded.height;
    picture.width = decoded.width;
    picture.channels = decoded.channels;
    const int64_t height = options_.image_size[0];
    const int64_t width = options_.image_size[1];
    if (options_.crop_to_aspect_ratio) {
      Crop(AspectCrop(picture.height, picture.width, height, width), picture);
    }
    ResizeTo(height, width, {.method = options_.interpolation}, picture, state.scratch);
    if (options_.whole_numbers) return Round(state);
    if (picture.dtype == DType::kFloat) return;
    Picture& floats = state.scratch.other;
    floats.Become(DType::kFloat, height, width, picture.channels);
    std::copy_n(picture.data<uint8_t>(), picture.values(), floats.data<float>());
    picture.Swap(floats);
  }

  // Rounds pixels to the integers that a file of the right size would contain.
  static void Round(ImageState& state) {
    Picture& picture = state.picture;
    if (picture.dtype == DType::kUint8) return;
    Picture& bytes = state.scratch.other;
    bytes.Become(DType::kUint8, picture.height, picture.width, picture.channels);
    const auto* const from = picture.data<float>();
    for (int64_t i = 0; i < picture.values(); ++i) {
      bytes.data<uint8_t>()[i] =
          static_cast<uint8_t>(std::lrint(std::clamp(from[i], 0.0F, 255.0F)));
    }
    picture.Swap(bytes);
  }

  ImageFolderSource options_;
  std::vector<int32_t> labels_;
  size_t classes_;
};

// Calls fn(i, state) for 0..count-1 on all processors; throws the error of the lowest i.
template <class Fn>
void ForEachImage(int64_t count, const Fn& fn) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(count));
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    ImageState state;
    for (int64_t i = next++; i < count; i = next++) {
      try {
        fn(i, state);
      } catch (...) {
        errors[static_cast<size_t>(i)] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    const int64_t threads = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
    for (int64_t i = 1; i < std::min(count, threads); ++i) workers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

// Keeps each image in memory after decoding it. If two threads decode the same image, only one of
// them keeps it.
class KeptImages final : public ImageFolder {
 public:
  KeptImages(ImageFolderSource options, ImageList list)
      : ImageFolder(std::move(options), std::move(list)),
        image_floats_(image_bytes() / sizeof(float)),
        // Not initialised: pages are allocated as images are stored.
        images_(std::make_unique_for_overwrite<float[]>(image_floats_ * files().size())),
        states_(std::make_unique<std::atomic<uint8_t>[]>(files().size())) {}
  void Read(int64_t index, Row& row) const override {
    const auto at = static_cast<size_t>(index);
    std::atomic<uint8_t>& state = states_[at];
    float* const image = &images_[at * image_floats_];
    if (state.load(std::memory_order_acquire) != kKept) {
      ImageFolder::Read(index, row);
      uint8_t empty = kEmpty;
      if (state.compare_exchange_strong(empty, kTaken)) {
        std::memcpy(image, row.columns[0].data, image_bytes());
        state.store(kKept, std::memory_order_release);
      }
      return;
    }
    SetRow(index, image, row);
  }

 private:
  static constexpr uint8_t kEmpty = 0;
  static constexpr uint8_t kTaken = 1;
  static constexpr uint8_t kKept = 2;
  size_t image_floats_;
  std::unique_ptr<float[]> images_;
  std::unique_ptr<std::atomic<uint8_t>[]> states_;
};

// Keeps the images in a file that later runs reuse:
//
//     "tpuest images 1\n"
//     uint64 fingerprint of the files' names, sizes and times, and of how they are decoded
//     40 bytes of 0
//     the images, float32 [height, width, channels] each, in the order of the list
class ImagesInFile final : public ImageFolder {
 public:
  ImagesInFile(ImageFolderSource options, ImageList list)
      : ImageFolder(std::move(options), std::move(list)) {
    const std::string head = Head();
    const std::string& path = this->options().cache_file;
    if (!IsWhole(path, head)) Write(path, head);
    file_ = std::make_unique<MappedFile>(path);
    if (file_->bytes().size() != head.size() + image_bytes() * files().size()) {
      throw Error(Code::kResource,
                  fmt::format("{}: the file changed while tpuest opened it", path));
    }
  }
  void Read(int64_t index, Row& row) const override {
    const char* const image =
        file_->bytes().data() + kHeadBytes + static_cast<size_t>(index) * image_bytes();
    SetRow(index, image, row);
  }

 private:
  static constexpr size_t kHeadBytes = 64;

  [[nodiscard]] std::string Head() const {
    const ImageFolderSource& o = options();
    std::string all = fmt::format("{} {} {} {}", columns()[0].shape.Text(), o.color_mode,
                                  o.interpolation, o.crop_to_aspect_ratio);
    for (const std::string& path : files()) {
      std::error_code unknown;
      const auto time = std::filesystem::last_write_time(path, unknown).time_since_epoch().count();
      all += fmt::format("\n{} {} {}", path, FileSize(path), time);
    }
    const uint64_t fingerprint = Fingerprint64(all);
    std::string head = "tpuest images 1\n";
    head.append(reinterpret_cast<const char*>(&fingerprint), sizeof fingerprint);
    head.resize(kHeadBytes);
    return head;
  }
  [[nodiscard]] bool IsWhole(const std::string& path, const std::string& head) const {
    if (!FileExists(path)) return false;
    const MappedFile file(path);
    return file.bytes().starts_with(head) &&
           file.bytes().size() == head.size() + image_bytes() * files().size();
  }
  // Decodes several images at a time in parallel and writes them in order.
  void Write(const std::string& path, const std::string& head) const {
    constexpr int64_t kAtOnce = 128;
    AtomicFile out(path);
    out.Append(head);
    std::string images;
    for (int64_t begin = 0; begin < size(); begin += kAtOnce) {
      const int64_t count = std::min(kAtOnce, size() - begin);
      images.resize(static_cast<size_t>(count) * image_bytes());
      ForEachImage(count, [&](int64_t i, ImageState& state) {
        ReadImage(begin + i, state);
        std::memcpy(images.data() + static_cast<size_t>(i) * image_bytes(),
                    state.picture.bytes.data(), image_bytes());
      });
      out.Append(images);
    }
    out.Commit();
  }

  std::unique_ptr<MappedFile> file_;
};

// Leaves out files that cannot be decoded, and reports them.
void LeaveOutBad(const ImageFolderSource& options, const DataErrors& errors, ImageList& list) {
  const auto count = static_cast<int64_t>(list.files.size());
  std::vector<std::string> why(list.files.size());
  const ImageFolder folder(options, list);
  ForEachImage(count, [&](int64_t i, ImageState& state) {
    try {
      folder.ReadImage(i, state);
    } catch (const Error& error) {
      if (error.code() != Code::kData) throw;
      why[static_cast<size_t>(i)] = error.message();
    }
  });
  std::vector<BadRecord> bad;
  ImageList good;
  good.class_names = list.class_names;
  for (size_t i = 0; i < why.size(); ++i) {
    if (!why[i].empty()) {
      // The message begins with the file's path, which is removed.
      bad.push_back({list.files[i], 0, why[i].substr(list.files[i].size() + 2)});
      continue;
    }
    good.files.push_back(list.files[i]);
    if (!list.labels.empty()) good.labels.push_back(list.labels[i]);
  }
  if (bad.empty()) return;
  const double most = errors.options.max_fraction;
  if (good.files.empty() ||
      static_cast<double>(bad.size()) > most * static_cast<double>(list.files.size())) {
    throw Error(
        Code::kData,
        fmt::format("{} of {} images cannot be read, max_fraction is {}; the first: {}: {}",
                    bad.size(), list.files.size(), NumberText(most), bad[0].file, bad[0].why))
        .Key("tpuest.data_errors.max_fraction");
  }
  if (errors.report) errors.report(bad, count);
  list = std::move(good);
}

// For folders, whose number of records is unknown.
void ReportUnreadable(const std::vector<std::string>& folders, const DataErrors& errors) {
  if (!errors.report || folders.empty()) return;
  std::vector<BadRecord> bad;
  for (const std::string& folder : folders) bad.push_back({folder, 0, "permission denied"});
  errors.report(bad, 0);
}

// The undecoded files.
class ImageFiles final : public IndexedSource {
 public:
  ImageFiles(const std::string& column, std::vector<std::string> files)
      : IndexedSource({{column, DType::kString, Shape()}}, std::move(files)) {}
  [[nodiscard]] int64_t size() const override { return static_cast<int64_t>(files().size()); }
  [[nodiscard]] Provenance From(int64_t index) const override {
    return {static_cast<int32_t>(index), 0};
  }
  void Read(int64_t index, Row& row) const override {
    struct Held final : Row::State {
      explicit Held(const std::string& path) : file(path) {}
      MappedFile file;
    };
    auto held = std::make_unique<Held>(files()[static_cast<size_t>(index)]);
    row.text = held->file.bytes();
    row.state = std::move(held);
    row.from = From(index);
    row.columns.assign(1, {&row.text, 1});
  }
};

}  // namespace

std::shared_ptr<IndexedSource> OpenImageFolder(const ImageFolderSource& options, bool kept,
                                               const std::string& key, const DataErrors& errors) {
  if (!options.column_of_bytes.empty()) {
    return std::make_shared<ImageFiles>(options.column_of_bytes, options.files);
  }
  ImageList list = ListImages(options, key);
  ReportUnreadable(list.unreadable, errors);
  if (errors.options.skip()) LeaveOutBad(options, errors, list);
  if (!options.cache_file.empty()) {
    return std::make_shared<ImagesInFile>(options, std::move(list));
  }
  if (kept) return std::make_shared<KeptImages>(options, std::move(list));
  return std::make_shared<ImageFolder>(options, std::move(list));
}

std::optional<std::vector<TensorSpec>> KnownImageColumns(const ImageFolderSource& options,
                                                         const std::string& key) {
  if (!options.column_of_bytes.empty()) {
    return {{{options.column_of_bytes, DType::kString, Shape()}}};
  }
  CheckImageFolder(options, key);
  const bool labelled = options.labels && options.label_mode && options.files.empty();
  if (!labelled || options.label_mode != "categorical") {
    return ImageColumns(options, labelled ? 1 : 0);
  }
  if (!options.class_names) return std::nullopt;
  return ImageColumns(options, static_cast<int64_t>(options.class_names->size()));
}

}  // namespace tpuest::data
