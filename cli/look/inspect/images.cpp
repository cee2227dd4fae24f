#include "cli/look/inspect/images.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <vector>

#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/io/images/image.h"
#include "data/images/folder_list.h"

namespace tpuest::cli {
namespace {

constexpr size_t kShownDamaged = 10;  // in the text; --json has all

std::string ChannelsText(int channels) {
  constexpr std::array<std::string_view, 5> kWords = {"", "gray", "gray with alpha", "colour",
                                                      "colour with alpha"};
  return fmt::format("{} ({})", channels, kWords[static_cast<size_t>(channels)]);
}

// The header, and with `decode` the pixels, which are dropped.
ImageHeader LookAt(std::string_view bytes, bool decode) {
  ImageHeader header = ReadImageHeader(bytes);
  if (decode) {
    DecodedImage image;
    DecodeImage(bytes, 0, image);
  }
  return header;
}

struct Range {
  int64_t least = 0;
  int64_t most = 0;
  void Add(int64_t value) {
    least = least == 0 ? value : std::min(least, value);
    most = std::max(most, value);
  }
  [[nodiscard]] std::string Text() const {
    return least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
  }
};

struct Damaged {
  std::string file;
  std::string why;
};

struct FolderReport {
  int64_t images = 0;
  std::map<std::string, int64_t> classes;  // images a folder; "" are those above the classes
  std::map<std::string, int64_t> formats;
  Range heights;
  Range widths;
  std::vector<std::string> misnamed;
  std::vector<Damaged> damaged;
};

// In small letters, without the dot.
std::string Ending(const std::string& path) {
  std::string ending = path.substr(path.rfind('.') + 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

bool NameFits(const std::string& path, ImageFormat format) {
  const std::string ending = Ending(path);
  if (format == ImageFormat::kJpeg) return ending == "jpg" || ending == "jpeg";
  return ending == (format == ImageFormat::kPng   ? "png"
                    : format == ImageFormat::kBmp ? "bmp"
                                                  : "gif");
}

// The folder right below `root` that the file is in.
std::string ClassOf(const std::string& file, const std::string& root) {
  const std::string_view below = std::string_view(file).substr(root.size());
  const size_t begin = below.find_first_not_of('/');
  const size_t end = below.find('/', begin);
  return end == std::string_view::npos ? "" : std::string(below.substr(begin, end - begin));
}

FolderReport Survey(const std::string& path, bool decode) {
  FolderReport report;
  std::vector<std::string> unreadable;
  const std::vector<std::string> files = data::ImagesBelow(path, true, unreadable);
  for (const std::string& folder : unreadable) {
    report.damaged.push_back({folder, folder + ": permission denied"});
  }
  for (const std::string& file : files) {
    ++report.images;
    ++report.classes[ClassOf(file, path)];
    try {
      const MappedFile mapped(file);
      const ImageHeader header = LookAt(mapped.bytes(), decode);
      ++report.formats[std::string(NameOf(header.format))];
      report.heights.Add(header.height);
      report.widths.Add(header.width);
      if (!NameFits(file, header.format)) report.misnamed.push_back(file);
    } catch (const Error& error) {
      report.damaged.push_back({file, error.message()});
    }
  }
  return report;
}

Json AsJson(const FolderReport& report, const std::string& path) {
  Json damaged = Json::array();
  for (const Damaged& one : report.damaged) {
    damaged.push_back({{"file", one.file}, {"why", one.why}});
  }
  return {{"kind", "images"},
          {"path", path},
          {"images", report.images},
          {"classes", report.classes},
          {"formats", report.formats},
          {"heights", {report.heights.least, report.heights.most}},
          {"widths", {report.widths.least, report.widths.most}},
          {"misnamed", report.misnamed},
          {"damaged", damaged}};
}

void PrintFolder(const FolderReport& report, const std::string& path) {
  std::vector<std::string> formats;
  for (const auto& [name, count] : report.formats) {
    formats.push_back(fmt::format("{} {}", WithCommas(count), name));
  }
  fmt::print("images {}: {} files, {}\n", path, WithCommas(report.images), Join(formats, ", "));
  if (!formats.empty()) {
    fmt::print("  height {}, width {}\n", report.heights.Text(), report.widths.Text());
  }
  for (const auto& [name, count] : report.classes) {
    fmt::print("  {:<20} {:>9}\n", name.empty() ? "(in no folder)" : name, WithCommas(count));
  }
  for (size_t i = 0; i < std::min(report.misnamed.size(), kShownDamaged); ++i) {
    fmt::print("  {}: its format is not what its name says\n", report.misnamed[i]);
  }
  for (size_t i = 0; i < std::min(report.damaged.size(), kShownDamaged); ++i) {
    fmt::print("  {}: {}\n", report.damaged[i].file, report.damaged[i].why);
  }
  if (report.damaged.size() > kShownDamaged) {
    fmt::print("  and {} more that cannot be read\n", report.damaged.size() - kShownDamaged);
  }
  fmt::print("source:\n  {{type: image_dataset_from_directory, directory: {}{}}}\n", path,
             report.classes.contains("") ? ", labels: null" : "");
}

}  // namespace

int ShowImage(const InspectInvocation& invocation, const std::string& path) {
  const MappedFile file(path);
  ImageHeader header;
  try {
    header = LookAt(file.bytes(), invocation.verify);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.message()),
                error.faults().front().hint);
  }
  if (invocation.json) {
    PrintDocument("inspect", {{"kind", "image"},
                              {"path", path},
                              {"format", NameOf(header.format)},
                              {"height", header.height},
                              {"width", header.width},
                              {"channels", header.channels},
                              {"bits", header.bits},
                              {"bytes", file.bytes().size()},
                              {"notes", header.notes}});
    return 0;
  }
  fmt::print("{} {}: height {}, width {}, channels {}, {} bits, {} bytes{}{}\n",
             NameOf(header.format), path, header.height, header.width,
             ChannelsText(header.channels), header.bits,
             WithCommas(static_cast<int64_t>(file.bytes().size())),
             header.notes.empty() ? "" : "; ", header.notes);
  return 0;
}

int ShowImageFolder(const InspectInvocation& invocation, const std::string& path) {
  const FolderReport report = Survey(path, invocation.verify);
  if (invocation.json) {
    PrintDocument("inspect", AsJson(report, path));
  } else {
    PrintFolder(report, path);
  }
  const bool bad = invocation.verify && !report.damaged.empty();
  return bad ? static_cast<int>(Code::kData) : 0;
}

}  // namespace tpuest::cli
