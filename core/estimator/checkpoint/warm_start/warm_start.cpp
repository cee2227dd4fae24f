#include "core/estimator/checkpoint/warm_start/warm_start.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/backend/rows/row_table.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/objects/slot_names.h"
#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/checkpoint/warm_start/warm_start_source.h"
#include "core/estimator/checkpoint/warm_start/warm_start_variables.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"
#include "core/nn/optimizers/moving_average.h"
#include "core/nn/vocabulary_remap.h"
#include "core/ops/row_initial.h"

namespace tpuest {
namespace {

constexpr const char* kKey = "warm_start_from";

// "(784, 128)", "(3,)", "()": as Python prints a shape.
std::string PythonShape(const Shape& shape) {
  std::vector<std::string> dims;
  for (const int64_t dim : shape.dims()) dims.push_back(std::to_string(dim));
  return fmt::format("({}{})", Join(dims, ", "), dims.size() == 1 ? "," : "");
}

bool SameBut(const Shape& a, const Shape& b, int axis) {
  if (!a.known_rank() || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (i != axis && a.dim(i) != b.dim(i)) return false;
  }
  return true;
}

// Maps the rows or columns of one variable to those of the checkpoint by their words.
class MovedWords {
 public:
  // The arguments outlive this object.
  MovedWords(const Variable& variable, const VocabInfo& info, const OpRegistry& registry,
             const WarmStartHome& home)
      : variable_(variable), info_(info), registry_(registry), home_(home) {}

  [[nodiscard]] std::string Key() const {
    return fmt::format("{}.var_name_to_vocab_info.{}", kKey, variable_.name);
  }
  // Refuses sizes that differ from the variable's.
  void CheckSize(int axis) const {
    const int64_t size = variable_.shape.dim(axis);
    const int64_t words = info_.new_vocab_size + info_.num_oov_buckets;
    if (info_.axis == 0 ? size <= words : size == words) return;
    const std::string message =
        info_.axis == 0
            ? fmt::format(
                  "Trying to initialize {} additional rows after 0 rows have already been "
                  "initialized, which would exceed expected total row count of "
                  "new_row_vocab_size ({}) + num_row_oov_buckets ({}) = {}.",
                  size, info_.new_vocab_size, info_.num_oov_buckets, words)
            : fmt::format(
                  "Expected 2nd dim of shape to be new_col_vocab_size ({}) + "
                  "num_col_oov_buckets ({}) = {}, but received shape: {}",
                  info_.new_vocab_size, info_.num_oov_buckets, words, PythonShape(variable_.shape));
    throw Error(Code::kUsage, message, "new_vocab_size and num_oov_buckets are those of the column")
        .Key(Key());
  }

  // The old row or column of each new one; -1 for a new word.
  [[nodiscard]] std::vector<int64_t> OldPlaces(int axis, int64_t old_size,
                                               const std::string& tensor) const {
    const int64_t size = std::min(variable_.shape.dim(axis), info_.new_vocab_size);
    try {
      std::vector<std::string> words = ReadVocabulary(info_.new_vocab, -1);
      if (static_cast<int64_t>(words.size()) < size) {
        throw Error(Code::kData,
                    fmt::format("lookup table size must be larger than last new vocab entry's "
                                "line: {} has {} lines for {} words",
                                info_.new_vocab, words.size(), size));
      }
      words.resize(static_cast<size_t>(size));
      const std::vector<std::string> old = ReadVocabulary(info_.old_vocab, info_.old_vocab_size);
      if (static_cast<int64_t>(old.size()) > old_size) {
        throw Error(Code::kData,
                    fmt::format("{} has {} words, but tensor {} of the checkpoint has {}",
                                info_.old_vocab, old.size(), tensor, old_size),
                    "old_vocab_size: the number of words that it was trained with");
      }
      return MapVocabulary(words, old);
    } catch (Error& error) {
      throw std::move(error).Key(Key());
    }
  }

  // A tensor of the variable's shape from the backup initializer.
  [[nodiscard]] Tensor Backup() const {
    Graph graph(registry_);
    const nn::Initializer initializer = info_.backup_initializer.value_or(nn::ZerosInitializer{});
    ProgramSpec spec{.graph = &graph};
    spec.fetches = {
        nn::InitialValue(graph, variable_.name, variable_.dtype, variable_.shape, initializer)};
    VariableStore none;
    const std::unique_ptr<Program> program =
        home_.backend.Compile(spec, {.seed = home_.seed}, none);
    const StepFeeds nothing;
    return program->Run({&nothing, 1}).front().fetches.front().front().Clone();
  }

  // As above, for some rows.
  [[nodiscard]] RowDraw BackupRows() const {
    Graph graph(registry_);
    const nn::Initializer initializer = info_.backup_initializer.value_or(nn::ZerosInitializer{});
    const std::optional<RowDraw> draw = ops::RowDrawOf(
        nn::InitialValue(graph, variable_.name, variable_.dtype, variable_.shape, initializer),
        home_.seed);
    if (draw) return *draw;
    throw Error(
        Code::kUsage,
        fmt::format(
            "\"{}\" is kept by rows, and its backup_initializer cannot be computed row by row",
            variable_.name),
        "use a truncated_normal, random_normal, random_uniform, variance_scaling or constant")
        .Key(Key());
  }
  // The source of new words' values, for the logged table.
  [[nodiscard]] std::string_view BackupText() const {
    return info_.backup_initializer ? "from backup_initializer" : "zeros";
  }

 private:
  const Variable& variable_;
  const VocabInfo& info_;
  const OpRegistry& registry_;
  const WarmStartHome& home_;
};

// Takes the variables of a graph from a checkpoint, one by one.
class Starter {
 public:
  Starter(const WarmStartSettings& settings, const WarmStartSource& source, const Graph& graph,
          const WarmStartHome& home, const VariableStore& store)
      : settings_(settings), source_(source), graph_(graph), home_(home), store_(store) {}

  void Take(const Variable& variable) {
    if (variable.from_job) return Tell(variable, "the job's");
    const auto info = settings_.var_name_to_vocab_info.find(variable.name);
    const bool has_words = info != settings_.var_name_to_vocab_info.end();
    if (!has_words && !settings_.vars_to_warm_start) return;
    const auto entry = source_.Find(variable.name, PreviousOf(variable));
    if (!entry && TakeRows(variable, has_words ? &info->second : nullptr)) return;
    if (!entry) return Missing(variable);
    if (entry->dtype != variable.dtype) {
      return Mismatch(variable,
                      fmt::format("variable {} is {}, but in {} it is {}", variable.name,
                                  NameOf(variable.dtype), source_.prefix(), NameOf(entry->dtype)),
                      "start from a checkpoint of the same precision");
    }
    if (has_words) return Remap(variable, *entry, info->second);
    if (entry->shape != variable.shape) return WrongShape(variable, *entry);
    Set(variable, source_.Read(*entry), "loaded" + FromText(variable, *entry));
  }

  // The new values by name. Throws Error kCheckpoint that lists every variable without a value.
  [[nodiscard]] const std::vector<std::pair<std::string, Tensor>>& Finish() {
    if (!missing_.empty()) {
      faults_.insert(
          faults_.begin(),
          {fmt::format("Attempting to warm-start from an object-based checkpoint, but found that "
                       "the checkpoint did not contain values for all variables. The following "
                       "variables were missing: {{{}}}",
                       "'" + Join(missing_, "', '") + "'"),
           kWayOut,
           kKey,
           {},
           0});
    }
    if (!faults_.empty()) throw Error(Code::kCheckpoint, std::move(faults_));
    return values_;
  }

  // Writes the rows of tables that the checkpoint stores by rows.
  void StartTables(VariableStore& store) const {
    for (const StartedRows& start : tables_) {
      const RowColumn& rows = *store.tables().Find(start.variable->name);
      WriteRows(source_.reader(), start.source, rows, start.places);
      for (const int64_t row : start.new_rows) {
        std::vector<float> values(static_cast<size_t>(rows.table->width()));
        start.drawn.DrawRows(row, 1, rows.table->width(), values.data());
        rows.table->Write(rows.column, row, values.data());
      }
    }
  }

  [[nodiscard]] size_t started() const { return values_.size() + tables_.size(); }

  // One row per variable, in the order of the graph.
  [[nodiscard]] std::vector<WarmStartRow> Rows() const {
    std::vector<WarmStartRow> rows;
    for (const auto& variable : graph_.variables()) {
      if (variable->local) continue;
      const auto told = told_.find(variable->name);
      rows.push_back({variable->name, variable->shape, told == told_.end() ? "new" : told->second});
    }
    return rows;
  }

 private:
  // The materialized rows of a table in the checkpoint, and their new positions.
  struct StartedRows {
    const Variable* variable = nullptr;
    SavedRows source;
    std::vector<int64_t> places;    // new position of each row of the checkpoint; -1: none
    std::vector<int64_t> new_rows;  // rows of words that the checkpoint lacks
    RowVariable drawn;              // values of new_rows
  };

  // The variable's rows in the checkpoint; nullopt if the variable or the checkpoint is not stored
  // by rows.
  [[nodiscard]] std::optional<SavedRows> RowsOf(const Variable& variable) const {
    if (store_.tables().Find(variable.name) == nullptr) return std::nullopt;
    const std::string previous = PreviousOf(variable);
    SavedRows source{.table = {}, .variable = previous.empty() ? variable.name : previous};
    const std::string slot = variable.name.substr(variable.table.size());
    if (!source.variable.ends_with(slot)) return std::nullopt;
    source.table = source.variable.substr(0, source.variable.size() - slot.size());
    return HasRows(source_.reader(), source) ? std::optional(source) : std::nullopt;
  }

  // Starts the variable by rows if both it and the checkpoint are stored by rows; returns whether
  // it did.
  [[nodiscard]] bool TakeRows(const Variable& variable, const VocabInfo* info) {
    const std::optional<SavedRows> source = RowsOf(variable);
    if (!source) return false;
    StartedRows start{.variable = &variable,
                      .source = *source,
                      .places = RowNumbers(source_.reader(), *source),
                      .new_rows = {},
                      .drawn = {}};
    if (info != nullptr) {
      RemapRows(*info, start);
    } else {
      Tell(variable, fmt::format("{} rows loaded, the rest initial values", start.places.size()));
    }
    tables_.push_back(std::move(start));
    return true;
  }

  // Moves the rows of words in both vocabularies, and generates the rows that are missing.
  void RemapRows(const VocabInfo& info, StartedRows& start) {
    const Variable& variable = *start.variable;
    const MovedWords words(variable, info, graph_.registry(), home_);
    if (info.axis != 0) {
      throw Error(Code::kUsage,
                  fmt::format("\"{}\" is kept by rows, so its columns cannot move", variable.name),
                  "axis: 0")
          .Key(words.Key());
    }
    words.CheckSize(0);
    const int64_t size = variable.shape.dim(0);
    const std::vector<int64_t> from =
        words.OldPlaces(0, std::numeric_limits<int64_t>::max(), start.source.variable);
    std::unordered_map<int64_t, int64_t> to;
    for (int64_t row = 0; row < size; ++row) {
      const auto i = static_cast<size_t>(row);
      if (i < from.size() && from[i] >= 0) {
        to[from[i]] = row;
      } else {
        start.new_rows.push_back(row);
      }
    }
    int64_t loaded = 0;
    for (int64_t& place : start.places) {
      const auto found = to.find(place);
      place = found == to.end() ? -1 : found->second;
      loaded += place >= 0 ? 1 : 0;
    }
    start.drawn = {variable.name, words.BackupRows()};
    Tell(variable,
         fmt::format("{} of {} rows by vocabulary, {} new words {}, the rest initial values",
                     loaded, size, start.new_rows.size(), words.BackupText()));
  }

  static constexpr const char* kWayOut =
      "the names must match; tpuest inspect lists them. var_name_to_prev_var_name maps them, and "
      "on_mismatch: skip leaves the variable as it is";

  [[nodiscard]] std::string PreviousOf(const Variable& variable) const {
    const auto found = settings_.var_name_to_prev_var_name.find(variable.name);
    return found == settings_.var_name_to_prev_var_name.end() ? "" : found->second;
  }

  [[nodiscard]] std::string FromText(const Variable& variable,
                                     const WarmStartSource::Entry& entry) const {
    return PreviousOf(variable).empty() || entry.key == variable.name ? "" : " from " + entry.key;
  }

  void Tell(const Variable& variable, std::string text) { told_[variable.name] = std::move(text); }

  void Set(const Variable& variable, Tensor value, std::string text) {
    values_.emplace_back(variable.name, std::move(value));
    Tell(variable, std::move(text));
  }

  void Mismatch(const Variable& variable, std::string message, const std::string& hint) {
    if (settings_.on_mismatch == "skip") return Tell(variable, "skipped: " + message);
    faults_.push_back({std::move(message), hint, kKey, {}, 0});
  }

  void Missing(const Variable& variable) {
    const std::string previous = PreviousOf(variable);
    const std::string& name = previous.empty() ? variable.name : previous;
    if (source_.is_object_based() && settings_.on_mismatch != "skip") {
      missing_.push_back(name);
      return;
    }
    Mismatch(variable,
             fmt::format("Tensor {} is not found in {} checkpoint", name, source_.prefix()),
             kWayOut);
  }

  void WrongShape(const Variable& variable, const WarmStartSource::Entry& entry) {
    Mismatch(variable,
             fmt::format(
                 "Shape of variable {} ({}) doesn't match with shape of tensor {} ({}) from "
                 "checkpoint reader.",
                 variable.name, PythonShape(variable.shape), entry.key, PythonShape(entry.shape)),
             "on_mismatch: skip leaves the variable as it is; vars_to_warm_start selects the "
             "variables that start from the checkpoint; if rows stand for words that have moved, "
             "set var_name_to_vocab_info");
  }

  void Remap(const Variable& variable, const WarmStartSource::Entry& entry, const VocabInfo& info) {
    const MovedWords words(variable, info, graph_.registry(), home_);
    const int rank = variable.shape.rank();
    // The elements of a vector, such as a bias, count as its columns.
    const int axis = rank == 1 ? 0 : static_cast<int>(info.axis);
    if (rank == 0 || variable.dtype == DType::kString) {
      throw Error(
          Code::kUsage,
          fmt::format("Expected 2-dim shape, but received: {}", PythonShape(variable.shape)),
          "only rows or columns of a matrix can have a vocabulary")
          .Key(words.Key());
    }
    words.CheckSize(axis);
    if (!SameBut(entry.shape, variable.shape, axis)) return WrongShape(variable, entry);
    const int64_t size = variable.shape.dim(axis);
    const std::vector<int64_t> from = words.OldPlaces(axis, entry.shape.dim(axis), entry.key);
    const int64_t loaded =
        std::count_if(from.begin(), from.end(), [](int64_t i) { return i >= 0; });
    const Tensor value = RemapAxis(source_.Read(entry), words.Backup(), from, axis);
    Set(variable, value,
        fmt::format("{} of {} {} by vocabulary{}, the rest {}", loaded, size,
                    info.axis == 0 ? "rows" : "columns", FromText(variable, entry),
                    words.BackupText()));
  }

  const WarmStartSettings& settings_;
  const WarmStartSource& source_;
  const Graph& graph_;
  const WarmStartHome& home_;
  const VariableStore& store_;
  std::vector<std::pair<std::string, Tensor>> values_;
  std::vector<StartedRows> tables_;
  std::map<std::string, std::string> told_;  // outcomes by variable
  std::vector<std::string> missing_;
  std::vector<Fault> faults_;
};

void LogTable(const std::vector<WarmStartRow>& rows, size_t started, Log& log) {
  log.Info("Warm-started {} variables.", started);
  size_t name_width = 0;
  size_t shape_width = 0;
  for (const WarmStartRow& row : rows) {
    name_width = std::max(name_width, row.variable.size());
    shape_width = std::max(shape_width, row.shape.Text().size());
  }
  for (const WarmStartRow& row : rows) {
    log.Info("  {:<{}}  {:<{}}  {}", row.variable, name_width, row.shape.Text(), shape_width,
             row.outcome);
  }
}

// A shadow variable that was not started itself starts with its variable's value.
void StartShadows(const std::vector<std::pair<std::string, Tensor>>& values, const Graph& graph,
                  VariableStore& store) {
  const std::map<std::string, Tensor> started(values.begin(), values.end());
  for (const auto& variable : graph.variables()) {
    const std::string& shadow = variable->name;
    if (!shadow.ends_with(fmt::format("/{}", nn::kAverageSlot)) || started.contains(shadow)) {
      continue;
    }
    const auto owner = started.find(OwnerOfSlot(shadow));
    if (owner != started.end()) store.Set(shadow, owner->second);
  }
}

}  // namespace

std::vector<WarmStartRow> WarmStart(const WarmStartFrom& from, const Graph& graph,
                                    const WarmStartHome& home, VariableStore& store) {
  WarmStartSettings settings = SettingsOf(from);
  const std::string saved_model = SavedModelVariables(settings.ckpt_to_initialize_from);
  if (CheckpointExists(saved_model)) {
    home.log.Info("Warm-starting from a SavedModel");
    settings.ckpt_to_initialize_from = saved_model;
  }
  home.log.Info("Warm-starting with WarmStartSettings: {}", PythonText(settings));
  std::string prefix;
  try {
    prefix = ResolveCheckpoint(settings.ckpt_to_initialize_from);
  } catch (Error& error) {
    throw std::move(error).Key(kKey);
  }
  home.log.Info("Warm-starting from: {}", prefix);
  const std::vector<const Variable*> picked = PickVariables(settings, graph, home.log);
  const WarmStartSource source(prefix, graph, picked, home.dealt_by_mod);
  Starter starter(settings, source, graph, home, store);
  for (const Variable* const variable : picked) starter.Take(*variable);
  const auto& values = starter.Finish();
  for (const auto& [name, value] : values) store.Set(name, value);
  starter.StartTables(store);
  StartShadows(values, graph, store);
  std::vector<WarmStartRow> rows = starter.Rows();
  LogTable(rows, starter.started(), home.log);
  return rows;
}

}  // namespace tpuest
