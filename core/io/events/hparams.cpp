#include "core/io/events/hparams.h"

#include "core/io/protos.h"

namespace tpuest {
namespace {

SummaryValue Summary(std::string tag, const pb::HParamsPluginData& data) {
  // There is no value: the plugin reads only the metadata.
  return {.tag = std::move(tag),
          .value = Tensor(DType::kFloat, {0}),
          .plugin_name = "hparams",
          .plugin_content = data.SerializeAsString()};
}

struct SetValue {
  google::protobuf::Value& to;
  void operator()(bool value) const { to.set_bool_value(value); }
  void operator()(double value) const { to.set_number_value(value); }
  void operator()(const std::string& value) const { to.set_string_value(value); }
};

}  // namespace

SummaryValue HParamsStart(const HParams& hparams, double now) {
  pb::HParamsPluginData data;
  pb::SessionStartInfo& start = *data.mutable_session_start_info();
  for (const auto& [name, value] : hparams) {
    std::visit(SetValue{(*start.mutable_hparams())[name]}, value);
  }
  start.set_start_time_secs(now);
  return Summary("_hparams_/session_start_info", data);
}

SummaryValue HParamsEnd(double now) {
  pb::HParamsPluginData data;
  pb::SessionEndInfo& end = *data.mutable_session_end_info();
  end.set_status(pb::STATUS_SUCCESS);
  end.set_end_time_secs(now);
  return Summary("_hparams_/session_end_info", data);
}

}  // namespace tpuest
