#include "core/io/events/event_reader.h"

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/io/events/event_codec.h"

namespace tpuest {

EventReader::EventReader(std::string path) : records_(std::move(path)) {}

bool EventReader::Next(EventData& event) {
  if (!damage_.empty()) return false;
  try {
    Record record;
    if (!records_.Next(record)) return false;
    offset_ = record.offset;
    event = DecodeEvent(record.bytes, fmt::format("{}: record {} at byte {}", records_.path(),
                                                  record.index, record.offset));
    return true;
  } catch (const Error& error) {
    damage_ = error.message();
    return false;
  }
}

bool IsEventFile(std::string_view path) {
  return BaseName(path).find(kEventFile) != std::string::npos;
}

std::vector<EventData> ReadEvents(const std::string& path) {
  EventReader reader(path);
  std::vector<EventData> events;
  EventData event;
  while (reader.Next(event)) events.push_back(std::move(event));
  return events;
}

std::vector<std::string> EventFiles(const std::string& folder) {
  std::vector<std::string> paths;
  if (!DirectoryExists(folder)) return paths;
  for (const std::string& name : ListDirectory(folder)) {
    // All times have ten digits, so names sort by time.
    if (IsEventFile(name)) paths.push_back(JoinPath(folder, name));
  }
  return paths;
}

}  // namespace tpuest
