#include "data/images/folder_list.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <random>
#include <set>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/io/images/image.h"

namespace tpuest::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void RefuseFolder(Code code, std::string what, const std::string& key,
                               std::string hint = "") {
  throw Error(code, std::move(what), std::move(hint)).Key(key);
}

// "['a', 'b']", as Keras prints a list.
std::string ListText(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back("'" + name + "'");
  return "[" + Join(quoted, ", ") + "]";
}

// Whether missing permissions keep this process from reading the folder.
bool IsClosed(const std::string& folder) {
  return ::euidaccess(folder.c_str(), R_OK | X_OK) != 0 && errno == EACCES;
}

// A link to a parent folder would never end; no real tree is this deep.
constexpr int kMostFolderDepth = 64;

// Walks a folder and all folders below it, in the order of their paths.
class FolderWalk {
 public:
  FolderWalk(bool follow_links, std::vector<std::string>& unreadable)
      : follow_links_(follow_links), unreadable_(unreadable) {}

  [[nodiscard]] std::vector<std::string> Below(const std::string& directory) {
    Visit(directory, 0);
    std::ranges::sort(folders_);
    return std::move(folders_);
  }

 private:
  void Visit(const std::string& folder, int depth) {
    if (depth > 0 && IsClosed(folder)) {
      unreadable_.push_back(folder);
      return;
    }
    std::error_code failure;
    fs::directory_iterator entry(folder, failure);
    folders_.push_back(folder);
    for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
      std::error_code unknown;
      if (!entry->is_directory(unknown)) continue;
      if (entry->is_symlink(unknown) && !follow_links_) continue;
      if (depth <= kMostFolderDepth) Visit(entry->path().string(), depth + 1);
    }
    if (failure) throw Error(Code::kData, fmt::format("{}: {}", folder, failure.message()));
  }

  bool follow_links_;
  std::vector<std::string>& unreadable_;
  std::vector<std::string> folders_;
};

// The classes' folders, in byte order.
std::vector<std::string> ClassFolders(const std::string& directory) {
  std::vector<std::string> names;
  for (const std::string& name : ListDirectory(directory)) {
    if (!name.starts_with(".") && DirectoryExists(JoinPath(directory, name))) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

bool HasGivenLabels(const ImageFolderSource& options) {
  return options.labels && std::holds_alternative<std::vector<int64_t>>(*options.labels);
}
bool IsInferred(const ImageFolderSource& options) {
  return options.labels && options.label_mode && !HasGivenLabels(options);
}

void Infer(const ImageFolderSource& options, const std::string& key, ImageList& list) {
  const std::vector<std::string> found = ClassFolders(options.directory);
  list.class_names = options.class_names.value_or(found);
  if (std::set(list.class_names.begin(), list.class_names.end()) !=
      std::set(found.begin(), found.end())) {
    RefuseFolder(Code::kData,
                 fmt::format("The `class_names` passed did not match the names of the "
                             "subdirectories of the target directory. Expected: {}, but received: "
                             "{}",
                             ListText(found), ListText(list.class_names)),
                 key + ".class_names");
  }
  for (const std::string& name : found) {
    const auto label = std::ranges::find(list.class_names, name) - list.class_names.begin();
    const std::string folder = JoinPath(options.directory, name);
    if (IsClosed(folder)) {
      list.unreadable.push_back(folder);
      continue;
    }
    for (std::string& file : ImagesBelow(folder, options.follow_links, list.unreadable)) {
      list.files.push_back(std::move(file));
      list.labels.push_back(static_cast<int32_t>(label));
    }
  }
}

void UseGiven(const ImageFolderSource& options, const std::string& key, ImageList& list) {
  const auto& labels = std::get<std::vector<int64_t>>(*options.labels);
  if (labels.size() != list.files.size()) {
    RefuseFolder(Code::kData,
                 fmt::format("Expected the lengths of `labels` to match the number of files in the "
                             "target directory. len(labels) is {} while we found {} files in "
                             "directory {}.",
                             labels.size(), list.files.size(), options.directory),
                 key + ".labels");
  }
  const std::set<int64_t> known(labels.begin(), labels.end());
  for (const int64_t label : known) list.class_names.push_back(fmt::format("{}", label));
  for (const int64_t label : labels) list.labels.push_back(static_cast<int32_t>(label));
}

template <class T>
void Reorder(const std::vector<size_t>& order, std::vector<T>& values) {
  if (values.empty()) return;
  std::vector<T> ordered;
  ordered.reserve(values.size());
  for (const size_t index : order) ordered.push_back(std::move(values[index]));
  values = std::move(ordered);
}

template <class T>
void KeepPart(size_t begin, size_t end, std::vector<T>& values) {
  if (values.empty()) return;
  values.erase(values.begin() + static_cast<int64_t>(end), values.end());
  values.erase(values.begin(), values.begin() + static_cast<int64_t>(begin));
}

void Split(const ImageFolderSource& options, ImageList& list) {
  if (!options.validation_split) return;
  const size_t all = list.files.size();
  const auto held = static_cast<size_t>(*options.validation_split * static_cast<double>(all));
  const bool training = *options.subset == "training";
  const size_t begin = training ? 0 : all - held;
  const size_t end = training ? all - held : all;
  KeepPart(begin, end, list.files);
  KeepPart(begin, end, list.labels);
}

}  // namespace

void CheckImageFolder(const ImageFolderSource& o, const std::string& key) {
  if (o.labels && !HasGivenLabels(o) && std::get<std::string>(*o.labels) != "inferred") {
    RefuseFolder(Code::kUsage,
                 fmt::format("labels is '{}'; expected inferred, null or a list of whole numbers",
                             std::get<std::string>(*o.labels)),
                 key + ".labels");
  }
  if (HasGivenLabels(o) && o.class_names) {
    RefuseFolder(Code::kUsage, "You can only pass `class_names` if `labels=\"inferred\"`.",
                 key + ".class_names");
  }
  if (o.validation_split && !(*o.validation_split > 0 && *o.validation_split < 1)) {
    RefuseFolder(Code::kUsage,
                 fmt::format("`validation_split` must be between 0 and 1, received: {}",
                             NumberText(*o.validation_split)),
                 key + ".validation_split");
  }
  if (o.validation_split.has_value() != o.subset.has_value()) {
    RefuseFolder(Code::kUsage, "If `subset` is set, `validation_split` must be set, and inversely.",
                 key + (o.subset ? ".subset" : ".validation_split"));
  }
  if (o.validation_split && o.shuffle && !o.seed) {
    RefuseFolder(Code::kUsage,
                 "If using `validation_split` and shuffling the data, you must provide a `seed` "
                 "argument, to make sure that there is no overlap between the training and "
                 "validation subset.",
                 key + ".seed");
  }
  if (o.seed.value_or(0) > 0xffffffffULL) {
    RefuseFolder(Code::kUsage, fmt::format("seed is {}; expected at most 4294967295", *o.seed),
                 key + ".seed");
  }
  if (o.image_size.size() != 2 || o.image_size[0] < 1 || o.image_size[1] < 1 ||
      o.image_size[0] > 65536 || o.image_size[1] > 65536) {
    RefuseFolder(Code::kUsage, "image_size: expected [height, width], each 1 to 65536",
                 key + ".image_size");
  }
}

std::vector<std::string> ImagesBelow(const std::string& directory, bool follow_links,
                                     std::vector<std::string>& unreadable) {
  std::vector<std::string> files;
  for (const std::string& folder : FolderWalk(follow_links, unreadable).Below(directory)) {
    for (const std::string& name : ListDirectory(folder)) {
      const std::string path = JoinPath(folder, name);
      if (HasImageEnding(name) && !DirectoryExists(path)) files.push_back(path);
    }
  }
  return files;
}

std::vector<size_t> NumpyShuffle(uint32_t seed, size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  // C++ seeds the generator as numpy does.
  std::mt19937 random(seed);
  for (size_t i = count; i-- > 1;) {
    uint32_t mask = static_cast<uint32_t>(i);
    for (const unsigned shift : {1U, 2U, 4U, 8U, 16U}) mask |= mask >> shift;
    size_t other = 0;
    do {
      other = random() & mask;
    } while (other > i);
    std::swap(order[i], order[other]);
  }
  return order;
}

ImageList ListImages(const ImageFolderSource& options, const std::string& key) {
  CheckImageFolder(options, key);
  ImageList list;
  if (!options.files.empty()) {
    list.files = options.files;
    return list;
  }
  if (!DirectoryExists(options.directory)) {
    RefuseFolder(Code::kData, fmt::format("{}: no such folder", options.directory),
                 key + ".directory", "relative names count from the job file's folder");
  }
  if (IsInferred(options)) {
    Infer(options, key, list);
  } else {
    list.files = ImagesBelow(options.directory, options.follow_links, list.unreadable);
    if (HasGivenLabels(options) && options.label_mode) UseGiven(options, key, list);
  }
  if (options.shuffle) {
    const auto order =
        NumpyShuffle(static_cast<uint32_t>(options.seed.value_or(0)), list.files.size());
    Reorder(order, list.files);
    Reorder(order, list.labels);
  }
  if (options.label_mode == "binary" && !list.labels.empty() && list.class_names.size() != 2) {
    RefuseFolder(Code::kData,
                 fmt::format("When passing `label_mode=\"binary\"`, there must be exactly 2 "
                             "class_names. Received: class_names={}",
                             ListText(list.class_names)),
                 key + ".label_mode");
  }
  Split(options, list);
  if (list.files.empty()) {
    RefuseFolder(Code::kData,
                 fmt::format("No images found in directory {}. Allowed formats: ('.bmp', '.gif', "
                             "'.jpeg', '.jpg', '.png')",
                             options.directory),
                 key + ".directory");
  }
  return list;
}

}  // namespace tpuest::data
