#include "core/estimator/group/control_messages.h"

#include <cstring>

#include "core/base/message.h"
#include "core/kernels/fingerprint.h"

namespace tpuest {
namespace {

enum class OrderKind : int32_t {
  kStart,
  kSteps,
  kCopyToHost,
  kCompare,
  kEvaluate,
  kPredict,
  kBatch,
  kEndBatches,
  kRowRecords,
  kCountLines,
  kRowValues,
  kSeesFolder,
  kWriteShards,
  kForgetChanges,
  kEnd
};

class ControlWriter : public MessageWriter {
 public:
  void Position(const StreamPosition& position) {
    Number(position.epoch);
    Number(position.records);
  }
  void Variables(const std::map<std::string, Tensor>& variables) {
    Number(static_cast<uint64_t>(variables.size()));
    for (const auto& [name, value] : variables) Variable(name, value);
  }
  void Variable(const std::string& name, const Tensor& value) {
    Check(value.dtype() != DType::kString, "variable {} contains strings", name);
    Text(name);
    Number(value.dtype());
    List(value.shape().dims());
    Text({static_cast<const char*>(value.raw()), value.bytes()});
  }
};

class ControlReader : public MessageReader {
 public:
  using MessageReader::MessageReader;

  [[nodiscard]] StreamPosition Position() {
    const auto epoch = Number<int64_t>();
    return {.epoch = epoch, .records = Number<int64_t>()};
  }
  [[nodiscard]] std::map<std::string, Tensor> Variables() {
    std::map<std::string, Tensor> variables;
    for (auto left = Number<uint64_t>(); left > 0; --left) Variable(variables);
    return variables;
  }
  void Variable(std::map<std::string, Tensor>& variables) {
    const std::string name(Text());
    const auto dtype = Number<DType>();
    Tensor value(dtype, Shape(List<int64_t>()));
    const std::string_view bytes = Text();
    Check(bytes.size() == value.bytes(), "{} arrived with {} bytes", name, bytes.size());
    if (!bytes.empty()) std::memcpy(value.raw(), bytes.data(), bytes.size());
    variables.emplace(name, std::move(value));
  }
};

void Write(ControlWriter& writer, const StartMessage& message) {
  writer.Number(OrderKind::kStart);
  writer.Number(message.seed);
  writer.Number(message.seeds_by_name);
  writer.Position(message.position);
  writer.Variables(message.variables);
}

void Write(ControlWriter& writer, const StepsMessage& message) {
  writer.Number(OrderKind::kSteps);
  writer.Number(message.global_step);
  writer.Number(message.steps);
  writer.Position(message.after);
}

void Write(ControlWriter& writer, const CopyToHostMessage& message) {
  writer.Number(OrderKind::kCopyToHost);
  writer.Text(message.variable);
}

void Write(ControlWriter& writer, const CompareMessage& /*message*/) {
  writer.Number(OrderKind::kCompare);
}

void Write(ControlWriter& writer, const EvaluateMessage& message) {
  writer.Number(OrderKind::kEvaluate);
  writer.Number(message.seed);
  writer.Number(message.seeds_by_name);
  writer.Text(message.label);
  writer.Number(static_cast<uint64_t>(message.trained.size()));
  for (const std::string& name : message.trained) writer.Text(name);
  writer.Variables(message.variables);
}

void Write(ControlWriter& writer, const PredictMessage& message) {
  writer.Number(OrderKind::kPredict);
  writer.Number(message.seed);
  writer.Number(message.seeds_by_name);
  writer.Variables(message.variables);
}

void Write(ControlWriter& writer, const BatchMessage& message) {
  writer.Number(OrderKind::kBatch);
  writer.Position(message.after);
}

void Write(ControlWriter& writer, const EndBatchesMessage& /*message*/) {
  writer.Number(OrderKind::kEndBatches);
}

void Write(ControlWriter& writer, const RowRecordsMessage& message) {
  writer.Number(OrderKind::kRowRecords);
  writer.Text(message.table);
  writer.Number(message.what);
  writer.Number(message.first);
  writer.Number(message.count);
}

void Write(ControlWriter& writer, const CountRecordsMessage& message) {
  writer.Number(OrderKind::kCountLines);
  writer.Text(message.table);
  writer.Number(message.what);
}

void Write(ControlWriter& writer, const RowValuesMessage& message) {
  writer.Number(OrderKind::kRowValues);
  writer.Text(message.variable);
  writer.List(message.rows);
}

void Write(ControlWriter& writer, const SeesFolderMessage& message) {
  writer.Number(OrderKind::kSeesFolder);
  writer.Number(message.number);
}

void Write(ControlWriter& writer, const WriteShardsMessage& message) {
  writer.Number(OrderKind::kWriteShards);
  writer.Number(message.fsync);
  writer.Number(static_cast<uint64_t>(message.shards.size()));
  for (const WriteShardsMessage::Shard& shard : message.shards) {
    writer.Text(shard.file);
    writer.Number(shard.writer);
    writer.Number(static_cast<uint64_t>(shard.entries.size()));
    for (const WriteShardsMessage::Entry& entry : shard.entries) {
      writer.Text(entry.name);
      writer.List(entry.ends);
    }
  }
}

void Write(ControlWriter& writer, const ForgetChangesMessage& /*message*/) {
  writer.Number(OrderKind::kForgetChanges);
}

void Write(ControlWriter& writer, const EndMessage& message) {
  writer.Number(OrderKind::kEnd);
  writer.Number(message.exit_code);
}

WriteShardsMessage ReadShards(ControlReader& reader) {
  WriteShardsMessage message{.fsync = reader.Number<bool>(), .shards = {}};
  message.shards.resize(reader.Number<uint64_t>());
  for (WriteShardsMessage::Shard& shard : message.shards) {
    shard.file = reader.Text();
    shard.writer = reader.Number<int>();
    shard.entries.resize(reader.Number<uint64_t>());
    for (WriteShardsMessage::Entry& entry : shard.entries) {
      entry.name = reader.Text();
      entry.ends = reader.List<int64_t>();
    }
  }
  return message;
}

ControlMessage Read(ControlReader& reader) {
  switch (reader.Number<OrderKind>()) {
    case OrderKind::kStart: {
      StartMessage message{.seed = reader.Number<uint64_t>(),
                           .seeds_by_name = reader.Number<bool>(),
                           .position = {},
                           .variables = {}};
      message.position = reader.Position();
      message.variables = reader.Variables();
      return message;
    }
    case OrderKind::kSteps: {
      StepsMessage message{.global_step = reader.Number<int64_t>(), .steps = 0, .after = {}};
      message.steps = reader.Number<int64_t>();
      message.after = reader.Position();
      return message;
    }
    case OrderKind::kCopyToHost:
      return CopyToHostMessage{.variable = std::string(reader.Text())};
    case OrderKind::kCompare:
      return CompareMessage();
    case OrderKind::kEvaluate: {
      EvaluateMessage message{.seed = reader.Number<uint64_t>(),
                              .seeds_by_name = reader.Number<bool>(),
                              .label = {},
                              .trained = {},
                              .variables = {}};
      message.label = reader.Text();
      for (auto left = reader.Number<uint64_t>(); left > 0; --left) {
        message.trained.emplace_back(reader.Text());
      }
      message.variables = reader.Variables();
      return message;
    }
    case OrderKind::kPredict: {
      PredictMessage message{.seed = reader.Number<uint64_t>(),
                             .seeds_by_name = reader.Number<bool>(),
                             .variables = {}};
      message.variables = reader.Variables();
      return message;
    }
    case OrderKind::kBatch:
      return BatchMessage{.after = reader.Position()};
    case OrderKind::kEndBatches:
      return EndBatchesMessage();
    case OrderKind::kRowRecords: {
      RowRecordsMessage message{.table = std::string(reader.Text())};
      message.what = reader.Number<RowRecords>();
      message.first = reader.Number<int64_t>();
      message.count = reader.Number<int64_t>();
      return message;
    }
    case OrderKind::kCountLines: {
      CountRecordsMessage message{.table = std::string(reader.Text())};
      message.what = reader.Number<RowRecords>();
      return message;
    }
    case OrderKind::kSeesFolder:
      return SeesFolderMessage{.number = reader.Number<uint64_t>()};
    case OrderKind::kWriteShards:
      return ReadShards(reader);
    case OrderKind::kForgetChanges:
      return ForgetChangesMessage();
    case OrderKind::kRowValues: {
      RowValuesMessage message{.variable = std::string(reader.Text()), .rows = {}};
      message.rows = reader.List<int64_t>();
      return message;
    }
    case OrderKind::kEnd:
      return EndMessage{.exit_code = reader.Number<int>()};
  }
  Check(false, "unknown control message");
  return EndMessage();
}

std::string BytesOf(const ControlMessage& message) {
  ControlWriter writer;
  std::visit([&writer](const auto& given) { Write(writer, given); }, message);
  return writer.bytes();
}

// The fingerprint of each variable by itself: the first that differs is named.
std::string Fingerprints(const std::map<std::string, Tensor>& variables) {
  ControlWriter writer;
  for (const auto& [name, value] : variables) {
    writer.Text(name);
    writer.Number(Fingerprint64({static_cast<const char*>(value.raw()), value.bytes()}));
  }
  return writer.bytes();
}

// The first variable that two processes do not have alike.
std::string FirstDifference(std::string_view here, std::string_view there) {
  ControlReader mine(here);
  ControlReader other(there);
  const size_t common = std::min(here.size(), there.size());
  for (size_t at = 0; at < common;) {
    const std::string_view name = mine.Text();
    const bool is_same_name = other.Text() == name;
    if (!is_same_name || mine.Number<uint64_t>() != other.Number<uint64_t>()) {
      return std::string(name);
    }
    at += sizeof(uint64_t) + name.size() + sizeof(uint64_t);
  }
  return "that one of them lacks";
}

}  // namespace

void SendControl(hosts::Group& group, const ControlMessage& message) {
  group.SendToWorkers(BytesOf(message));
}

void SendControl(hosts::Group& group, int rank, const ControlMessage& message) {
  group.Send(rank, hosts::Channel::kControl, BytesOf(message));
}

ControlMessage ReceiveControl(hosts::Group& group) {
  group.SetActivity(hosts::Activity::kControl);
  const std::string bytes = group.Receive(0, hosts::Channel::kControl);
  ControlReader reader(bytes);
  return Read(reader);
}

void ReportVariables(hosts::Group& group, const std::map<std::string, Tensor>& variables) {
  group.Send(0, hosts::Channel::kReports, Fingerprints(variables));
}

void CompareVariables(hosts::Group& group, const std::map<std::string, Tensor>& variables) {
  SendControl(group, CompareMessage());
  const std::string mine = Fingerprints(variables);
  for (int rank = 1; rank < group.size(); ++rank) {
    const std::string other = group.Receive(rank, hosts::Channel::kReports);
    if (other == mine) continue;
    const Error error(Code::kLost,
                      fmt::format("the variable {} of process {} differs from that of process 0",
                                  FirstDifference(mine, other), rank),
                      "a machine computes incorrectly, or the processors differ; the same command "
                      "resumes from the newest checkpoint");
    group.Fail(error);
    throw Error(error);
  }
}

}  // namespace tpuest
