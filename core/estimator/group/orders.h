#pragma once
// What the chief of a group tells the processes that train beside it (core/hosts/group.h). A worker
// makes the steps that it is told to make, and runs the batches of evaluations and predictions, on
// its own replicas; all else is the chief's: where a run begins and ends, how steps fall into
// loops, hooks, events, checkpoints, when is evaluated and what comes of it.

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

// Training begins, or goes on at another place after a rollback.
struct StartOrder {
  uint64_t seed = 0;
  bool seeds_by_name = false;
  StreamPosition position;  // of the input
  std::map<std::string, Tensor> variables;
};

// Steps of one call of the step's program. Fewer are made where the last of them diverges, or where
// the next batch has another shape: in all processes alike.
struct StepsOrder {
  int64_t global_step = 0;  // before them
  int64_t steps = 0;
  StreamPosition after;  // the last one's batch: the worker's batches must end there, too
};

// A variable of which the devices of each process have a part comes home, in all of them.
struct CopyToHostOrder {
  std::string variable;
};

// The variables are compared: a worker reports its fingerprint.
struct CompareOrder {};

// An evaluation begins: the processes agree on its input, then come BatchOrders, then
// EndBatchesOrder, which may be before the input's end.
struct EvaluateOrder {
  uint64_t seed = 0;
  bool seeds_by_name = false;
  std::string label;  // EvaluateArgs::label
  // The variables: by name those that have the values of training's, and tables that are
  // training's by the names of their weights; and the others.
  std::vector<std::string> trained;
  std::map<std::string, Tensor> variables;
};

// A prediction begins, as an evaluation does.
struct PredictOrder {
  uint64_t seed = 0;
  bool seeds_by_name = false;
  std::map<std::string, Tensor> variables;
};

// The next batch of the evaluation or prediction that all processes run.
struct BatchOrder {
  StreamPosition after;  // where it ends: the worker leaves out those before it
};

// No batch of it comes any more.
struct EndBatchesOrder {};

// Of a table that the processes share (group_rows.h): the lines that a worker has for rows first ..
// first + count - 1, or how many it has of all; and what a variable has in these rows. It reports
// it.
struct RowRecordsOrder {
  std::string table;
  RowRecords what = RowRecords::kWritten;
  int64_t first = 0;
  int64_t count = 0;
};
struct CountLinesOrder {
  std::string table;
  RowRecords what = RowRecords::kWritten;
};
struct RowValuesOrder {
  std::string variable;
  std::vector<int64_t> rows;
};

// Whether a worker's model_dir is the chief's, which has just written the number there
// (shard_writers.h). It reports it.
struct SeesFolderOrder {
  uint64_t number = 0;
};

// All processes write data shards of a checkpoint together (shard_writers.h).
struct WriteShardsOrder {
  struct Entry {
    std::string name;
    std::vector<int64_t> ends;  // of its pieces, each the number of the row behind it
  };
  struct Shard {
    std::string file;  // its name in model_dir
    int writer = 0;
    std::vector<Entry> entries;
  };
  bool fsync = true;
  std::vector<Shard> shards;
};

// No row has changed so far (core/backend/rows/table_records.h: ForgetChanges).
struct ForgetChangesOrder {};

// The run is over.
struct EndOrder {
  int exit_code = 0;
};

using TrainOrder =
    std::variant<StartOrder, StepsOrder, CopyToHostOrder, CompareOrder, EvaluateOrder, PredictOrder,
                 BatchOrder, EndBatchesOrder, RowRecordsOrder, CountLinesOrder, RowValuesOrder,
                 SeesFolderOrder, WriteShardsOrder, ForgetChangesOrder, EndOrder>;

// To all workers, or to one.
void GiveOrder(hosts::Group& group, const TrainOrder& order);
void GiveOrder(hosts::Group& group, int rank, const TrainOrder& order);
// The next one; waits for it.
[[nodiscard]] TrainOrder TakeOrder(hosts::Group& group);

// In a worker: the answer to a CompareOrder.
void ReportVariables(hosts::Group& group, const std::map<std::string, Tensor>& variables);
// In the chief: compares the variables of all processes. Error kLost, in every process, that names
// the first one whose variables differ.
void CompareVariables(hosts::Group& group, const std::map<std::string, Tensor>& variables);

}  // namespace tpuest
