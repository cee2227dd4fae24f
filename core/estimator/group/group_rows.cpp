#include "core/estimator/group/group_rows.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/backend/rows/row_message.h"
#include "core/backend/rows/table_records.h"
#include "core/estimator/checkpoint/rows/row_tables.h"

namespace tpuest {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

const RowTable& TableOf(const VariableStore& store, const std::string& variable) {
  const RowColumn* const rows = store.tables().Find(variable);
  Check(rows != nullptr, "the chief asks for rows of {}, which this process does not have",
        variable);
  return *rows->table;
}

// Returns the tables whose rows are not partitioned yet, in the order of their weights' names.
std::vector<std::shared_ptr<RowTable>> Undealt(const VariableStore& store) {
  std::vector<std::shared_ptr<RowTable>> tables = store.tables().all();
  std::erase_if(tables, [](const auto& table) {
    return table->owners() == nullptr || table->is_dealt_out();
  });
  return tables;
}

// Rows that are sent to their owner: column, number and values of each.
struct RowsPiece {
  std::vector<int32_t> columns;
  std::vector<int64_t> rows;
  std::vector<float> values;

  void Add(int column, int64_t row, std::span<const float> of_row) {
    columns.push_back(column);
    rows.push_back(row);
    values.insert(values.end(), of_row.begin(), of_row.end());
  }
  [[nodiscard]] size_t bytes() const { return values.size() * sizeof(float); }
  void Put(MessageWriter& message) const {
    message.List(columns);
    message.List(rows);
    message.List(values);
  }
};

// As above, for records.
struct LinesPiece {
  std::vector<int64_t> numbers;

  void Add(std::span<const int64_t> line) {
    numbers.insert(numbers.end(), line.begin(), line.end());
  }
  [[nodiscard]] size_t bytes() const { return numbers.size() * sizeof(int64_t); }
  void Put(MessageWriter& message) const { message.List(numbers); }
};

// Sends pieces to each owner; an empty piece is the last.
template <class Piece>
class PiecesByOwner {
 public:
  explicit PiecesByOwner(hosts::Group& group)
      : group_(group), of_owner_(static_cast<size_t>(group.size())) {}

  template <class... Values>
  void Add(int owner, const Values&... values) {
    Piece& piece = of_owner_[static_cast<size_t>(owner)];
    piece.Add(values...);
    if (piece.bytes() >= kPieceBytes) Send(owner);
  }
  void End() {
    for (int owner = 1; owner < group_.size(); ++owner) {
      if (of_owner_[static_cast<size_t>(owner)].bytes() > 0) Send(owner);
      Send(owner);
    }
  }

 private:
  void Send(int owner) {
    MessageWriter message;
    std::exchange(of_owner_[static_cast<size_t>(owner)], {}).Put(message);
    group_.Send(owner, hosts::Channel::kControl, message.bytes());
  }

  hosts::Group& group_;
  std::vector<Piece> of_owner_;
};

// Returns the tables whose rows are partitioned over the processes, by their weights; the same in
// all processes.
std::vector<std::string> SharedTables(const VariableStore& store) {
  std::vector<std::string> tables;
  for (const std::shared_ptr<RowTable>& table : store.tables().all()) {
    if (table->owners() != nullptr) tables.push_back(table->variables().front().name);
  }
  return tables;
}

// Returns the kinds of records that are kept for a table's rows.
std::vector<RowRecords> Watched(const VariableStore& store, const std::string& weights) {
  const bool is_counted = store.tables().counted().contains(weights);
  const bool is_noted = store.tables().noted().contains(weights);
  std::vector<RowRecords> watched;
  if (is_counted) watched.push_back(RowRecords::kSeen);
  if (is_counted && is_noted) watched.push_back(RowRecords::kSeenChanged);
  if (is_counted && is_noted) watched.push_back(RowRecords::kSeenGone);
  if (is_noted) watched.push_back(RowRecords::kChanged);
  return watched;
}

void TakePieces(hosts::Group& group, RowTable& table) {
  while (true) {
    const std::string bytes = group.Receive(0, hosts::Channel::kControl);
    MessageReader message(bytes);
    const auto columns = message.List<int32_t>();
    const auto rows = message.List<int64_t>();
    const auto values = message.List<float>();
    if (rows.empty()) return;
    const float* from = values.data();
    for (size_t i = 0; i < rows.size(); ++i, from += table.width()) {
      table.Write(columns[i], rows[i], from);
    }
  }
}

}  // namespace

std::vector<int64_t> GroupRows::Records(const std::string& table, RowRecords what, int64_t first,
                                        int64_t n) {
  Check(group_.is_chief(), "a worker asked for rows of {} between steps", table);
  const std::lock_guard lock(mutex_);
  SendControl(group_, RowRecordsMessage{.table = table, .what = what, .first = first, .count = n});
  std::vector<int64_t> all;
  for (int rank = 1; rank < group_.size(); ++rank) {
    const std::string report = group_.Receive(rank, hosts::Channel::kReports);
    all = MergedRecords(what, all, MessageReader(report).List<int64_t>());
  }
  return all;
}

int64_t GroupRows::CountRecords(const std::string& table, RowRecords what) {
  Check(group_.is_chief(), "a worker asked for rows of {} between steps", table);
  const std::lock_guard lock(mutex_);
  SendControl(group_, CountRecordsMessage{.table = table, .what = what});
  int64_t count = 0;
  for (int rank = 1; rank < group_.size(); ++rank) {
    const std::string report = group_.Receive(rank, hosts::Channel::kReports);
    count += MessageReader(report).Number<int64_t>();
  }
  return count;
}

void GroupRows::ForgetChanges() { SendControl(group_, ForgetChangesMessage()); }

std::vector<bool> GroupRows::Read(const std::string& variable, int64_t table_rows,
                                  std::span<const int64_t> rows, int64_t width, float* to) {
  Check(group_.is_chief(), "a worker asked for rows of {} that it did not announce", variable);
  struct Part {
    std::vector<int64_t> rows;
    std::vector<size_t> places;
  };
  std::vector<Part> parts(static_cast<size_t>(group_.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    Part& part = parts[static_cast<size_t>(OwnerOf(rows[i], table_rows))];
    part.rows.push_back(rows[i]);
    part.places.push_back(i);
  }
  const std::lock_guard lock(mutex_);
  for (int rank = 1; rank < group_.size(); ++rank) {
    const Part& part = parts[static_cast<size_t>(rank)];
    if (part.rows.empty()) continue;
    SendControl(group_, rank, RowValuesMessage{.variable = variable, .rows = part.rows});
  }
  std::vector<bool> written(rows.size(), false);
  for (int rank = 1; rank < group_.size(); ++rank) {
    const Part& part = parts[static_cast<size_t>(rank)];
    if (part.rows.empty()) continue;
    const std::string report = group_.Receive(rank, hosts::Channel::kReports);
    MessageReader reader(report);
    RemoteRows found{.rows = part.rows, .written = {}, .values = {}};
    found.Resize(width);
    TakeRows(reader, found.rows.size(), width, found, [](size_t i) { return i; });
    for (size_t i = 0; i < part.places.size(); ++i) {
      written[part.places[i]] = found.written[i] != 0;
      if (found.written[i] == 0) continue;
      std::copy_n(found.values.data() + static_cast<int64_t>(i) * width, width,
                  to + static_cast<int64_t>(part.places[i]) * width);
    }
  }
  return written;
}

// Sends the tables with the seeds of their initial values, then the rows of each table.
void DealRows(hosts::Group& group, const VariableStore& store) {
  const std::vector<std::shared_ptr<RowTable>> tables = Undealt(store);
  MessageWriter listed;
  listed.Number(static_cast<uint64_t>(tables.size()));
  for (const std::shared_ptr<RowTable>& table : tables) {
    listed.Text(table->variables().front().name);
    listed.Number(table->seed());
  }
  group.SendToWorkers(listed.bytes());
  for (const std::shared_ptr<RowTable>& table : tables) {
    PiecesByOwner<RowsPiece> pieces(group);
    const RowTable::PassOnFn send = [&pieces](int owner, int column, int64_t row,
                                              std::span<const float> values) {
      pieces.Add(owner, column, row, values);
    };
    if (const auto refill = std::exchange(table->refill, nullptr)) {
      table->PassOn(send);
      refill(*table);
      table->PassOn(nullptr);
    } else {
      table->Deal(send);
    }
    pieces.End();
  }
}

void TakeRows(hosts::Group& group, const Graph& graph, VariableStore& store) {
  const std::string bytes = group.Receive(0, hosts::Channel::kControl);
  MessageReader listed(bytes);
  std::map<std::string, uint64_t> seeds;
  for (auto left = listed.Number<uint64_t>(); left > 0; --left) {
    const std::string name(listed.Text());
    seeds[name] = listed.Number<uint64_t>();
  }
  MakeTables(graph, seeds, store);
  for (const auto& [name, seed] : seeds) {
    const RowColumn* const rows = store.tables().Find(name);
    Check(rows != nullptr, "{} is kept by rows in process 0, but not here", name);
    rows->table->Deal(nullptr);
    TakePieces(group, *rows->table);
  }
}

void DealLines(hosts::Group& group, VariableStore& store) {
  for (const std::string& weights : SharedTables(store)) {
    const RowTable& table = TableOf(store, weights);
    for (const RowRecords what : Watched(store, weights)) {
      PiecesByOwner<LinesPiece> pieces(group);
      const std::vector<int64_t> lines = OwnRecords(store.tables(), weights, what, 0, table.rows());
      const size_t numbers = NumbersOfRecord(what);
      for (size_t at = 0; at < lines.size(); at += numbers) {
        if (table.IsOwn(lines[at])) continue;
        pieces.Add(table.owners()->OwnerOf(lines[at], table.rows()),
                   std::span(lines).subspan(at, numbers));
      }
      pieces.End();
    }
    KeepOwnRecords(store.tables(), weights);
  }
}

void TakeLines(hosts::Group& group, VariableStore& store) {
  for (const std::string& weights : SharedTables(store)) {
    for (const RowRecords what : Watched(store, weights)) {
      while (true) {
        const std::string bytes = group.Receive(0, hosts::Channel::kControl);
        const auto lines = MessageReader(bytes).List<int64_t>();
        if (lines.empty()) break;
        PutRecords(store.tables(), weights, what, lines);
      }
    }
  }
}

bool AnswerOfRows(hosts::Group& group, const ControlMessage& message, VariableStore& store) {
  MessageWriter report;
  if (const auto* const asked = std::get_if<RowRecordsMessage>(&message)) {
    report.List(OwnRecords(store.tables(), asked->table, asked->what, asked->first, asked->count));
  } else if (const auto* const counted = std::get_if<CountRecordsMessage>(&message)) {
    report.Number(CountOwnRecords(store.tables(), counted->table, counted->what));
  } else if (std::holds_alternative<ForgetChangesMessage>(message)) {
    ForgetChanges(store.tables());
    return true;
  } else if (const auto* const values = std::get_if<RowValuesMessage>(&message)) {
    const RowTable& table = TableOf(store, values->variable);
    PutRows(report, table, store.tables().Find(values->variable)->column, values->rows);
  } else {
    return false;
  }
  group.Send(0, hosts::Channel::kReports, report.bytes());
  return true;
}

}  // namespace tpuest
