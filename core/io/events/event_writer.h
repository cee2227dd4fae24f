#pragma once
// Writes an event file as TensorFlow's FileWriter does. Times are passed in, in seconds since the
// epoch.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/process/files.h"
#include "core/io/events/event.h"

namespace tpuest {

// Events are gathered until Flush (or destruction, or 64 KiB of them), which hands them to the
// kernel in whole records; a process that dies leaves a file whose last record may be cut, which
// readers bear.
class EventWriter {
 public:
  // Creates `folder` if need be, and in it a new file
  // "events.out.tfevents.<seconds>.<host><suffix>", which starts with the version "brain.Event:2";
  // where that file exists already, the next second's name is taken. `suffix` is TensorFlow's
  // filename_suffix.
  EventWriter(const std::string& folder, double now, std::string_view suffix = "");
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  void Scalar(double now, int64_t step, std::string_view tag, float value);
  // Several values in one event.
  void Summary(double now, int64_t step, const std::vector<SummaryValue>& values);
  // Lines for TensorBoard's text plugin.
  void Text(double now, int64_t step, std::string_view tag, const std::vector<std::string>& lines);
  // A string tensor without plugin, as Estimator writes checkpoint_path.
  void String(double now, int64_t step, std::string_view tag, const std::string& value);
  // A serialized GraphDef or MetaGraphDef.
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
