#include "core/estimator/group/group_rows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "core/backend/guest_rows.h"
#include "core/estimator/checkpoint/row_tables.h"

namespace tpuest {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

const RowTable& TableOf(const VariableStore& store, const std::string& variable) {
  const RowColumn* const rows = store.FindRows(variable);
  Check(rows != nullptr, "the chief asks for rows of {}, which has none here", variable);
  return *rows->table;
}

// The tables of which others have not got their rows, in the order of their weights' names.
std::vector<std::shared_ptr<RowTable>> Undealt(const VariableStore& store) {
  std::vector<std::shared_ptr<RowTable>> tables = store.tables();
  std::erase_if(tables, [](const auto& table) {
    return table->owners() == nullptr || table->is_dealt_out();
  });
  return tables;
}

// Rows on their way to their owners: of each its column, number and values. An empty piece is the
// last.
class Pieces {
 public:
  explicit Pieces(Group& group) : group_(group), of_owner_(static_cast<size_t>(group.size())) {}

  void Add(int owner, int column, int64_t row, std::span<const float> values) {
    Piece& piece = of_owner_[static_cast<size_t>(owner)];
    piece.columns.push_back(column);
    piece.rows.push_back(row);
    piece.values.insert(piece.values.end(), values.begin(), values.end());
    if (piece.values.size() * sizeof(float) >= kPieceBytes) Send(owner);
  }
  void End() {
    for (int owner = 1; owner < group_.size(); ++owner) {
      if (!of_owner_[static_cast<size_t>(owner)].rows.empty()) Send(owner);
      Send(owner);
    }
  }

 private:
  struct Piece {
    std::vector<int32_t> columns;
    std::vector<int64_t> rows;
    std::vector<float> values;
  };

  void Send(int owner) {
    const Piece piece = std::exchange(of_owner_[static_cast<size_t>(owner)], {});
    MessageWriter message;
    message.List(piece.columns);
    message.List(piece.rows);
    message.List(piece.values);
    group_.Send(owner, Channel::kOrders, message.bytes());
  }

  Group& group_;
  std::vector<Piece> of_owner_;
};

void TakePieces(Group& group, RowTable& table) {
  while (true) {
    const std::string bytes = group.Receive(0, Channel::kOrders);
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

std::vector<int64_t> GroupRows::Written(const std::string& table, int64_t first, int64_t n) {
  Check(group_.is_chief(), "a worker asks for rows of {} between steps", table);
  const std::lock_guard lock(mutex_);
  GiveOrder(group_, RowNumbersOrder{.table = table, .first = first, .count = n});
  std::vector<int64_t> all;
  for (int rank = 1; rank < group_.size(); ++rank) {
    const std::string report = group_.Receive(rank, Channel::kReports);
    const auto rows = MessageReader(report).List<int64_t>();
    const auto before = static_cast<int64_t>(all.size());
    all.insert(all.end(), rows.begin(), rows.end());
    std::inplace_merge(all.begin(), all.begin() + before, all.end());
  }
  return all;
}

std::vector<bool> GroupRows::Read(const std::string& variable, int64_t table_rows,
                                  std::span<const int64_t> rows, int64_t width, float* to) {
  Check(group_.is_chief(), "a worker asks for rows of {} that it was not told before", variable);
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
    GiveOrder(group_, rank, RowValuesOrder{.variable = variable, .rows = part.rows});
  }
  std::vector<bool> written(rows.size(), false);
  for (int rank = 1; rank < group_.size(); ++rank) {
    const Part& part = parts[static_cast<size_t>(rank)];
    if (part.rows.empty()) continue;
    const std::string report = group_.Receive(rank, Channel::kReports);
    MessageReader reader(report);
    GuestRows found;
    TakeRows(reader, part.rows, width, found);
    for (size_t i = 0; i < part.places.size(); ++i) {
      written[part.places[i]] = found.written[i];
      if (!found.written[i]) continue;
      std::copy_n(found.values.data() + static_cast<int64_t>(i) * width, width,
                  to + static_cast<int64_t>(part.places[i]) * width);
    }
  }
  return written;
}

// First which tables there are, with the seeds of what is drawn; then the rows of each.
void DealRows(Group& group, const VariableStore& store) {
  const std::vector<std::shared_ptr<RowTable>> tables = Undealt(store);
  MessageWriter listed;
  listed.Number(static_cast<uint64_t>(tables.size()));
  for (const std::shared_ptr<RowTable>& table : tables) {
    listed.Text(table->variables().front().name);
    listed.Number(table->seed());
  }
  group.Order(listed.bytes());
  for (const std::shared_ptr<RowTable>& table : tables) {
    Pieces pieces(group);
    const RowTable::PassOnFn send = std::bind_front(&Pieces::Add, &pieces);
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

void TakeRows(Group& group, const Graph& graph, VariableStore& store) {
  const std::string bytes = group.Receive(0, Channel::kOrders);
  MessageReader listed(bytes);
  std::map<std::string, uint64_t> seeds;
  for (auto left = listed.Number<uint64_t>(); left > 0; --left) {
    const std::string name(listed.Text());
    seeds[name] = listed.Number<uint64_t>();
  }
  MakeTables(graph, seeds, store);
  for (const auto& [name, seed] : seeds) {
    const RowColumn* const rows = store.FindRows(name);
    Check(rows != nullptr, "{} is kept by rows in process 0, and not here", name);
    rows->table->Deal(nullptr);
    TakePieces(group, *rows->table);
  }
}

bool AnswerOfRows(Group& group, const TrainOrder& order, const VariableStore& store) {
  MessageWriter report;
  if (const auto* const numbers = std::get_if<RowNumbersOrder>(&order)) {
    report.List(TableOf(store, numbers->table).OwnRows(numbers->first, numbers->count));
  } else if (const auto* const values = std::get_if<RowValuesOrder>(&order)) {
    const RowTable& table = TableOf(store, values->variable);
    PutRows(report, table.RowsFor(store.FindRows(values->variable)->column, values->rows),
            table.width());
  } else {
    return false;
  }
  group.Send(0, Channel::kReports, report.bytes());
  return true;
}

}  // namespace tpuest
