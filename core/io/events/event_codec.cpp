#include "core/io/events/event_codec.h"

#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

void ToProto(const HistogramData& data, pb::HistogramProto& proto) {
  proto.set_min(data.min);
  proto.set_max(data.max);
  proto.set_num(data.num);
  proto.set_sum(data.sum);
  proto.set_sum_squares(data.sum_squares);
  proto.mutable_bucket_limit()->Add(data.limits.begin(), data.limits.end());
  proto.mutable_bucket()->Add(data.counts.begin(), data.counts.end());
}

void ToProto(const ImageData& data, pb::Summary::Image& proto) {
  proto.set_height(data.height);
  proto.set_width(data.width);
  proto.set_colorspace(data.channels);
  proto.set_encoded_image_string(data.encoded);
}

void ToProto(const AudioData& data, pb::Summary::Audio& proto) {
  proto.set_sample_rate(data.sample_rate);
  proto.set_num_channels(data.channels);
  proto.set_length_frames(data.frames);
  proto.set_encoded_audio_string(data.encoded);
  proto.set_content_type(data.content_type);
}

struct ValueEncoder {
  pb::Summary::Value& proto;
  void operator()(float value) const { proto.set_simple_value(value); }
  void operator()(const HistogramData& value) const { ToProto(value, *proto.mutable_histo()); }
  void operator()(const ImageData& value) const { ToProto(value, *proto.mutable_image()); }
  void operator()(const AudioData& value) const { ToProto(value, *proto.mutable_audio()); }
  void operator()(const Tensor& value) const { tpuest::ToProto(value, *proto.mutable_tensor()); }
};

void ToProto(const SummaryValue& value, pb::Summary::Value& proto) {
  proto.set_tag(value.tag);
  std::visit(ValueEncoder{proto}, value.value);
  if (value.plugin_name.empty() && value.plugin_content.empty()) return;
  pb::SummaryMetadata::PluginData& plugin = *proto.mutable_metadata()->mutable_plugin_data();
  plugin.set_plugin_name(value.plugin_name);
  plugin.set_content(value.plugin_content);
}

HistogramData FromProto(const pb::HistogramProto& proto) {
  return {.min = proto.min(),
          .max = proto.max(),
          .num = proto.num(),
          .sum = proto.sum(),
          .sum_squares = proto.sum_squares(),
          .limits = {proto.bucket_limit().begin(), proto.bucket_limit().end()},
          .counts = {proto.bucket().begin(), proto.bucket().end()}};
}

SummaryValue FromProto(const pb::Summary::Value& proto, const std::string& file) {
  SummaryValue value{.tag = proto.tag(),
                     .value = Tensor(),
                     .plugin_name = proto.metadata().plugin_data().plugin_name(),
                     .plugin_content = proto.metadata().plugin_data().content()};
  switch (proto.value_case()) {
    case pb::Summary::Value::kSimpleValue:
      value.value = proto.simple_value();
      break;
    case pb::Summary::Value::kHisto:
      value.value = FromProto(proto.histo());
      break;
    case pb::Summary::Value::kImage:
      value.value = ImageData{proto.image().height(), proto.image().width(),
                              proto.image().colorspace(), proto.image().encoded_image_string()};
      break;
    case pb::Summary::Value::kAudio:
      value.value = AudioData{.sample_rate = proto.audio().sample_rate(),
                              .channels = proto.audio().num_channels(),
                              .frames = proto.audio().length_frames(),
                              .encoded = proto.audio().encoded_audio_string(),
                              .content_type = proto.audio().content_type()};
      break;
    case pb::Summary::Value::kTensor:
      value.value = tpuest::FromProto(proto.tensor(), fmt::format("{}: \"{}\"", file, proto.tag()));
      break;
    case pb::Summary::Value::VALUE_NOT_SET:
      break;
  }
  return value;
}

void SetContent(const EventData& event, pb::Event& proto) {
  using Kind = EventData::Kind;
  switch (event.kind) {
    case Kind::kNone:
      return;
    case Kind::kFileVersion:
      return proto.set_file_version(event.bytes);
    case Kind::kGraph:
      return proto.set_graph_def(event.bytes);
    case Kind::kMetaGraph:
      return proto.set_meta_graph_def(event.bytes);
    case Kind::kLogMessage:
      return proto.mutable_log_message()->set_message(event.bytes);
    case Kind::kTaggedRunMetadata:
      return proto.mutable_tagged_run_metadata()->set_run_metadata(event.bytes);
    case Kind::kSummary:
      for (const SummaryValue& value : event.values) {
        ToProto(value, *proto.mutable_summary()->add_value());
      }
      return;
    case Kind::kSessionLog: {
      pb::SessionLog& log = *proto.mutable_session_log();
      log.set_status(static_cast<pb::SessionLog::SessionStatus>(event.session_log.status));
      log.set_checkpoint_path(event.session_log.checkpoint_path);
      log.set_msg(event.session_log.message);
      return;
    }
  }
}

void GetContent(const pb::Event& proto, const std::string& file, EventData& event) {
  using Kind = EventData::Kind;
  const auto set = [&](Kind kind, const std::string& bytes) {
    event.kind = kind;
    event.bytes = bytes;
  };
  switch (proto.what_case()) {
    case pb::Event::WHAT_NOT_SET:
      return;
    case pb::Event::kFileVersion:
      return set(Kind::kFileVersion, proto.file_version());
    case pb::Event::kGraphDef:
      return set(Kind::kGraph, proto.graph_def());
    case pb::Event::kMetaGraphDef:
      return set(Kind::kMetaGraph, proto.meta_graph_def());
    case pb::Event::kLogMessage:
      return set(Kind::kLogMessage, proto.log_message().message());
    case pb::Event::kTaggedRunMetadata:
      return set(Kind::kTaggedRunMetadata, proto.tagged_run_metadata().run_metadata());
    case pb::Event::kSummary:
      event.kind = Kind::kSummary;
      for (const pb::Summary::Value& value : proto.summary().value()) {
        event.values.push_back(FromProto(value, file));
      }
      return;
    case pb::Event::kSessionLog:
      event.kind = Kind::kSessionLog;
      event.session_log = {static_cast<SessionLogData::Status>(proto.session_log().status()),
                           proto.session_log().checkpoint_path(), proto.session_log().msg()};
      return;
  }
}

}  // namespace

std::string EncodeEvent(const EventData& event) {
  pb::Event proto;
  proto.set_wall_time(event.wall_time);
  proto.set_step(event.step);
  SetContent(event, proto);
  return ToBytes(proto);
}

EventData DecodeEvent(std::string_view bytes, const std::string& file) {
  pb::Event proto;
  FromBytes(bytes, proto, file, Code::kData);
  EventData event{.wall_time = proto.wall_time(), .step = proto.step()};
  GetContent(proto, file, event);
  return event;
}

}  // namespace tpuest
