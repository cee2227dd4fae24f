#include "core/backend/cpu/row_fetch.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/backend/guest_rows.h"
#include "core/base/error.h"

namespace tpuest {
namespace {

using AtFn = std::function<const void*(Buffer, int replica)>;

// A table, and the rows of each process that this one asks for.
struct Asked {
  RowTable* table = nullptr;
  std::vector<std::vector<int64_t>> of_owner;
};

// The tables of the jobs, each once, in their order: in every process the same.
std::vector<RowTable*> TablesOf(const std::vector<FetchJob>& jobs) {
  std::vector<RowTable*> tables;
  for (const FetchJob& job : jobs) {
    Check(job.rows->column == 0, "others' rows are asked for of weights alone");
    RowTable* const table = job.rows->table.get();
    if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
  }
  return tables;
}

// A row that is outside of the table is left to the lookup, which says so.
template <class T>
void AddRows(const void* ids, int64_t n, const RowTable& table, std::vector<int64_t>& rows) {
  const T* const numbers = static_cast<const T*>(ids);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = numbers[i];
    if (row >= 0 && row < table.rows() && !table.IsOwn(row)) rows.push_back(row);
  }
}

Asked AskedOf(RowTable* table, const std::vector<FetchJob>& jobs, int replicas, const AtFn& at) {
  std::vector<int64_t> rows;
  for (const FetchJob& job : jobs) {
    if (job.rows->table.get() != table) continue;
    for (int r = 0; r < (job.is_shared ? 1 : replicas); ++r) {
      const void* const ids = at(job.ids, r);
      if (job.dtype == DType::kInt64) {
        AddRows<int64_t>(ids, job.elements, *table, rows);
      } else {
        AddRows<int32_t>(ids, job.elements, *table, rows);
      }
    }
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const RowOwners& owners = *table->owners();
  Asked asked{table, std::vector<std::vector<int64_t>>(static_cast<size_t>(owners.processes()))};
  for (const int64_t row : rows) {
    asked.of_owner[static_cast<size_t>(owners.OwnerOf(row, table->rows()))].push_back(row);
  }
  return asked;
}

// For each owner of each table the rows that this process asks for.
std::vector<std::string> QuestionsOf(const std::vector<Asked>& all, size_t processes) {
  std::vector<std::string> questions;
  for (size_t owner = 0; owner < processes; ++owner) {
    MessageWriter question;
    for (const Asked& asked : all) question.List(asked.of_owner[owner]);
    questions.push_back(question.bytes());
  }
  return questions;
}

// The rows that are asked for, table by table.
std::string AnswerTo(std::string_view question, const std::vector<Asked>& all) {
  MessageReader reader(question);
  MessageWriter answer;
  for (const Asked& asked : all) {
    PutRows(answer, asked.table->RowsFor(0, reader.List<int64_t>()), asked.table->width());
  }
  return answer.bytes();
}

void AskAll(const std::vector<Asked>& all, Collective& collective) {
  const auto processes = static_cast<size_t>(all.front().table->owners()->processes());
  const std::vector<std::string> questions = collective.Exchange(QuestionsOf(all, processes));
  std::vector<std::string> own_answers;
  for (const std::string& question : questions) {
    own_answers.push_back(question.empty() ? std::string() : AnswerTo(question, all));
  }
  const std::vector<std::string> answers = collective.Exchange(own_answers);
  std::vector<MessageReader> readers(answers.begin(), answers.end());
  for (const Asked& asked : all) {
    GuestRows guests;
    for (size_t owner = 0; owner < processes; ++owner) {
      TakeRows(readers[owner], asked.of_owner[owner], asked.table->width(), guests);
    }
    asked.table->SetGuests(std::move(guests));
  }
}

// In the chief alone: the others are between two orders.
void AskOwners(const Asked& asked) {
  RowTable& table = *asked.table;
  GuestRows guests;
  for (const std::vector<int64_t>& rows : asked.of_owner) {
    guests.rows.insert(guests.rows.end(), rows.begin(), rows.end());
  }
  if (guests.rows.empty()) return;
  guests.values.resize(guests.rows.size() * static_cast<size_t>(table.width()));
  guests.written = table.owners()->Read(table.variables().front().name, table.rows(), guests.rows,
                                        table.width(), guests.values.data());
  table.SetGuests(std::move(guests));
}

}  // namespace

void FetchRows(const std::vector<FetchJob>& jobs, int replicas, const AtFn& at,
               Collective* collective) {
  if (jobs.empty()) return;
  std::vector<Asked> all;
  for (RowTable* const table : TablesOf(jobs)) {
    if (table->is_dealt()) all.push_back(AskedOf(table, jobs, replicas, at));
  }
  if (all.empty()) return;
  if (collective != nullptr) return AskAll(all, *collective);
  for (const Asked& asked : all) AskOwners(asked);
}

void LetGuestsGo(const std::vector<FetchJob>& jobs) {
  for (const FetchJob& job : jobs) job.rows->table->SetGuests({});
}

}  // namespace tpuest
