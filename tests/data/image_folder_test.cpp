// image_dataset_from_directory: its files, their order, labels and pixels.

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include "core/io/images/image.h"
#include "data/images/folder.h"
#include "data/images/folder_list.h"
#include "data/images/shape_folder.h"
#include "data/pipeline/other_file.h"
#include "tests/data/fixture.h"
#include "tests/data/map_ops.h"

namespace tpuest::data {
namespace {

// Calls `read` in a thread to which permissions apply even as root: capabilities belong to a
// thread, and this one drops its own. Another user could not reach every temporary folder.
void AsNoRoot(const std::function<void()>& read) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
      std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
      REQUIRE(::syscall(SYS_capset, &header, none.data()) == 0);
      read();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

void WriteFile(const std::string& path, const std::string& bytes) {
  MakeDirectories(DirName(path));
  std::ofstream(path, std::ios::binary) << bytes;
}

// A JPEG of one gray value.
std::string Plain(uint8_t value, int64_t height = 4, int64_t width = 4) {
  DecodedImage image;
  image.Resize(height, width, 3);
  std::ranges::fill(image.pixels, value);
  return EncodeJpeg(image, 100);
}

// cat/ with images of 10, 20, ... and dog/ with 110, 120, ...
void WriteCatsAndDogs(const TemporaryFolder& folder, int each = 3) {
  for (int i = 1; i <= each; ++i) {
    WriteFile(folder.File(fmt::format("pets/cat/{}.jpg", i)), Plain(static_cast<uint8_t>(10 * i)));
    WriteFile(folder.File(fmt::format("pets/dog/{}.JPEG", i)),
              Plain(static_cast<uint8_t>(100 + 10 * i)));
  }
}

ImageFolderSource Pets(const TemporaryFolder& folder) {
  ImageFolderSource source;
  source.directory = folder.File("pets");
  source.image_size = {2, 2};
  source.shuffle = false;
  return source;
}

InputFnOptions InputOf(const ImageFolderSource& source) {
  InputFnOptions options;
  options.source = source;
  options.features = {"image"};
  if (source.labels && source.label_mode) options.labels = "label";
  return options;
}

// The first value of each image, and the labels, of one large batch.
struct Read {
  std::vector<double> values;
  std::vector<double> labels;
};
Read All(const InputFnOptions& options) {
  const std::optional<Batch> batch = Open(options, {.batch_size = 100})->Next();
  REQUIRE(batch.has_value());
  Read read;
  const std::vector<double> all = Numbers(batch->features[0]);
  const size_t one = all.size() / static_cast<size_t>(batch->examples);
  for (size_t i = 0; i < all.size(); i += one) read.values.push_back(all[i]);
  for (const auto& [head, labels] : batch->labels) read.labels = Numbers(labels);
  return read;
}

Thrown Refused(const ImageFolderSource& source) {
  return ErrorOf([&] { (void)ListImages(source, "input_fns.train.source"); });
}

using Order = std::vector<size_t>;

}  // namespace

TEST_CASE("a list is shuffled as numpy's RandomState does it") {
  CHECK(NumpyShuffle(0, 12) == Order{6, 11, 4, 10, 2, 8, 1, 7, 9, 3, 0, 5});
  CHECK(NumpyShuffle(123, 12) == Order{5, 0, 4, 9, 8, 7, 10, 3, 1, 6, 11, 2});
}

TEST_CASE("classes are the folders in byte order, and files those of Keras' endings") {
  const TemporaryFolder folder;
  for (const std::string name : {"dog", "Cat", "9", "10", ".hidden"}) {
    WriteFile(folder.File("pets/" + name + "/a.jpg"), Plain(1));
  }
  WriteFile(folder.File("pets/dog/deep/b.PNG"), "");
  WriteFile(folder.File("pets/dog/c.txt"), "");
  WriteFile(folder.File("pets/top.jpg"), "");
  ImageFolderSource source = Pets(folder);
  ImageList list = ListImages(source, "");
  CHECK(list.class_names == std::vector<std::string>{"10", "9", "Cat", "dog"});
  CHECK(list.labels == std::vector<int32_t>{0, 1, 2, 3, 3});
  CHECK(list.files.back() == folder.File("pets/dog/deep/b.PNG"));

  source.class_names = {"dog", "Cat", "9", "10"};
  list = ListImages(source, "");
  CHECK(list.labels == std::vector<int32_t>{3, 2, 1, 0, 0});
  source.class_names = {"dog"};
  CHECK(Has(Refused(source).message, "Expected: ['10', '9', 'Cat', 'dog'], but received: ['dog']"));
  source.class_names.reset();
  source.labels.reset();
  list = ListImages(source, "");
  CHECK(list.files.size() == 7);
  CHECK(list.labels.empty());
}

TEST_CASE("the two parts of a split are all files, and none twice") {
  const TemporaryFolder folder;
  WriteCatsAndDogs(folder, 6);
  ImageFolderSource source = Pets(folder);
  source.shuffle = true;
  source.seed = 123;
  const ImageList all = ListImages(source, "");
  source.validation_split = 0.2;
  source.subset = "training";
  const ImageList training = ListImages(source, "");
  source.subset = "validation";
  const ImageList validation = ListImages(source, "");
  CHECK(training.files.size() == 10);
  CHECK(validation.files.size() == 2);
  std::vector<std::string> both = training.files;
  both.insert(both.end(), validation.files.begin(), validation.files.end());
  CHECK(both == all.files);
  // cat/1..6 are 0..5 and dog/1..6 are 6..11: numpy's order of seed 123 begins 5, 0, 4, 9.
  CHECK(all.files[0] == folder.File("pets/cat/6.jpg"));
  CHECK(all.files[3] == folder.File("pets/dog/4.JPEG"));
  CHECK(all.labels[3] == 1);
}

TEST_CASE("labels come in Keras' three modes") {
  const TemporaryFolder folder;
  WriteCatsAndDogs(folder);
  ImageFolderSource source = Pets(folder);
  const Read ints = All(InputOf(source));
  CHECK(ints.values == std::vector<double>{10, 20, 30, 110, 120, 130});
  CHECK(ints.labels == std::vector<double>{0, 0, 0, 1, 1, 1});
  source.label_mode = "binary";
  auto stream = Open(InputOf(source));
  CHECK(stream->spec().labels.begin()->second.shape == Shape({1}));
  CHECK(All(InputOf(source)).labels == std::vector<double>{0, 0, 0, 1, 1, 1});
  source.label_mode = "categorical";
  CHECK(All(InputOf(source)).labels == std::vector<double>{1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1});
  source.label_mode = "int";
  source.labels = std::vector<int64_t>{5, 4, 3, 2, 1, 0};
  CHECK(All(InputOf(source)).labels == std::vector<double>{5, 4, 3, 2, 1, 0});
}

TEST_CASE("images are resized, and cut to the right form where that is asked for") {
  const TemporaryFolder folder;
  DecodedImage image;
  image.Resize(2, 8, 3);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = (i / 3) % 8 < 2 || (i / 3) % 8 > 5 ? 200 : 50;
  }
  WriteFile(folder.File("pets/cat/wide.jpg"), EncodeJpeg(image, 100));
  ImageFolderSource source = Pets(folder);
  source.image_size = {1, 1};
  source.interpolation = "area";
  CHECK(All(InputOf(source)).values[0] == doctest::Approx(125).epsilon(0.05));
  source.crop_to_aspect_ratio = true;
  CHECK(All(InputOf(source)).values[0] == doctest::Approx(50).epsilon(0.3));
  source.color_mode = "grayscale";
  CHECK(Open(InputOf(source))->spec().features[0].shape == Shape({1, 1, 1}));
}

TEST_CASE("kept images are equal to images that are decoded each time") {
  const TemporaryFolder folder;
  WriteCatsAndDogs(folder);
  InputFnOptions options = InputOf(Pets(folder));
  options.repeat = 2;
  const Read decoded = All(options);
  CHECK(decoded.values.size() == 12);
  options.cache = std::string("memory");
  CHECK(All(options).values == decoded.values);
  options.cache = folder.File("images.cache");
  CHECK(All(options).values == decoded.values);
  const auto written = std::filesystem::last_write_time(folder.File("images.cache"));
  CHECK(All(options).values == decoded.values);
  CHECK(std::filesystem::last_write_time(folder.File("images.cache")) == written);
  // Another file makes the cache file be written again.
  WriteFile(folder.File("pets/cat/1.jpg"), Plain(90, 6, 6));
  CHECK(All(options).values[0] == 90);
  CHECK(All(options).labels == decoded.labels);
  InputFnOptions digits;
  digits.source = DigitsSource();
  digits.cache = "";
  const Thrown thrown = ErrorOf([&] { (void)MakeInputFn(digits, "train"); });
  CHECK(thrown.key == "input_fns.train.cache");
}

TEST_CASE("a damaged image is named, or left out where the job says so") {
  const TemporaryFolder folder;
  WriteCatsAndDogs(folder);
  const std::string bad = folder.File("pets/cat/2.jpg");
  WriteFile(bad, Plain(20).substr(0, 300));
  InputFnOptions options = InputOf(Pets(folder));
  const Thrown thrown = ErrorOf([&] { (void)All(options); });
  CHECK(thrown.message == bad + ": damaged JPEG: the file ends early");
  CHECK(thrown.code == Code::kData);

  options.data_errors.options.policy = "skip";
  options.data_errors.options.max_fraction = 0.2;
  std::vector<BadRecord> reported;
  options.data_errors.report = [&](const std::vector<BadRecord>& found, int64_t records) {
    reported = found;
    CHECK(records == 6);
  };
  CHECK(All(options).values == std::vector<double>{10, 30, 110, 120, 130});
  REQUIRE(reported.size() == 1);
  CHECK(reported[0].file == bad);
  CHECK(reported[0].why == "damaged JPEG: the file ends early");
  options.data_errors.options.max_fraction = 0.1;
  CHECK(ErrorOf([&] { (void)All(options); }).key == "tpuest.data_errors.max_fraction");
}

TEST_CASE("what Keras refuses is refused in its words") {
  const TemporaryFolder folder;
  WriteCatsAndDogs(folder);
  const ImageFolderSource good = Pets(folder);
  ImageFolderSource source = good;
  source.validation_split = 0.2;
  const Thrown half = Refused(source);
  CHECK(half.message == "If `subset` is set, `validation_split` must be set, and inversely.");
  CHECK(half.key == "input_fns.train.source.validation_split");
  source.subset = "training";
  source.shuffle = true;
  CHECK(Has(Refused(source).message, "you must provide a `seed` argument"));
  source = good;
  source.labels = std::vector<int64_t>{1};
  CHECK(Has(Refused(source).message, "len(labels) is 1 while we found 6 files"));
  source = good;
  source.label_mode = "binary";
  MakeDirectories(folder.File("pets/bird"));
  CHECK(Has(Refused(source).message, "Received: class_names=['bird', 'cat', 'dog']"));
  source.directory = folder.File("pets/bird");
  source.label_mode = "int";
  CHECK(Has(Refused(source).message, "No images found in directory "));
  source.directory = folder.File("none");
  CHECK(Refused(source).code == Code::kData);
}

TEST_CASE("another image, or a folder of images, replaces the job's folder") {
  const TemporaryFolder folder;
  WriteCatsAndDogs(folder);
  WriteFile(folder.File("new/b.jpg"), Plain(77));
  WriteFile(folder.File("new/a.jpg"), Plain(66));
  const InputFnOptions job = InputOf(Pets(folder));
  CHECK(All(WithFile(job, folder.File("new/b.jpg"), "train")).values == std::vector<double>{77});
  CHECK(All(WithFile(job, folder.File("new"), "train")).values == std::vector<double>{66, 77});
  CHECK(ErrorOf([&] { (void)WithFile(job, folder.File("pets/cat/none"), "train"); }).code ==
        Code::kData);

  InputFnOptions records;
  TFRecordSource source;
  source.filenames = {folder.File("none.tfrecord")};
  records.source = source;
  records.parse_example["file"] = Fixed({}, "string");
  records.parse_example["label"] = Fixed({}, "int64");
  auto decode = On<DecodeImageMap>("file", "image");
  decode.channels = 3;
  auto resize = On<ResizeMap>("image");
  resize.size = {2, 2};
  records.map = {decode, resize};
  records.features = {"image"};
  records.labels = "label";
  CHECK(All(WithFile(records, folder.File("new"), "train")).values == std::vector<double>{66, 77});
}

TEST_CASE("folders that permissions close are skipped and named") {
  const TemporaryFolder folder;
  WriteCatsAndDogs(folder);
  WriteFile(folder.File("pets/cat/kept/secret/1.jpg"), Plain(7));
  WriteFile(folder.File("pets/owl/1.jpg"), Plain(8));
  ImageFolderSource source = Pets(folder);
  std::vector<std::string> reported;
  const DataErrors errors{.report = [&](const std::vector<BadRecord>& bad, int64_t records) {
    CHECK(records == 0);
    for (const BadRecord& of : bad) reported.push_back(of.file + ": " + of.why);
  }};
  const auto close = [](const std::string& path, std::filesystem::perms perms) {
    std::filesystem::permissions(path, perms);
  };
  close(folder.File("pets/cat/kept/secret"), std::filesystem::perms::none);
  close(folder.File("pets/owl"), std::filesystem::perms{0444});
  int64_t images = 0;
  std::string root_fault;
  AsNoRoot([&] {
    images = OpenImageFolder(source, false, "", errors)->size();
    source.labels = std::nullopt;
    CHECK(ListImages(source, "").files.size() == 6);
    source.directory = folder.File("pets/cat/kept/secret");
    root_fault = ErrorOf([&] { (void)ListImages(source, ""); }).message;
  });
  close(folder.File("pets/cat/kept/secret"), std::filesystem::perms{0755});
  close(folder.File("pets/owl"), std::filesystem::perms{0755});
  CHECK(images == 6);
  CHECK(reported ==
        std::vector<std::string>{folder.File("pets/cat/kept/secret") + ": permission denied",
                                 folder.File("pets/owl") + ": permission denied"});
  CHECK(Has(root_fault, "ermission denied"));
}

TEST_CASE("a drawn folder has a folder a kind, and the same files each time") {
  const TemporaryFolder folder;
  const auto counts = WriteShapeFolder({folder.File("one"), 20, 32, 7});
  (void)WriteShapeFolder({folder.File("two"), 20, 32, 7});
  CHECK(counts.size() == 5);
  CHECK(std::accumulate(counts.begin(), counts.end(), int64_t{0}) == 20);
  std::vector<std::string> unreadable;
  const auto files = ImagesBelow(folder.File("one"), false, unreadable);
  CHECK(files.size() == 20);
  for (const std::string& file : files) {
    const std::string other = folder.File("two") + file.substr(folder.File("one").size());
    CHECK(ReadFile(file) == ReadFile(other));
    const ImageHeader header = ReadImageHeader(ReadFile(file));
    CHECK((header.height >= 24 && header.height <= 32));
  }
  CHECK(Has(ErrorOf([&] {
              (void)WriteShapeFolder({folder.File("one"), 1, 32, 7});
            }).message,
            "the folder is not empty"));
}

}  // namespace tpuest::data
