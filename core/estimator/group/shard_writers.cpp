#include "core/estimator/group/shard_writers.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/backend/rows/row_table.h"
#include "core/base/message.h"
#include "core/base/process/files.h"
#include "core/estimator/checkpoint/rows/row_entries.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/crc32c.h"
#include "core/io/data_shard.h"
#include "core/io/row_names.h"

namespace tpuest {
namespace {

// A checkpoint entry of a table whose rows the processes share.
struct SharedEntry {
  enum class Form { kWhole, kKeys, kValues };

  const RowTable* table = nullptr;
  int column = 0;
  Form form = Form::kWhole;
};

std::optional<std::string> Before(std::string_view ending, const std::string& name) {
  if (!name.ends_with(ending)) return std::nullopt;
  return name.substr(0, name.size() - ending.size());
}

// Returns nullopt if it is not such an entry, or if the rows are not partitioned yet.
std::optional<SharedEntry> EntryOf(const VariableStore& store, const std::string& name) {
  using Form = SharedEntry::Form;
  const auto find = [&](const std::optional<std::string>& variable,
                        Form form) -> std::optional<SharedEntry> {
    const RowColumn* const rows = variable ? store.tables().Find(*variable) : nullptr;
    if (rows == nullptr || rows->table->owners() == nullptr || !rows->table->is_dealt_out()) {
      return std::nullopt;
    }
    return SharedEntry{.table = rows->table.get(), .column = rows->column, .form = form};
  };
  if (const auto whole = find(name, Form::kWhole)) return whole;
  if (const auto keys = find(Before(kRowKeysEnding, name), Form::kKeys)) return keys;
  return find(Before(kRowValuesEnding, name), Form::kValues);
}

SharedEntry KnownEntry(const VariableStore& store, const std::string& name) {
  const std::optional<SharedEntry> entry = EntryOf(store, name);
  Check(entry.has_value(), "the chief writes \"{}\" as shared rows, but this process has none",
        name);
  return *entry;
}

// ---- pieces

// The rows of a piece: first .. end - 1.
struct Piece {
  size_t shard = 0;  // index in the message
  size_t entry = 0;  // index in the shard
  int64_t first = 0;
  int64_t end = 0;
};

// The pieces that each process writes, in their order.
std::vector<std::vector<Piece>> PiecesByWriter(const WriteShardsMessage& message, int processes) {
  std::vector<std::vector<Piece>> pieces(static_cast<size_t>(processes));
  for (size_t shard = 0; shard < message.shards.size(); ++shard) {
    std::vector<Piece>& of_writer = pieces[static_cast<size_t>(message.shards[shard].writer)];
    const auto& entries = message.shards[shard].entries;
    for (size_t entry = 0; entry < entries.size(); ++entry) {
      int64_t first = 0;
      for (const int64_t end : entries[entry].ends) {
        of_writer.push_back({.shard = shard, .entry = entry, .first = first, .end = end});
        first = end;
      }
    }
  }
  return pieces;
}

// Returns the ends of the pieces, each as the number of the first row after it; the last is the
// number of all rows. `written`: the rows of an entry that is stored by rows.
std::vector<int64_t> EndsOf(const SharedEntry& entry, const std::vector<int64_t>& written) {
  const int64_t most = RowsAtOnce(entry.table->width());
  const bool is_whole = entry.form == SharedEntry::Form::kWhole;
  const int64_t n = is_whole ? entry.table->rows() : static_cast<int64_t>(written.size());
  std::vector<int64_t> ends;
  for (int64_t at = most; at < n; at += most) {
    ends.push_back(is_whole ? at : written[static_cast<size_t>(at)]);
  }
  ends.push_back(entry.table->rows());
  return ends;
}

// One process's part of a piece.
struct Part {
  std::vector<int64_t> rows;  // ascending
  std::vector<float> values;  // [rows.size(), width]; empty for keys
};

std::string BytesOf(const Part& part) {
  MessageWriter message;
  message.List(part.rows);
  message.List(part.values);
  return message.Take();
}

Part PartOf(const std::string& bytes) {
  MessageReader message(bytes);
  Part part{.rows = message.List<int64_t>(), .values = {}};
  part.values = message.List<float>();
  return part;
}

void Append(std::string& bytes, const void* from, size_t size) {
  bytes.append(static_cast<const char*>(from), size);
}

// Returns the values of rows first .. end - 1; rows that were never written have their initial
// values.
std::string WholePiece(const SharedEntry& entry, const Piece& piece, std::span<const Part> parts) {
  const auto width = static_cast<size_t>(entry.table->width());
  const auto n = static_cast<size_t>(piece.end - piece.first);
  std::vector<float> values(n * width);
  std::vector<bool> has(n, false);
  for (const Part& part : parts) {
    for (size_t i = 0; i < part.rows.size(); ++i) {
      const auto at = static_cast<size_t>(part.rows[i] - piece.first);
      std::copy_n(part.values.data() + i * width, width, values.data() + at * width);
      has[at] = true;
    }
  }
  const RowVariable& variable = entry.table->variables()[static_cast<size_t>(entry.column)];
  for (size_t at = 0; at < n;) {
    size_t end = at;
    while (end < n && !has[end]) ++end;
    if (end > at) {
      variable.DrawRows(piece.first + static_cast<int64_t>(at), static_cast<int64_t>(end - at),
                        entry.table->width(), values.data() + at * width);
    }
    at = end + 1;
  }
  std::string bytes;
  Append(bytes, values.data(), values.size() * sizeof(float));
  return bytes;
}

// The numbers or values of the materialized rows, in ascending order.
std::string WrittenPiece(const SharedEntry& entry, std::span<const Part> parts) {
  const auto width = static_cast<size_t>(entry.table->width());
  std::vector<std::pair<int64_t, const float*>> rows;
  for (const Part& part : parts) {
    for (size_t i = 0; i < part.rows.size(); ++i) {
      rows.emplace_back(part.rows[i], part.values.empty() ? nullptr : &part.values[i * width]);
    }
  }
  std::sort(rows.begin(), rows.end());
  std::string bytes;
  for (const auto& [row, values] : rows) {
    if (entry.form == SharedEntry::Form::kKeys) {
      Append(bytes, &row, sizeof row);
    } else {
      Append(bytes, values, width * sizeof(float));
    }
  }
  return bytes;
}

// ---- writing

// This process's rows in any piece.
class OwnRowsOfPieces {
 public:
  explicit OwnRowsOfPieces(const VariableStore& store) : store_(store) {}

  Part Of(const std::string& name, const Piece& piece) {
    const SharedEntry entry = KnownEntry(store_, name);
    const auto [found, is_new] = written_.try_emplace(entry.table);
    std::vector<int64_t>& written = found->second;
    if (is_new) written = entry.table->OwnRows(0, entry.table->rows());
    const auto first = std::lower_bound(written.begin(), written.end(), piece.first);
    const auto end = std::lower_bound(first, written.end(), piece.end);
    std::vector<int64_t> rows(first, end);
    if (entry.form == SharedEntry::Form::kKeys) return {.rows = std::move(rows), .values = {}};
    RemoteRows there = entry.table->RowsFor(entry.column, std::move(rows));
    return {.rows = std::move(there.rows), .values = std::move(there.values)};
  }

 private:
  const VariableStore& store_;
  std::map<const RowTable*, std::vector<int64_t>> written_;
};

// The shards that this process writes. Keeps an error until the end, so that all processes stay at
// the same piece.
class OwnShards {
 public:
  OwnShards(const WriteShardsMessage& message, const std::string& model_dir)
      : message_(message), model_dir_(model_dir) {}

  void Append(const Piece& piece, const std::string& bytes) {
    Try([&] {
      if (shard_ != piece.shard) {
        const WriteShardsMessage::Shard& shard = message_.shards[piece.shard];
        Check(shard.file.find('/') == std::string::npos, "'{}' is not a file of model_dir",
              shard.file);
        files_.push_back(
            std::make_unique<DataShardWriter>(JoinPath(model_dir_, shard.file), message_.fsync));
        stored_.emplace_back(shard.entries.size());
        shard_ = piece.shard;
      }
      StoredValues& values = stored_.back()[piece.entry];
      values.bytes += static_cast<int64_t>(bytes.size());
      values.crc = Crc32c(bytes, values.crc);
      files_.back()->Append(bytes);
    });
  }
  void Commit() {
    Try([&] {
      for (const auto& file : files_) file->Commit();
    });
  }
  // One entry per shard, in the order of the message.
  [[nodiscard]] const std::vector<std::vector<StoredValues>>& stored() const { return stored_; }
  [[nodiscard]] const std::optional<Error>& failed() const { return failed_; }

 private:
  template <class Fn>
  void Try(const Fn& write) {
    if (failed_) return;
    try {
      write();
    } catch (const Error& error) {
      failed_.emplace(error);
      files_.clear();
    }
  }

  const WriteShardsMessage& message_;
  const std::string& model_dir_;
  std::optional<size_t> shard_;
  std::vector<std::unique_ptr<DataShardWriter>> files_;
  std::vector<std::vector<StoredValues>> stored_;
  std::optional<Error> failed_;
};

// The processes send each other parts of pieces, and a message when one is written. These are sent
// as reports, because a write may take as long as a disk does.
OwnShards WriteTogether(hosts::Group& group, const WriteShardsMessage& message,
                        const VariableStore& store, const std::string& model_dir) {
  const std::vector<std::vector<Piece>> pieces = PiecesByWriter(message, group.size());
  size_t rounds = 0;
  for (const std::vector<Piece>& of_writer : pieces) rounds = std::max(rounds, of_writer.size());
  const auto here = static_cast<size_t>(group.rank());
  const auto await_written = [&](size_t round) {
    for (size_t writer = 0; writer < pieces.size(); ++writer) {
      if (writer == here || round >= pieces[writer].size()) continue;
      (void)group.Receive(static_cast<int>(writer), hosts::Channel::kReports);
    }
  };
  const auto name_of = [&](const Piece& piece) -> const std::string& {
    return message.shards[piece.shard].entries[piece.entry].name;
  };
  OwnRowsOfPieces own(store);
  OwnShards shards(message, model_dir);
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t writer = 0; writer < pieces.size(); ++writer) {
      if (writer == here || round >= pieces[writer].size()) continue;
      const Piece& piece = pieces[writer][round];
      group.Send(static_cast<int>(writer), hosts::Channel::kReports,
                 BytesOf(own.Of(name_of(piece), piece)));
    }
    if (round > 0) await_written(round - 1);
    if (round >= pieces[here].size()) continue;
    const Piece& piece = pieces[here][round];
    std::vector<Part> parts;
    for (int rank = 0; rank < group.size(); ++rank) {
      parts.push_back(rank == group.rank() ? own.Of(name_of(piece), piece)
                                           : PartOf(group.Receive(rank, hosts::Channel::kReports)));
    }
    const SharedEntry entry = KnownEntry(store, name_of(piece));
    shards.Append(piece, entry.form == SharedEntry::Form::kWhole ? WholePiece(entry, piece, parts)
                                                                 : WrittenPiece(entry, parts));
    for (int rank = 0; rank < group.size(); ++rank) {
      if (rank != group.rank()) group.Send(rank, hosts::Channel::kReports, "");
    }
  }
  if (rounds > 0) await_written(rounds - 1);
  shards.Commit();
  return shards;
}

// ---- reports

std::string ReportOf(const OwnShards& shards) {
  MessageWriter report;
  report.Number(shards.failed().has_value());
  if (const std::optional<Error>& failed = shards.failed()) {
    report.Number(failed->code());
    report.Text(failed->message());
    report.Text(failed->faults().front().hint);
    return report.Take();
  }
  for (const std::vector<StoredValues>& stored : shards.stored()) report.List(stored);
  return report.Take();
}

// In the chief: the stored values of each process's shards, by rank. Throws the first error of any
// process after all have reported.
std::vector<std::deque<std::vector<StoredValues>>> TakeReports(hosts::Group& group,
                                                               const WriteShardsMessage& message,
                                                               const OwnShards& own) {
  std::vector<std::deque<std::vector<StoredValues>>> stored(static_cast<size_t>(group.size()));
  std::optional<Error> failed = own.failed();
  stored[0].assign(own.stored().begin(), own.stored().end());
  for (int rank = 1; rank < group.size(); ++rank) {
    const std::string bytes = group.Receive(rank, hosts::Channel::kReports);
    MessageReader report(bytes);
    if (report.Number<bool>()) {
      const auto code = report.Number<Code>();
      const std::string text = fmt::format("process {}: {}", rank, report.Text());
      if (!failed) failed.emplace(code, text, std::string(report.Text()));
      continue;
    }
    for (const WriteShardsMessage::Shard& shard : message.shards) {
      if (shard.writer != rank) continue;
      stored[static_cast<size_t>(rank)].push_back(report.List<StoredValues>());
    }
  }
  if (failed) throw Error(*failed);
  return stored;
}

// ---- assignment of shards to processes

using Written = std::map<size_t, std::vector<StoredValues>>;

// The indices of the shards that contain only shared entries.
std::vector<size_t> SharedShards(const VariableStore& store, std::span<const ShardPlan> plans) {
  std::vector<size_t> shared;
  for (size_t i = 0; i < plans.size(); ++i) {
    const bool is_shared = std::ranges::all_of(plans[i].tensors, [&](const NamedTensor* named) {
      return EntryOf(store, named->name).has_value();
    });
    if (is_shared && !plans[i].tensors.empty()) shared.push_back(i);
  }
  return shared;
}

// This process may have mounted the folder read-only.
bool SeesFolder(const std::string& model_dir, const SeesFolderMessage& message) {
  try {
    const std::string path = SharedPath(model_dir);
    return FileExists(path) && ReadWords(path) == std::to_string(message.number) &&
           ::access(model_dir.c_str(), W_OK | X_OK) == 0;
  } catch (const Error&) {
    return false;  // the chief writes
  }
}

// In the chief: the processes that see its folder, ending with the chief itself, which writes
// everything else.
std::vector<int> Writers(hosts::Group& group, const std::string& model_dir) {
  std::random_device device;
  const SeesFolderMessage message{.number = uint64_t{device()} << 32 | device()};
  const std::string path = SharedPath(model_dir);
  WriteFileAtomically(path, std::to_string(message.number), /*fsync=*/false);
  SendControl(group, message);
  std::vector<int> writers;
  for (int rank = 1; rank < group.size(); ++rank) {
    const std::string report = group.Receive(rank, hosts::Channel::kReports);
    if (MessageReader(report).Number<bool>()) writers.push_back(rank);
  }
  RemoveFile(path);
  writers.push_back(0);
  return writers;
}

// The rows of a table that is stored by rows, from the checkpoint's entry; its owners have already
// sent them.
std::vector<int64_t> SavedKeys(std::span<const ShardPlan> plans, const RowTable& table) {
  const std::string name = RowKeysName(table.variables().front().name);
  std::vector<int64_t> keys;
  for (const ShardPlan& plan : plans) {
    for (const NamedTensor* const named : plan.tensors) {
      if (named->name != name) continue;
      named->streamed->write([&](std::string_view bytes) {
        const size_t before = keys.size();
        keys.resize(before + bytes.size() / sizeof(int64_t));
        std::memcpy(keys.data() + before, bytes.data(), bytes.size());
      });
    }
  }
  return keys;
}

WriteShardsMessage DealShards(const VariableStore& store, std::span<const ShardPlan> plans,
                              std::span<const size_t> shared, std::span<const int> writers,
                              bool fsync) {
  WriteShardsMessage message{.fsync = fsync, .shards = {}};
  std::map<const RowTable*, std::vector<int64_t>> rows;  // of tables that are stored by rows
  for (const size_t place : shared) {
    WriteShardsMessage::Shard shard{.file = BaseName(plans[place].path),
                                    .writer = writers[message.shards.size() % writers.size()],
                                    .entries = {}};
    for (const NamedTensor* const named : plans[place].tensors) {
      const SharedEntry entry = KnownEntry(store, named->name);
      const auto [found, is_new] = rows.try_emplace(entry.table);
      const bool is_whole = entry.form == SharedEntry::Form::kWhole;
      if (is_new && !is_whole) found->second = SavedKeys(plans, *entry.table);
      shard.entries.push_back({.name = named->name, .ends = EndsOf(entry, found->second)});
    }
    message.shards.push_back(std::move(shard));
  }
  return message;
}

}  // namespace

WriteElsewhereFn OwnersWrite(hosts::Group& group, const VariableStore& store,
                             const std::string& model_dir, bool fsync) {
  return [&group, &store, model_dir, fsync](std::span<const ShardPlan> plans) {
    const std::vector<size_t> shared = SharedShards(store, plans);
    if (shared.empty()) return Written();
    const std::vector<int> writers = Writers(group, model_dir);
    if (writers.size() == 1) return Written();
    const WriteShardsMessage message = DealShards(store, plans, shared, writers, fsync);
    SendControl(group, message);
    const OwnShards own = WriteTogether(group, message, store, model_dir);
    std::vector<std::deque<std::vector<StoredValues>>> stored = TakeReports(group, message, own);
    Written written;
    for (size_t i = 0; i < shared.size(); ++i) {
      auto& of_writer = stored[static_cast<size_t>(message.shards[i].writer)];
      written[shared[i]] = std::move(of_writer.front());
      of_writer.pop_front();
    }
    return written;
  };
}

bool AnswerOfShards(hosts::Group& group, const ControlMessage& message, const VariableStore& store,
                    const std::string& model_dir) {
  if (const auto* const sees = std::get_if<SeesFolderMessage>(&message)) {
    MessageWriter report;
    report.Number(SeesFolder(model_dir, *sees));
    group.Send(0, hosts::Channel::kReports, report.bytes());
    return true;
  }
  const auto* const shards = std::get_if<WriteShardsMessage>(&message);
  if (shards == nullptr) return false;
  group.Send(0, hosts::Channel::kReports,
             ReportOf(WriteTogether(group, *shards, store, model_dir)));
  return true;
}

}  // namespace tpuest
