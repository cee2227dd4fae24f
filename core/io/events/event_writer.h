#pragma once
// Writes an event file as TensorFlow's FileWriter does. The caller passes times in seconds since
// the epoch.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/process/files.h"
#include "core/io/events/event.h"

namespace tpuest {

// Buffers events until Flush, destruction, or 64 KiB, and then passes whole records to the kernel.
// A process that dies may leave a file whose last record is cut, which readers accept.
class EventWriter {
 public:
  // Creates `folder` if necessary, and in it a new file
  // "events.out.tfevents.<seconds>.<host><suffix>" that starts with the version "brain.Event:2". If
  // that file exists already, takes the name of the next second. `suffix` is TensorFlow's
  // filename_suffix.
  EventWriter(const std::string& folder, double now, std::string_view suffix = "");
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  void Scalar(double now, int64_t step, std::string_view tag, float value);
  // Writes several values in one event.
  void Summary(double now, int64_t step, const std::vector<SummaryValue>& values);
  // Writes lines for TensorBoard's text plugin.
  void Text(double now, int64_t step, std::string_view tag, const std::vector<std::string>& lines);
  // Writes a string tensor without a plugin, as Estimator writes checkpoint_path.
  void String(double now, int64_t step, std::string_view tag, const std::string& value);
  // Writes a serialized GraphDef or MetaGraphDef.
  void Graph(double now, int64_t step, std::string_view graph_def);
  void MetaGraph(double now, int64_t step, std::string_view meta_graph_def);
  void SessionLog(double now, int64_t step, const SessionLogData& log);

  void Flush();
  [[nodiscard]] const std::string& path() const { return file_->path(); }

 private:
  void Write(double now, int64_t step, EventData event);
  std::string buffer_;
  std::unique_ptr<AppendFile> file_;
};

}  // namespace tpuest
