#include "core/io/events/event_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/process/mounted.h"
#include "core/io/events/event_codec.h"
#include "core/io/tfrecord.h"

namespace tpuest {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;
// Maximum size of a file that every Flush rewrites completely, because its storage cannot append;
// after that the next file begins.
constexpr int64_t kSegmentBytes = int64_t{1} << 20;

std::string HostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

// The largest number of seconds in the names of a folder's event files; 0 if there are none.
int64_t NewestIn(const std::string& folder) {
  const std::string beginning = fmt::format("events.out{}", kEventFile);
  int64_t newest = 0;
  for (const std::string& name : ListDirectory(folder)) {
    if (!name.starts_with(beginning)) continue;
    int64_t seconds = 0;
    std::from_chars(name.data() + beginning.size(), name.data() + name.size(), seconds);
    newest = std::max(newest, seconds);
  }
  return newest;
}

// Returns a name that no file has yet: two runs that begin in the same second must not share a
// file, because the first may have left a cut record in it. The name also sorts after all existing
// ones, even if the clock was set back, because files are read in the order of their names.
std::string FreshPath(const std::string& folder, double now, std::string_view suffix) {
  for (auto seconds = std::max(static_cast<int64_t>(now), NewestIn(folder));; ++seconds) {
    std::string path = JoinPath(
        folder, fmt::format("events.out{}{:010}.{}{}", kEventFile, seconds, HostName(), suffix));
    if (!FileExists(path)) return path;
  }
}

// The path of the next file of the same writer.
std::string PathBehind(const std::string& path) {
  const size_t at = path.rfind(kEventFile) + kEventFile.size();
  const size_t end = path.find('.', at);
  int64_t seconds = 0;
  std::from_chars(path.data() + at, path.data() + end, seconds);
  while (true) {
    std::string next = fmt::format("{}{:010}{}", path.substr(0, at), ++seconds, path.substr(end));
    if (!FileExists(next)) return next;
  }
}

}  // namespace

EventWriter::EventWriter(const std::string& folder, double now, std::string_view suffix) {
  MakeDirectories(folder);
  file_ = std::make_unique<AppendFile>(FreshPath(folder, now, suffix));
  Write(now, 0, {.kind = EventData::Kind::kFileVersion, .bytes = "brain.Event:2"});
  Flush();
}

EventWriter::~EventWriter() {
  try {
    Flush();
  } catch (const Error&) {
    // The destructor ignores errors: a full disk is reported by the next Flush that a caller waits
    // for.
  }
}

void EventWriter::Write(double now, int64_t step, EventData event) {
  event.wall_time = now;
  event.step = step;
  AppendRecord(buffer_, EncodeEvent(event));
  if (buffer_.size() >= kBufferBytes) Flush();
}

void EventWriter::Scalar(double now, int64_t step, std::string_view tag, float value) {
  Summary(now, step, {{.tag = std::string(tag), .value = value}});
}

void EventWriter::Summary(double now, int64_t step, const std::vector<SummaryValue>& values) {
  Write(now, step, {.kind = EventData::Kind::kSummary, .values = values});
}

void EventWriter::Text(double now, int64_t step, std::string_view tag,
                       const std::vector<std::string>& lines) {
  Summary(now, step,
          {{.tag = std::string(tag),
            .value = Tensor::Strings({static_cast<int64_t>(lines.size())}, lines),
            .plugin_name = "text"}});
}

void EventWriter::String(double now, int64_t step, std::string_view tag, const std::string& value) {
  Summary(now, step, {{.tag = std::string(tag), .value = Tensor::Strings({}, {value})}});
}

void EventWriter::Graph(double now, int64_t step, std::string_view graph_def) {
  Write(now, step, {.kind = EventData::Kind::kGraph, .bytes = std::string(graph_def)});
}

void EventWriter::MetaGraph(double now, int64_t step, std::string_view meta_graph_def) {
  Write(now, step, {.kind = EventData::Kind::kMetaGraph, .bytes = std::string(meta_graph_def)});
}

void EventWriter::SessionLog(double now, int64_t step, const SessionLogData& log) {
  Write(now, step, {.kind = EventData::Kind::kSessionLog, .session_log = log});
}

void EventWriter::Flush() {
  if (buffer_.empty()) return;
  file_->Append(buffer_);
  buffer_.clear();
  if (AbilitiesAt(path()).appends || FileSize(path()) < kSegmentBytes) return;
  std::string version;
  AppendRecord(version,
               EncodeEvent({.kind = EventData::Kind::kFileVersion, .bytes = "brain.Event:2"}));
  file_ = std::make_unique<AppendFile>(PathBehind(path()));
  file_->Append(version);
}

}  // namespace tpuest
