#pragma once
// Reads event files, also such as are still being written or were cut short. Only a file that
// cannot be opened is an Error (kData, or kUsage where a permission is missing).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/events/event.h"
#include "core/io/tfrecord.h"

namespace tpuest {

class EventReader {
 public:
  explicit EventReader(std::string path);
  // The next event; false at the end or where the file is cut or damaged, which damage() then
  // tells.
  [[nodiscard]] bool Next(EventData& event);
  // Where the last event starts in its file, in bytes.
  [[nodiscard]] uint64_t offset() const { return offset_; }
  // Empty, or what is wrong with the rest of the file.
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  RecordReader records_;
  uint64_t offset_ = 0;
  std::string damage_;
};

// Whether a path is named as an event file.
[[nodiscard]] bool IsEventFile(std::string_view path);

// All events of a file, up to its end or damage.
[[nodiscard]] std::vector<EventData> ReadEvents(const std::string& path);

// The event files of a folder, in the order in which they were begun; empty if there is no folder.
[[nodiscard]] std::vector<std::string> EventFiles(const std::string& folder);

}  // namespace tpuest
