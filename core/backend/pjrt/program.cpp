#include "core/backend/pjrt/program.h"

#include <algorithm>
#include <cstring>

#include "core/backend/collective.h"
#include "core/backend/hlo/backend.h"

namespace tpuest {
namespace {

// The variables' copies on the devices, shared by the programs of one store: an evaluation finds
// the variables that training left on the same devices.
class DeviceVariables final : public VariableHolder {
 public:
  explicit DeviceVariables(PjrtClient& client) : client_(client) {}

  // All replicas hold the same value, so the first replica's is copied: from its first core, or
  // from the parts of all its cores. If the value is partitioned over the replicas, joins the parts
  // of all of them, including those of other processes.
  [[nodiscard]] Tensor Value(const std::string& name) const override {
    const Copies& copies = copies_.at(name);
    if (copies.partition.empty()) return copies.buffers.front()->ToHost();
    const auto cores = static_cast<size_t>(CoresOf(copies.partition));
    const size_t here = std::min(cores, copies.buffers.size());
    Tensor whole;
    for (size_t i = 0; i < here; ++i) {
      const Tensor own = copies.buffers[i]->ToHost();
      if (i == 0) whole = Tensor(own.dtype(), copies.shape);
      const std::vector<Tensor> parts =
          here < cores ? InAll(own, cores / here, *copies.collective) : std::vector<Tensor>{own};
      for (size_t process = 0; process < parts.size(); ++process) {
        const auto core = static_cast<int>(process * here + i);
        PutPaddedPart(parts[process], copies.partition, core, whole);
      }
    }
    return whole;
  }
  [[nodiscard]] bool OthersHavePartOf(const std::string& name) const override {
    const Copies& copies = copies_.at(name);
    return copies.buffers.size() < static_cast<size_t>(CoresOf(copies.partition));
  }

  // The devices of this process: numbers first, first + 1, ... among the devices of all processes
  // of `collective` (nullptr: a single process).
  struct Devices {
    int first = 0;
    int count = 0;
    Collective* collective = nullptr;
  };

  // Returns the variable's newest value on each of these devices, partitioned by `partition` over
  // the cores of each replica or over all replicas; uploads it if the copies are older or
  // partitioned otherwise. The store's version increases only when the host's value changes, so
  // newer copies left by programs keep it.
  [[nodiscard]] std::vector<PjrtBufferPtr>& Of(const std::string& name, const VariableStore& store,
                                               const Devices& devices, const Partition& partition) {
    const auto found = copies_.find(name);
    const auto count = static_cast<size_t>(devices.count);
    if (found != copies_.end() && found->second.buffers.size() >= count &&
        found->second.version == store.version(name) && found->second.partition == partition) {
      return found->second.buffers;
    }
    const Tensor& value = store.Get(name);  // copied to the host if these copies are newer
    Copies copies{.buffers = {},
                  .version = store.version(name),
                  .partition = partition,
                  .shape = value.shape(),
                  .collective = devices.collective};
    for (int device = 0; device < devices.count; ++device) {
      const int core = (devices.first + device) % CoresOf(partition);
      copies.buffers.push_back(
          client_.ToDevice(partition.empty() ? value : PaddedPart(value, partition, core), device));
    }
    return (copies_[name] = std::move(copies)).buffers;
  }

 private:
  struct Copies {
    std::vector<PjrtBufferPtr> buffers;  // by device
    uint64_t version = 0;  // of the store's value from which they were copied or computed
    Partition partition;
    Shape shape;                       // of the whole tensor
    Collective* collective = nullptr;  // connects the processes with the other parts
  };
  static int CoresOf(const Partition& partition) {
    int64_t cores = 1;
    for (const int64_t parts : partition) cores *= parts;
    return static_cast<int>(cores);
  }
  // This part and the corresponding parts of all other processes, by rank.
  static std::vector<Tensor> InAll(const Tensor& own, size_t processes, Collective& collective) {
    constexpr size_t kPieceBytes = size_t{16} << 20;
    std::vector<Tensor> all;
    for (size_t i = 0; i < processes; ++i) all.emplace_back(own.dtype(), own.shape());
    for (size_t at = 0; at < own.bytes(); at += kPieceBytes) {
      const std::string_view piece(static_cast<const char*>(own.raw()) + at,
                                   std::min(kPieceBytes, own.bytes() - at));
      const std::vector<std::string> pieces = collective.GatherInAll(piece);
      for (size_t i = 0; i < processes; ++i) {
        Check(pieces.at(i).size() == piece.size(), "process {} sent a part of another variable", i);
        std::memcpy(static_cast<char*>(all[i].raw()) + at, pieces[i].data(), piece.size());
      }
    }
    return all;
  }

  PjrtClient& client_;
  std::map<std::string, Copies> copies_;
};

// The copies of this store, made on first use.
std::shared_ptr<DeviceVariables> CopiesOf(PjrtClient& client, VariableStore& store) {
  auto copies = std::dynamic_pointer_cast<DeviceVariables>(store.holder());
  if (copies == nullptr) {
    store.CopyToHost();
    copies = std::make_shared<DeviceVariables>(client);
    store.LeaveWith(copies, {});
  }
  return copies;
}

// [stack, ...]
Shape StackedShape(const Shape& shape, int64_t stack) {
  std::vector<int64_t> dims = shape.dims();
  dims.insert(dims.begin(), stack);
  return Shape(dims);
}

// A compiled module with its state: variables that stay on the devices, and memory in which feeds
// are stacked.
class PjrtProgram final : public Program {
 public:
  PjrtProgram(PjrtClient& client, const ProgramSpec& spec, const CompileOptions& options,
              VariableStore& variables)
      : client_(client),
        variables_(variables),
        copies_(CopiesOf(client, variables)),
        collective_(options.collective),
        replicas_(options.replicas),
        here_(collective_ == nullptr ? ReplicaRange{0, replicas_} : collective_->share()),
        partitions_(options.partitions),
        loops_(!spec.targets.empty()),
        module_(LowerProgram(spec, options)),
        executable_(
            client.Compile(module_.text, {.replicas = options.replicas,
                                          .partitions = options.partitions,
                                          .of_all_processes = collective_ != nullptr,
                                          .is_deterministic = options.device.deterministic_ops})) {
    module_.text.clear();
    for (size_t i = 0; i < module_.variables.size(); ++i) {
      if (module_.assigned[i]) assigned_.push_back(module_.variables[i]);
    }
    if (!loops_) return;
    for (const size_t i : module_.feeds) {
      const FeedSpec& feed = spec.feeds[i];
      staged_.emplace_back(feed.placeholder.dtype(), StackedShape(feed.shape, module_.stack));
    }
  }

  // Calls the module, each time with as many steps as it takes, until all steps are run or the
  // guard stops one.
  std::vector<StepResult> Run(std::span<const StepFeeds> steps) override {
    std::vector<StepResult> results;
    while (!steps.empty() && (results.empty() || results.back().applied)) {
      const auto count = std::min(steps.size(), static_cast<size_t>(module_.stack));
      RunCall(steps.first(count), results);
      steps = steps.subspan(count);
    }
    return results;
  }

  [[nodiscard]] MemoryUse memory() const override { return {}; }
  [[nodiscard]] std::vector<Shape> fetch_shapes() const override { return module_.fetches; }
  [[nodiscard]] std::optional<int64_t> steps_per_call() const override { return module_.stack; }

 private:
  // Buffers by device (the cores of a replica are adjacent), then in the order of the module's
  // arguments or results.
  using Buffers = std::vector<std::vector<PjrtBufferPtr>>;

  // Runs at most module_.stack steps. The order of the arguments is LoweredModule's; the feeds'
  // buffers live until the results are computed.
  void RunCall(std::span<const StepFeeds> steps, std::vector<StepResult>& results) {
    const Buffers fed = Feed(steps);
    std::vector<std::vector<PjrtBuffer*>> arguments(fed.size());
    const auto take = [&](size_t device, const PjrtBufferPtr& buffer) {
      arguments[device].push_back(buffer.get());
    };
    for (size_t d = 0; d < fed.size(); ++d) {
      for (size_t i = 0; i < module_.feeds.size(); ++i) take(d, fed[d][i]);
      for (size_t i = 0; i < module_.variables.size(); ++i) take(d, CopiesOfVariable(i)[d]);
      if (loops_) take(d, fed[d].back());
    }
    if (collective_ != nullptr) collective_->DeviceBegins(std::ssize(steps));
    Buffers outputs = executable_->Execute(arguments);
    KeepVariables(outputs);
    Collect(outputs, results);
    if (collective_ != nullptr) collective_->DeviceEnds();
  }

  [[nodiscard]] int devices() const { return here_.count * partitions_; }
  [[nodiscard]] std::vector<PjrtBufferPtr>& CopiesOfVariable(size_t i) {
    return copies_->Of(
        module_.variables[i], variables_,
        {.first = here_.first * partitions_, .count = devices(), .collective = collective_},
        module_.variable_partitions[i]);
  }

  // The feeds of each local replica, stacked if the program loops, followed by the number of steps.
  [[nodiscard]] Buffers Feed(std::span<const StepFeeds> steps) {
    Buffers fed(static_cast<size_t>(devices()));
    for (int replica = 0; replica < here_.count; ++replica) {
      const size_t r = static_cast<size_t>(here_.first) + static_cast<size_t>(replica);
      const int first = replica * partitions_;
      for (size_t i = 0; i < module_.feeds.size(); ++i) {
        const Tensor& feed = loops_ ? Staged(steps, i, r) : steps.front()[module_.feeds[i]][r];
        FeedCores(feed, module_.partitions[i], first, fed);
      }
      if (!loops_) continue;
      FeedCores(Tensor::Scalar<int32_t>(static_cast<int32_t>(steps.size())), {}, first, fed);
    }
    return fed;
  }

  // Copies the tensor, or each core's part of it, to the cores of the replica whose first core is
  // `first`.
  void FeedCores(const Tensor& tensor, const Partition& partition, int first, Buffers& fed) {
    for (int core = 0; core < partitions_; ++core) {
      const int device = first + core;
      fed[static_cast<size_t>(device)].push_back(client_.ToDevice(
          partition.empty() ? tensor : PaddedPart(tensor, partition, core), device));
    }
  }

  // Stacks one argument's feeds of all steps. The rest of the stack keeps values of an earlier
  // call, which are not read.
  [[nodiscard]] const Tensor& Staged(std::span<const StepFeeds> steps, size_t argument,
                                     size_t replica) {
    Tensor& staged = staged_[argument];
    auto* to = static_cast<char*>(staged.raw());
    for (const StepFeeds& step : steps) {
      const Tensor& from = step[module_.feeds[argument]][replica];
      Check(from.bytes() * static_cast<size_t>(module_.stack) == staged.bytes(),
            "a feed is {}, not {}", from.shape().Text(), staged.shape().Text());
      std::memcpy(to, from.raw(), from.bytes());
      to += from.bytes();
    }
    return staged;
  }

  // The module may have put its results into the arguments' memory (aliases), so the new buffers
  // replace the old ones for every variable; only the variables that the module assigns are newer
  // than the host's.
  void KeepVariables(Buffers& outputs) {
    const size_t first = module_.fetches.size();
    for (size_t i = 0; i < module_.variables.size(); ++i) {
      auto& copies = CopiesOfVariable(i);
      for (size_t d = 0; d < outputs.size(); ++d) copies[d] = std::move(outputs[d][first + i]);
    }
    variables_.LeaveWith(copies_, assigned_);
  }

  // Reads the two numbers at the end, which are equal on all replicas, from the first replica, and
  // the fetches from the first core of each. Clones a step's rows out of the stack, which would
  // otherwise live as long as any of them. For replicas of other processes the chief receives the
  // fetches; a worker repeats those of its own first replica.
  void Collect(const Buffers& outputs, std::vector<StepResult>& results) const {
    int64_t made = 1;
    int32_t stop = 0;
    if (loops_) {
      const std::vector<PjrtBufferPtr>& first = outputs.front();
      made = *first[first.size() - 2]->ToHost().data<int32_t>();
      stop = *first.back()->ToHost().data<int32_t>();
    }
    const size_t begin = results.size();
    results.resize(begin + static_cast<size_t>(made));
    for (size_t i = 0; i < module_.fetches.size(); ++i) {
      for (size_t d = 0; d < outputs.size(); d += static_cast<size_t>(partitions_)) {
        const Tensor all = outputs[d][i]->ToHost();
        for (int64_t step = 0; step < made; ++step) {
          auto& fetches = results[begin + static_cast<size_t>(step)].fetches;
          fetches.resize(module_.fetches.size());
          fetches[i].push_back(
              loops_ ? all.Rows(step, step + 1).Reshaped(module_.fetches[i]).Clone() : all);
        }
      }
    }
    if (collective_ != nullptr) Gather(std::span(results).subspan(begin));
    results.back().applied = stop == 0;
    if (stop >= kStopVariable) {
      results.back().not_finite = module_.variables[static_cast<size_t>(stop - kStopVariable)];
    }
  }

  // Sends this process's fetches of all steps, concatenated, to the chief.
  void Gather(std::span<StepResult> results) const {
    std::string own;
    for (const StepResult& result : results) {
      for (const std::vector<Tensor>& fetch : result.fetches) {
        for (const Tensor& tensor : fetch) {
          own.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
        }
      }
    }
    const std::vector<std::string> all =
        own.empty() ? std::vector<std::string>() : collective_->Gather(own);
    std::vector<std::string_view> rest(all.begin(), all.end());
    for (StepResult& result : results) {
      for (std::vector<Tensor>& fetch : result.fetches) fetch = OfAll(std::move(fetch), rest);
    }
  }
  // A fetch of all replicas: `here` for the local ones, and the rest from the processes' messages.
  std::vector<Tensor> OfAll(std::vector<Tensor> here, std::span<std::string_view> rest) const {
    std::vector<Tensor> all(static_cast<size_t>(replicas_), here.front());
    for (size_t process = 0; process < rest.size(); ++process) {
      for (size_t r = 0; r < here.size(); ++r) {
        Tensor tensor(here.front().dtype(), here.front().shape());
        Check(tensor.bytes() <= rest[process].size(), "gathered results belong to another program");
        if (tensor.bytes() > 0) std::memcpy(tensor.raw(), rest[process].data(), tensor.bytes());
        rest[process].remove_prefix(tensor.bytes());
        all[process * here.size() + r] = std::move(tensor);
      }
    }
    if (rest.empty()) std::move(here.begin(), here.end(), all.begin() + here_.first);
    return all;
  }

  PjrtClient& client_;
  VariableStore& variables_;
  const std::shared_ptr<DeviceVariables> copies_;
  Collective* const collective_;
  const int replicas_;
  const ReplicaRange here_;  // the replicas of this process
  const int partitions_;
  const bool loops_;
  LoweredModule module_;
  std::vector<std::string> assigned_;
  std::unique_ptr<PjrtExecutable> executable_;
  std::vector<Tensor> staged_;  // by argument: the tensors that are copied to a device next
};

class PjrtBackend final : public Backend {
 public:
  explicit PjrtBackend(PjrtClient& client) : client_(client) {}
  std::unique_ptr<Program> Compile(const ProgramSpec& spec, const CompileOptions& options,
                                   VariableStore& variables) override {
    return std::make_unique<PjrtProgram>(client_, spec, options, variables);
  }

 private:
  PjrtClient& client_;
};

}  // namespace

std::unique_ptr<Backend> MakePjrtBackend(PjrtClient& client) {
  return std::make_unique<PjrtBackend>(client);
}

}  // namespace tpuest
