#include "core/estimator/group/orders.h"

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

class OrderWriter : public MessageWriter {
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

class OrderReader : public MessageReader {
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

void Write(OrderWriter& writer, const StartOrder& order) {
  writer.Number(OrderKind::kStart);
  writer.Number(order.seed);
  writer.Number(order.seeds_by_name);
  writer.Position(order.position);
  writer.Variables(order.variables);
}

void Write(OrderWriter& writer, const StepsOrder& order) {
  writer.Number(OrderKind::kSteps);
  writer.Number(order.global_step);
  writer.Number(order.steps);
  writer.Position(order.after);
}

void Write(OrderWriter& writer, const CopyToHostOrder& order) {
  writer.Number(OrderKind::kCopyToHost);
  writer.Text(order.variable);
}

void Write(OrderWriter& writer, const CompareOrder& /*order*/) {
  writer.Number(OrderKind::kCompare);
}

void Write(OrderWriter& writer, const EvaluateOrder& order) {
  writer.Number(OrderKind::kEvaluate);
  writer.Number(order.seed);
  writer.Number(order.seeds_by_name);
  writer.Text(order.label);
  writer.Number(static_cast<uint64_t>(order.trained.size()));
  for (const std::string& name : order.trained) writer.Text(name);
  writer.Variables(order.variables);
}

void Write(OrderWriter& writer, const PredictOrder& order) {
  writer.Number(OrderKind::kPredict);
  writer.Number(order.seed);
  writer.Number(order.seeds_by_name);
  writer.Variables(order.variables);
}

void Write(OrderWriter& writer, const BatchOrder& order) {
  writer.Number(OrderKind::kBatch);
  writer.Position(order.after);
}

void Write(OrderWriter& writer, const EndBatchesOrder& /*order*/) {
  writer.Number(OrderKind::kEndBatches);
}

void Write(OrderWriter& writer, const RowRecordsOrder& order) {
  writer.Number(OrderKind::kRowRecords);
  writer.Text(order.table);
  writer.Number(order.what);
  writer.Number(order.first);
  writer.Number(order.count);
}

void Write(OrderWriter& writer, const CountLinesOrder& order) {
  writer.Number(OrderKind::kCountLines);
  writer.Text(order.table);
  writer.Number(order.what);
}

void Write(OrderWriter& writer, const RowValuesOrder& order) {
  writer.Number(OrderKind::kRowValues);
  writer.Text(order.variable);
  writer.List(order.rows);
}

void Write(OrderWriter& writer, const SeesFolderOrder& order) {
  writer.Number(OrderKind::kSeesFolder);
  writer.Number(order.number);
}

void Write(OrderWriter& writer, const WriteShardsOrder& order) {
  writer.Number(OrderKind::kWriteShards);
  writer.Number(order.fsync);
  writer.Number(static_cast<uint64_t>(order.shards.size()));
  for (const WriteShardsOrder::Shard& shard : order.shards) {
    writer.Text(shard.file);
    writer.Number(shard.writer);
    writer.Number(static_cast<uint64_t>(shard.entries.size()));
    for (const WriteShardsOrder::Entry& entry : shard.entries) {
      writer.Text(entry.name);
      writer.List(entry.ends);
    }
  }
}

void Write(OrderWriter& writer, const ForgetChangesOrder& /*order*/) {
  writer.Number(OrderKind::kForgetChanges);
}

void Write(OrderWriter& writer, const EndOrder& order) {
  writer.Number(OrderKind::kEnd);
  writer.Number(order.exit_code);
}

WriteShardsOrder ReadShards(OrderReader& reader) {
  WriteShardsOrder order{.fsync = reader.Number<bool>(), .shards = {}};
  order.shards.resize(reader.Number<uint64_t>());
  for (WriteShardsOrder::Shard& shard : order.shards) {
    shard.file = reader.Text();
    shard.writer = reader.Number<int>();
    shard.entries.resize(reader.Number<uint64_t>());
    for (WriteShardsOrder::Entry& entry : shard.entries) {
      entry.name = reader.Text();
      entry.ends = reader.List<int64_t>();
    }
  }
  return order;
}

TrainOrder Read(OrderReader& reader) {
  switch (reader.Number<OrderKind>()) {
    case OrderKind::kStart: {
      StartOrder order{.seed = reader.Number<uint64_t>(),
                       .seeds_by_name = reader.Number<bool>(),
                       .position = {},
                       .variables = {}};
      order.position = reader.Position();
      order.variables = reader.Variables();
      return order;
    }
    case OrderKind::kSteps: {
      StepsOrder order{.global_step = reader.Number<int64_t>(), .steps = 0, .after = {}};
      order.steps = reader.Number<int64_t>();
      order.after = reader.Position();
      return order;
    }
    case OrderKind::kCopyToHost:
      return CopyToHostOrder{.variable = std::string(reader.Text())};
    case OrderKind::kCompare:
      return CompareOrder();
    case OrderKind::kEvaluate: {
      EvaluateOrder order{.seed = reader.Number<uint64_t>(),
                          .seeds_by_name = reader.Number<bool>(),
                          .label = {},
                          .trained = {},
                          .variables = {}};
      order.label = reader.Text();
      for (auto left = reader.Number<uint64_t>(); left > 0; --left) {
        order.trained.emplace_back(reader.Text());
      }
      order.variables = reader.Variables();
      return order;
    }
    case OrderKind::kPredict: {
      PredictOrder order{.seed = reader.Number<uint64_t>(),
                         .seeds_by_name = reader.Number<bool>(),
                         .variables = {}};
      order.variables = reader.Variables();
      return order;
    }
    case OrderKind::kBatch:
      return BatchOrder{.after = reader.Position()};
    case OrderKind::kEndBatches:
      return EndBatchesOrder();
    case OrderKind::kRowRecords: {
      RowRecordsOrder order{.table = std::string(reader.Text())};
      order.what = reader.Number<RowRecords>();
      order.first = reader.Number<int64_t>();
      order.count = reader.Number<int64_t>();
      return order;
    }
    case OrderKind::kCountLines: {
      CountLinesOrder order{.table = std::string(reader.Text())};
      order.what = reader.Number<RowRecords>();
      return order;
    }
    case OrderKind::kSeesFolder:
      return SeesFolderOrder{.number = reader.Number<uint64_t>()};
    case OrderKind::kWriteShards:
      return ReadShards(reader);
    case OrderKind::kForgetChanges:
      return ForgetChangesOrder();
    case OrderKind::kRowValues: {
      RowValuesOrder order{.variable = std::string(reader.Text()), .rows = {}};
      order.rows = reader.List<int64_t>();
      return order;
    }
    case OrderKind::kEnd:
      return EndOrder{.exit_code = reader.Number<int>()};
  }
  Check(false, "unknown order");
  return EndOrder();
}

std::string BytesOf(const TrainOrder& order) {
  OrderWriter writer;
  std::visit([&writer](const auto& given) { Write(writer, given); }, order);
  return writer.bytes();
}

// The fingerprint of each variable by itself: the first that differs is named.
std::string Fingerprints(const std::map<std::string, Tensor>& variables) {
  OrderWriter writer;
  for (const auto& [name, value] : variables) {
    writer.Text(name);
    writer.Number(Fingerprint64({static_cast<const char*>(value.raw()), value.bytes()}));
  }
  return writer.bytes();
}

// The first variable that two processes do not have alike.
std::string FirstDifference(std::string_view here, std::string_view there) {
  OrderReader mine(here);
  OrderReader other(there);
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

void GiveOrder(hosts::Group& group, const TrainOrder& order) { group.Order(BytesOf(order)); }

void GiveOrder(hosts::Group& group, int rank, const TrainOrder& order) {
  group.Send(rank, hosts::Channel::kOrders, BytesOf(order));
}

TrainOrder TakeOrder(hosts::Group& group) {
  group.At(hosts::Activity::kOrders);
  const std::string bytes = group.Receive(0, hosts::Channel::kOrders);
  OrderReader reader(bytes);
  return Read(reader);
}

void ReportVariables(hosts::Group& group, const std::map<std::string, Tensor>& variables) {
  group.Send(0, hosts::Channel::kReports, Fingerprints(variables));
}

void CompareVariables(hosts::Group& group, const std::map<std::string, Tensor>& variables) {
  GiveOrder(group, CompareOrder());
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
