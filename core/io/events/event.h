#pragma once
// The contents of event files (TensorFlow's event.proto and summary.proto) without protobuf's
// types.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

// The part of an event file's name between its prefix and the time at which it was begun.
inline constexpr std::string_view kEventFile = ".tfevents.";

// A distribution: counts[i] values lie below limits[i] and not below limits[i - 1].
struct HistogramData {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> limits;
  std::vector<double> counts;
  bool operator==(const HistogramData&) const = default;
};

// The distribution of a tensor's values in the buckets of TensorFlow's histogram.cc: limits 1e-12 *
// 1.1^k up to 1e20, mirrored below zero. Runs of empty buckets are left out, as in TensorFlow.
[[nodiscard]] HistogramData HistogramOf(const Tensor& tensor);

// An encoded image, such as a PNG file.
struct ImageData {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::string encoded;
  bool operator==(const ImageData&) const = default;
};

// An encoded sound, such as a WAV file.
struct AudioData {
  float sample_rate = 0;  // Hz
  int64_t channels = 0;
  int64_t frames = 0;  // samples per channel
  std::string encoded;
  std::string content_type;  // "audio/wav"
  bool operator==(const AudioData&) const = default;
};

struct SummaryValue {
  std::string tag;
  std::variant<float, HistogramData, ImageData, Tensor, AudioData> value;
  std::string plugin_name;     // for TensorBoard; "" for none
  std::string plugin_content;  // the plugin's own bytes
};

struct SessionLogData {
  enum class Status : int { kUnspecified = 0, kStart = 1, kStop = 2, kCheckpoint = 3 };
  Status status = Status::kUnspecified;
  std::string checkpoint_path;
  std::string message;
};

struct EventData {
  enum class Kind {
    kNone,
    kFileVersion,
    kGraph,
    kMetaGraph,
    kSummary,
    kSessionLog,
    kTaggedRunMetadata,
    kLogMessage
  };
  double wall_time = 0;  // seconds since the epoch
  int64_t step = 0;
  Kind kind = Kind::kNone;
  std::string bytes;  // version, serialized graph or run metadata, or the message
  std::vector<SummaryValue> values;
  SessionLogData session_log;
};

}  // namespace tpuest
