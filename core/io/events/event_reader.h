#pragma once
// Reads event files, including files that are still being written or were cut short. Only a file
// that cannot be opened is an Error (kData, or kUsage if a permission is missing).

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
  // Reads the next event; returns false at the end, and where the file is cut or damaged, which
  // damage() then describes.
  [[nodiscard]] bool Next(EventData& event);
  // The offset of the last event in its file, in bytes.
  [[nodiscard]] uint64_t offset() const { return offset_; }
  // Empty, or a description of the damage in the rest of the file.
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  RecordReader records_;
  uint64_t offset_ = 0;
  std::string damage_;
};

// Whether a path has the name of an event file.
[[nodiscard]] bool IsEventFile(std::string_view path);

// All events of a file, up to its end or damage.
[[nodiscard]] std::vector<EventData> ReadEvents(const std::string& path);

// The event files of a folder, in the order in which they were begun; empty if the folder does not
// exist.
[[nodiscard]] std::vector<std::string> EventFiles(const std::string& folder);

}  // namespace tpuest
