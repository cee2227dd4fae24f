#include "core/backend/cpu/exchange/row_fetch.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "core/backend/rows/row_message.h"
#include "core/base/error.h"

namespace tpuest {
namespace {

// Entries [begin, end) of the list of rows requested from a table.
struct RowRun {
  size_t table = 0;
  size_t begin = 0;
  size_t end = 0;
};

// Divides the requested rows into pieces. `rows` and the bytes of a row are by table.
std::vector<std::vector<RowRun>> PiecesOf(std::span<const size_t> rows,
                                          std::span<const size_t> bytes) {
  std::vector<std::vector<RowRun>> pieces;
  size_t room = 0;
  for (size_t table = 0; table < rows.size(); ++table) {
    for (size_t begin = 0; begin < rows[table];) {
      if (room < bytes[table]) {
        pieces.emplace_back();
        room = std::max(kExchangedBytes, bytes[table]);
      }
      const size_t end = std::min(rows[table], begin + room / bytes[table]);
      pieces.back().push_back({.table = table, .begin = begin, .end = end});
      room -= (end - begin) * bytes[table];
      begin = end;
    }
  }
  return pieces;
}

// The tables of the jobs without duplicates, in an order that is the same in every process.
std::vector<RowTable*> TablesOf(const std::vector<FetchJob>& jobs) {
  std::vector<RowTable*> tables;
  for (const FetchJob& job : jobs) {
    Check(job.rows->column == 0, "remote rows are fetched only for weights");
    RowTable* const table = job.rows->table.get();
    if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
  }
  return tables;
}

// Skips rows outside of the table; the lookup itself refuses them.
template <class T>
void AddRemoteRows(const void* ids, int64_t n, RowTable& table) {
  const T* const numbers = static_cast<const T*>(ids);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = numbers[i];
    if (row >= 0 && row < table.rows() && !table.IsOwn(row)) table.AddRemote(row);
  }
}

// Only in the chief, while its peers wait for a control message.
void AskOwners(RowTable& table) {
  RemoteRows& remote = table.remote();
  if (remote.rows.empty()) return;
  const std::vector<bool> written =
      table.owners()->Read(table.variables().front().name, table.rows(), remote.rows, table.width(),
                           remote.values.data());
  std::copy(written.begin(), written.end(), remote.written.begin());
}

}  // namespace

// The fetch of one phase. Several fetches may be in transit at a time.
class RowFetches::Fetch {
 public:
  Fetch(const std::vector<FetchJob>& jobs, int replicas, const AtFn& at, Collective* collective)
      : jobs_(jobs), replicas_(replicas), at_(at), collective_(collective) {}

  void Ask();
  // Answers the peers if all questions have arrived; one thread at a time. Returns whether the
  // peers are answered.
  bool AnswerIfAsked();
  // Waits for the peers' questions and answers them.
  void Answer();
  void Take();
  void ReleaseRemote() const;

 private:
  // A table, and the positions of each owner's rows among its remote rows.
  struct Asked {
    RowTable* table = nullptr;
    std::vector<std::vector<uint32_t>> of_owner;
  };
  [[nodiscard]] Asked AskedOf(RowTable* table) const;
  void GiveQuestion(int owner) const;
  // Takes a process's question: the requested rows by table.
  [[nodiscard]] std::vector<std::vector<int64_t>> TakeQuestion(int rank) const;
  void AnswerAll();
  void TakeAnswer(int owner) const;
  // The number of rows of each table that this process requests from an owner.
  [[nodiscard]] std::vector<size_t> CountsFor(int owner) const;
  [[nodiscard]] std::vector<size_t> AnswerBytes() const;

  const std::vector<FetchJob>& jobs_;
  const int replicas_;
  const AtFn at_;
  Collective* const collective_;
  std::vector<Asked> asked_;            // the partitioned tables
  std::atomic<bool> is_asked_ = false;  // questions are sent; the peers are not yet answered
  std::mutex answering_;
};

RowFetches::Fetch::Asked RowFetches::Fetch::AskedOf(RowTable* table) const {
  for (const FetchJob& job : jobs_) {
    if (job.rows->table.get() != table) continue;
    for (int r = 0; r < (job.is_shared ? 1 : replicas_); ++r) {
      const void* const ids = at_(job.ids, r);
      if (job.dtype == DType::kInt64) {
        AddRemoteRows<int64_t>(ids, job.elements, *table);
      } else {
        AddRemoteRows<int32_t>(ids, job.elements, *table);
      }
    }
  }
  RemoteRows& remote = table->remote();
  remote.Resize(table->width());
  const RowOwners& owners = *table->owners();
  Asked asked{table, std::vector<std::vector<uint32_t>>(static_cast<size_t>(owners.processes()))};
  for (size_t i = 0; i < remote.rows.size(); ++i) {
    const int owner = owners.OwnerOf(remote.rows[i], table->rows());
    asked.of_owner[static_cast<size_t>(owner)].push_back(static_cast<uint32_t>(i));
  }
  return asked;
}

void RowFetches::Fetch::Ask() {
  asked_.clear();
  for (RowTable* const table : TablesOf(jobs_)) {
    if (table->is_dealt()) asked_.push_back(AskedOf(table));
  }
  if (asked_.empty() || collective_ == nullptr) return;
  for (const int owner : collective_->others()) GiveQuestion(owner);
  is_asked_ = true;
}

std::vector<size_t> RowFetches::Fetch::CountsFor(int owner) const {
  std::vector<size_t> counts;
  for (const Asked& asked : asked_) {
    counts.push_back(asked.of_owner[static_cast<size_t>(owner)].size());
  }
  return counts;
}

std::vector<size_t> RowFetches::Fetch::AnswerBytes() const {
  std::vector<size_t> bytes;
  for (const Asked& asked : asked_) bytes.push_back(BytesOfPutRow(asked.table->width()));
  return bytes;
}

void RowFetches::Fetch::GiveQuestion(int owner) const {
  const std::vector<size_t> counts = CountsFor(owner);
  const std::vector<size_t> bytes(counts.size(), sizeof(int64_t));
  MessageWriter piece;
  piece.Numbers(counts.data(), counts.size());
  for (const std::vector<RowRun>& runs : PiecesOf(counts, bytes)) {
    for (const RowRun& run : runs) {
      const Asked& asked = asked_[run.table];
      const std::vector<uint32_t>& places = asked.of_owner[static_cast<size_t>(owner)];
      for (size_t i = run.begin; i < run.end; ++i) {
        piece.Number(asked.table->remote().rows[places[i]]);
      }
    }
    collective_->GiveTo(owner, piece.Take());
  }
  if (!piece.bytes().empty()) collective_->GiveTo(owner, piece.bytes());
}

std::vector<std::vector<int64_t>> RowFetches::Fetch::TakeQuestion(int rank) const {
  std::string piece = collective_->TakeFrom(rank);
  MessageReader reader(piece);
  std::vector<size_t> counts(asked_.size());
  reader.Numbers(counts.data(), counts.size());
  std::vector<std::vector<int64_t>> rows(counts.size());
  const std::vector<size_t> bytes(counts.size(), sizeof(int64_t));
  for (const std::vector<RowRun>& runs : PiecesOf(counts, bytes)) {
    if (reader.is_at_end()) {
      collective_->Reuse(std::move(piece));
      piece = collective_->TakeFrom(rank);
      reader = MessageReader(piece);
    }
    for (const RowRun& run : runs) {
      rows[run.table].resize(run.end);
      reader.Numbers(rows[run.table].data() + run.begin, run.end - run.begin);
    }
  }
  collective_->Reuse(std::move(piece));
  return rows;
}

bool RowFetches::Fetch::AnswerIfAsked() {
  if (!is_asked_) return true;
  const std::unique_lock lock(answering_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  if (is_asked_ && collective_->IsThereOfAll()) AnswerAll();
  return !is_asked_;
}

void RowFetches::Fetch::Answer() {
  const std::lock_guard lock(answering_);
  if (is_asked_) AnswerAll();
}

// Sends the k-th pieces of all answers before the next ones, so that no process waits for another's
// complete answer.
void RowFetches::Fetch::AnswerAll() {
  const std::vector<size_t> bytes = AnswerBytes();
  struct Question {
    int of = 0;
    std::vector<std::vector<int64_t>> rows;  // by table
    std::vector<std::vector<RowRun>> pieces;
  };
  std::vector<Question> questions;
  size_t most_pieces = 0;
  for (const int other : collective_->others()) {
    Question question{.of = other, .rows = TakeQuestion(other), .pieces = {}};
    std::vector<size_t> counts;
    for (const std::vector<int64_t>& rows : question.rows) counts.push_back(rows.size());
    question.pieces = PiecesOf(counts, bytes);
    most_pieces = std::max(most_pieces, question.pieces.size());
    questions.push_back(std::move(question));
  }
  for (size_t k = 0; k < most_pieces; ++k) {
    for (const Question& question : questions) {
      if (k >= question.pieces.size()) continue;
      MessageWriter piece;
      for (const RowRun& run : question.pieces[k]) {
        PutRows(piece, *asked_[run.table].table, 0,
                std::span(question.rows[run.table]).subspan(run.begin, run.end - run.begin));
      }
      collective_->GiveTo(question.of, piece.bytes());
    }
  }
  is_asked_ = false;
}

void RowFetches::Fetch::Take() {
  for (const Asked& asked : asked_) {
    if (collective_ == nullptr) AskOwners(*asked.table);
  }
  if (asked_.empty() || collective_ == nullptr) return;
  for (const int owner : collective_->others()) TakeAnswer(owner);
}

void RowFetches::Fetch::TakeAnswer(int owner) const {
  for (const std::vector<RowRun>& runs : PiecesOf(CountsFor(owner), AnswerBytes())) {
    std::string piece = collective_->TakeFrom(owner);
    MessageReader reader(piece);
    for (const RowRun& run : runs) {
      const Asked& asked = asked_[run.table];
      const std::vector<uint32_t>& places = asked.of_owner[static_cast<size_t>(owner)];
      TakeRows(reader, run.end - run.begin, asked.table->width(), asked.table->remote(),
               [&](size_t i) { return size_t{places[run.begin + i]}; });
    }
    collective_->Reuse(std::move(piece));
  }
}

void RowFetches::Fetch::ReleaseRemote() const {
  for (const FetchJob& job : jobs_) job.rows->table->ReleaseRemote();
}

RowFetches::RowFetches(std::vector<const PhaseFetches*> phases, int replicas, const AtFn& at,
                       Collective* collective)
    : phases_(std::move(phases)) {
  for (const PhaseFetches* const phase : phases_) {
    fetches_.push_back(phase->jobs.empty()
                           ? nullptr
                           : std::make_unique<Fetch>(phase->jobs, replicas, at, collective));
  }
}

RowFetches::~RowFetches() = default;

// Messages arrive in order: earlier answers are taken before another exchange begins.
void RowFetches::Prepare(size_t phase, bool gives) {
  const std::vector<size_t>& asks = phases_[phase]->asks;
  if (gives || !asks.empty() || fetches_[phase] != nullptr) TakeAll();
  for (const size_t of : asks) {
    fetches_[of]->Ask();
    asked_.push_back(fetches_[of].get());
  }
  if (gives || std::find(asks.begin(), asks.end(), phase) != asks.end()) TakeAll();
}

void RowFetches::TakeAll() {
  for (Fetch* const fetch : asked_) fetch->Answer();
  for (Fetch* const fetch : asked_) fetch->Take();
  asked_.clear();
}

void RowFetches::AnswerIfAsked() {
  for (Fetch* const fetch : asked_) {
    if (!fetch->AnswerIfAsked()) return;
  }
}

void RowFetches::ReleaseRemote() const {
  for (const auto& fetch : fetches_) {
    if (fetch != nullptr) fetch->ReleaseRemote();
  }
}

}  // namespace tpuest
