#pragma once
// The messages of a group's chief to the processes that train with it (core/hosts/group.h). A
// worker runs the requested steps, and the batches of evaluations and predictions, on its own
// replicas. The chief does everything else: where a run begins and ends, how steps form loops,
// hooks, events, checkpoints, when to evaluate and what follows from it.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/backend/rows/row_owners.h"
#include "core/estimator/contract/contract.h"
#include "core/hosts/group.h"

namespace tpuest {

// Training begins, or continues at another place after a rollback.
struct StartMessage {
  uint64_t seed = 0;
  bool seeds_by_name = false;
  StreamPosition position;  // of the input
  std::map<std::string, Tensor> variables;
};

// The steps of one call of the step's program. All processes make fewer if the last of them
// diverges, or if the next batch has another shape.
struct StepsMessage {
  int64_t global_step = 0;  // before these steps
  int64_t steps = 0;
  // at the end of the last batch; the worker's batches must end there as well
  StreamPosition after;
};

// All processes copy a variable to the host of which each process's devices hold a part.
struct CopyToHostMessage {
  std::string variable;
};

// Compares the variables: a worker reports its fingerprint.
struct CompareMessage {};

// An evaluation begins: the processes agree on its input, then come BatchMessages, then an
// EndBatchesMessage, possibly before the input's end.
struct EvaluateMessage {
  uint64_t seed = 0;
  bool seeds_by_name = false;
  std::string label;  // EvaluateArgs::label
  // The variables. trained: names of variables with the values of training, and of tables (by their
  // weights) that belong to training; variables: the others.
  std::vector<std::string> trained;
  std::map<std::string, Tensor> variables;
};

// A prediction begins, in the same way as an evaluation.
struct PredictMessage {
  uint64_t seed = 0;
  bool seeds_by_name = false;
  std::map<std::string, Tensor> variables;
};

// The next batch of the evaluation or prediction that all processes run.
struct BatchMessage {
  StreamPosition after;  // where the batch ends; the worker skips earlier batches
};

// The evaluation or prediction has no more batches.
struct EndBatchesMessage {};

// For a table that the processes share (group_rows.h): requests a worker's records of rows first ..
// first + count - 1, the number of its records, or the values of a variable in these rows. The
// worker reports them.
struct RowRecordsMessage {
  std::string table;
  RowRecords what = RowRecords::kWritten;
  int64_t first = 0;
  int64_t count = 0;
};
struct CountRecordsMessage {
  std::string table;
  RowRecords what = RowRecords::kWritten;
};
struct RowValuesMessage {
  std::string variable;
  std::vector<int64_t> rows;
};

// Asks whether a worker's model_dir is the chief's, which has just written this number there
// (shard_writers.h). The worker reports the answer.
struct SeesFolderMessage {
  uint64_t number = 0;
};

// All processes write data shards of a checkpoint together (shard_writers.h).
struct WriteShardsMessage {
  struct Entry {
    std::string name;
    std::vector<int64_t> ends;  // ends of its pieces, as the number of the row after each
  };
  struct Shard {
    std::string file;  // file name in model_dir
    int writer = 0;
    std::vector<Entry> entries;
  };
  bool fsync = true;
  std::vector<Shard> shards;
};

// Forgets all row changes so far (core/backend/rows/table_records.h: ForgetChanges).
struct ForgetChangesMessage {};

// The run is over.
struct EndMessage {
  int exit_code = 0;
};

using ControlMessage =
    std::variant<StartMessage, StepsMessage, CopyToHostMessage, CompareMessage, EvaluateMessage,
                 PredictMessage, BatchMessage, EndBatchesMessage, RowRecordsMessage,
                 CountRecordsMessage, RowValuesMessage, SeesFolderMessage, WriteShardsMessage,
                 ForgetChangesMessage, EndMessage>;

// Sends a message to all workers, or to one.
void SendControl(hosts::Group& group, const ControlMessage& message);
void SendControl(hosts::Group& group, int rank, const ControlMessage& message);
// Waits for the next message and returns it.
[[nodiscard]] ControlMessage ReceiveControl(hosts::Group& group);

// In a worker: answers a CompareMessage.
void ReportVariables(hosts::Group& group, const std::map<std::string, Tensor>& variables);
// In the chief: compares the variables of all processes. Throws Error kLost, in every process, with
// the first process whose variables differ.
void CompareVariables(hosts::Group& group, const std::map<std::string, Tensor>& variables);

}  // namespace tpuest
