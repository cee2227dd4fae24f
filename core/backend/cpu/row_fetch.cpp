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

// A table, and where among its guests the rows of each process are.
struct Asked {
  RowTable* table = nullptr;
  std::vector<std::vector<uint32_t>> of_owner;
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
void AddGuests(const void* ids, int64_t n, RowTable& table) {
  const T* const numbers = static_cast<const T*>(ids);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = numbers[i];
    if (row >= 0 && row < table.rows() && !table.IsOwn(row)) table.AddGuest(row);
  }
}

Asked AskedOf(RowTable* table, const std::vector<FetchJob>& jobs, int replicas, const AtFn& at) {
  for (const FetchJob& job : jobs) {
    if (job.rows->table.get() != table) continue;
    for (int r = 0; r < (job.is_shared ? 1 : replicas); ++r) {
      const void* const ids = at(job.ids, r);
      if (job.dtype == DType::kInt64) {
        AddGuests<int64_t>(ids, job.elements, *table);
      } else {
        AddGuests<int32_t>(ids, job.elements, *table);
      }
    }
  }
  GuestRows& guests = table->guests();
  guests.Resize(table->width());
  const RowOwners& owners = *table->owners();
  Asked asked{table, std::vector<std::vector<uint32_t>>(static_cast<size_t>(owners.processes()))};
  for (size_t i = 0; i < guests.rows.size(); ++i) {
    const int owner = owners.OwnerOf(guests.rows[i], table->rows());
    asked.of_owner[static_cast<size_t>(owner)].push_back(static_cast<uint32_t>(i));
  }
  return asked;
}

// For each owner of each table the rows that this process asks for.
std::vector<std::string> QuestionsOf(const std::vector<Asked>& all, size_t processes) {
  std::vector<std::string> questions;
  for (size_t owner = 0; owner < processes; ++owner) {
    MessageWriter question;
    std::vector<int64_t> rows;
    for (const Asked& asked : all) {
      rows.clear();
      for (const uint32_t at : asked.of_owner[owner])
        rows.push_back(asked.table->guests().rows[at]);
      question.List(rows);
    }
    questions.push_back(question.Take());
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
  return answer.Take();
}

void AskAll(const std::vector<Asked>& all, Collective& collective) {
  const auto processes = static_cast<size_t>(all.front().table->owners()->processes());
  std::vector<std::string> questions = collective.Exchange(QuestionsOf(all, processes));
  std::vector<std::string> own_answers;
  for (std::string& question : questions) {
    own_answers.push_back(question.empty() ? std::string() : AnswerTo(question, all));
    collective.Reuse(std::move(question));
  }
  std::vector<std::string> answers = collective.Exchange(own_answers);
  for (size_t owner = 0; owner < processes; ++owner) {
    MessageReader reader(answers[owner]);
    for (const Asked& asked : all) {
      const std::vector<uint32_t>& places = asked.of_owner[owner];
      TakeRows(reader, places.size(), asked.table->width(), asked.table->guests(),
               [&](size_t i) { return size_t{places[i]}; });
    }
    collective.Reuse(std::move(answers[owner]));
  }
}

// In the chief alone: the others are between two orders.
void AskOwners(RowTable& table) {
  GuestRows& guests = table.guests();
  if (guests.rows.empty()) return;
  const std::vector<bool> written =
      table.owners()->Read(table.variables().front().name, table.rows(), guests.rows, table.width(),
                           guests.values.data());
  std::copy(written.begin(), written.end(), guests.written.begin());
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
  for (const Asked& asked : all) AskOwners(*asked.table);
}

void LetGuestsGo(const std::vector<FetchJob>& jobs) {
  for (const FetchJob& job : jobs) job.rows->table->LetGuestsGo();
}

}  // namespace tpuest
