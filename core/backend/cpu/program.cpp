// The CPU engine: runs a CpuPlan on a team of threads.
#include "core/backend/cpu/program.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <span>

#include "core/backend/collective.h"
#include "core/backend/cpu/arena.h"
#include "core/backend/cpu/fusion.h"
#include "core/backend/cpu/planner.h"
#include "core/backend/cpu/program_variables.h"
#include "core/backend/cpu/shared_sums.h"
#include "core/backend/cpu/sum.h"
#include "core/backend/cpu/update_gate.h"
#include "core/backend/threads.h"

namespace tpuest {
namespace {

constexpr int64_t kTaskElements = 1 << 15;  // of a large tensor, that one task computes

// The memory that string results point into; results keep it alive.
struct Strings {
  std::deque<std::string> made;
  std::vector<StringArena> fed;
  std::vector<StringArena> constant;
};

// The strings of the graph's constants, and of tables.
std::vector<StringArena> ConstantStrings(const Graph& graph) {
  std::vector<StringArena> arenas;
  for (const auto& node : graph.nodes()) {
    for (const auto& [name, attr] : node->attrs()) {
      const Tensor* const tensor = std::get_if<Tensor>(&attr);
      if (tensor != nullptr && tensor->arena() != nullptr) arenas.push_back(tensor->arena());
    }
  }
  return arenas;
}

class CpuProgram final : public Program {
 public:
  CpuProgram(const ProgramSpec& spec, const CompileOptions& options, VariableStore& variables)
      : options_(options),
        variables_(variables),
        here_(options.collective == nullptr ? ReplicaRange{0, options.replicas}
                                            : options.collective->share()),
        team_(options.threads),
        bound_(Bind(spec, options)) {
    ScheduleOptions schedule_options{options.replicas, options.cut_rows, {}};
    for (const FeedSpec& feed : spec.feeds) schedule_options.cut_feeds.push_back(feed.cut);
    const ProgramVariables of_program(variables);
    for (const auto& node : bound_.graph->nodes()) {
      schedule_options.asks.push_back(of_program.AsksForRows(*node));
      schedule_options.may_ask.push_back(of_program.MayAskForRows(*node));
      // A step that has no guard takes nothing back.
      schedule_options.row_updates.push_back(spec.guard.valid() && of_program.UpdatesRows(*node));
    }
    schedule_ = ScheduleGraph(bound_, schedule_options);
    plan_ = PlanProgram(bound_, schedule_, options, variables);
    for (const PhasePlan& phase : plan_.phases) {
      stages_.push_back(phase.work.Stages(options.threads));
    }
    constant_strings_ = ConstantStrings(*bound_.graph);
    writes_ = std::any_of(plan_.phases.begin(), plan_.phases.end(), IsOfUpdates);
    terms_ = {.here = here_,
              .blocks = static_cast<int>(schedule_.blocks),
              .at = [this](Buffer buffer, int replica, int block) {
                return AddressOf(buffer, replica, block);
              }};
    if (bound_.guard.valid() && writes_) {
      gate_.emplace(plan_, variables_, team_, options.collective);
    }
    guard_phase_ = GuardPhase();
    Allocate();
  }

  // Kernels read and write variables at the store's addresses, so values that a device has are
  // brought home first, and the device's copies are old when a program that writes returns.
  std::vector<StepResult> Run(std::span<const StepFeeds> steps) override {
    variables_.CopyToHost();
    if (gate_) gate_->BeginRun();
    std::vector<StepResult> results;
    for (const StepFeeds& feeds : steps) {
      results.push_back(RunStep(feeds));
      if (!results.back().applied) break;
    }
    if (writes_) variables_.NoteWrites();
    if (gate_) gate_->EndRun();
    return results;
  }

  [[nodiscard]] std::vector<Shape> fetch_shapes() const override {
    std::vector<Shape> shapes;
    for (const Value& fetch : bound_.fetches) shapes.push_back(fetch.shape());
    return shapes;
  }

  [[nodiscard]] MemoryUse memory() const override {
    const auto replicas = static_cast<size_t>(here_.count);
    return {plan_.constant_bytes, plan_.global_bytes, plan_.replica_bytes * replicas,
            plan_.block_bytes * static_cast<size_t>(team_.threads()),
            plan_.parts_bytes * replicas * static_cast<size_t>(schedule_.blocks)};
  }

 private:
  [[nodiscard]] bool GateAsksOthers() const { return gate_ && gate_->asks_others(); }
  // The phase on whose way to other processes goes what the guard is: the first that asks them for
  // something when it is known. None where nobody is asked, or the gate does it.
  [[nodiscard]] std::optional<size_t> GuardPhase() const {
    if (options_.collective == nullptr || !bound_.guard.valid()) return std::nullopt;
    if (GateAsksOthers()) return std::nullopt;
    const int known = schedule_.nodes[static_cast<size_t>(bound_.guard.node->id())].phase;
    for (size_t p = 0; p < plan_.phases.size(); ++p) {
      const PhasePlan& phase = plan_.phases[p];
      if (static_cast<int>(p) <= known) continue;
      if (phase.level >= Level::kGlobal && AsksOthers(phase)) return p;
      if (IsOfUpdates(phase)) break;
    }
    return std::nullopt;
  }

  static BoundGraph Bind(const ProgramSpec& spec, const CompileOptions& options) {
    BoundGraph bound = BindGraph(spec);
    if (options.fuse) return Fused(std::move(bound));
    return bound;
  }

  // Allocates everything in one piece: what all share, replicas, threads, and parts by replica and
  // block. Nothing is allocated after this but results and strings.
  void Allocate() {
    const auto replicas = static_cast<size_t>(here_.count);
    const auto threads = static_cast<size_t>(team_.threads());
    replicas_at_ = plan_.global_bytes;
    blocks_at_ = replicas_at_ + replicas * plan_.replica_bytes;
    parts_at_ = blocks_at_ + threads * plan_.block_bytes;
    const size_t parts = replicas * static_cast<size_t>(schedule_.blocks);
    arena_ = std::make_unique<Arena>(parts_at_ + parts * plan_.parts_bytes);
    bases_.assign(threads, std::vector<char*>(kFirstFeed + bound_.feeds.size(), nullptr));
    if (options_.collective != nullptr) shared_.emplace(plan_, *options_.collective, terms_);
    std::vector<const PhaseFetches*> fetches;
    for (const PhasePlan& phase : plan_.phases) fetches.push_back(&phase.fetches);
    fetches_.emplace(
        std::move(fetches), here_.count,
        [this](Buffer buffer, int replica) { return AddressOf(buffer, replica, 0); },
        options_.collective);
  }

  // Replicas are counted from this process's first one, here and below.
  [[nodiscard]] size_t IndexAmongAll(int replica) const {
    return static_cast<size_t>(here_.first) + static_cast<size_t>(replica);
  }
  [[nodiscard]] char* OfReplica(int replica) const {
    return arena_->data() + replicas_at_ + static_cast<size_t>(replica) * plan_.replica_bytes;
  }
  [[nodiscard]] char* OfThread(int thread) const {
    return arena_->data() + blocks_at_ + static_cast<size_t>(thread) * plan_.block_bytes;
  }
  [[nodiscard]] char* PartsOf(int replica, int block) const {
    const int64_t unit = replica * schedule_.blocks + block;
    return arena_->data() + parts_at_ + static_cast<size_t>(unit) * plan_.parts_bytes;
  }

  // Runs the phases in order. The guard is looked at once, before the first update; what updates of
  // rows wrote behind them, before the first other update; and what all wrote after the last: a
  // step that is not applied has changed nothing. Where the gate asks other processes it asks for
  // their guards, too: what rows were written meanwhile is taken back. Every process takes part in
  // what is asked for until all know that the step is not applied.
  StepResult RunStep(const StepFeeds& feeds) {
    CheckFeeds(feeds);
    feeds_ = &feeds;
    strings_ = std::make_shared<Strings>();
    strings_->constant = constant_strings_;
    step_ = variables_.Has("global_step")
                ? static_cast<uint64_t>(variables_.Get("global_step").AsDouble(0))
                : 0;
    StepResult result;
    bool guarded = false;
    bool gated = false;
    bool guard_holds = true;  // here
    const auto apply = [&](const std::string& not_finite) {
      result.not_finite = not_finite;
      result.applied = not_finite.empty();
    };
    // Once, between the updates of rows and the others.
    const auto pass_gate = [&] {
      if (!gate_ || !guarded || gated || !result.applied) return;
      gated = true;
      const UpdateGate::Found found = gate_->BeforeUpdates(
          [this](Buffer buffer) { return AddressOf(buffer, 0, 0); }, guard_holds);
      guard_holds = found.guard_holds;
      if (guard_holds) return apply(found.not_finite);
      result.applied = false;
    };
    for (size_t p = 0; p < plan_.phases.size(); ++p) {
      const PhasePlan& phase = plan_.phases[p];
      if (IsOfUpdates(phase) && !result.applied) continue;
      Prepare(p);
      if (IsOfUpdates(phase) && !guarded && bound_.guard.valid()) {
        guarded = true;
        if (GateAsksOthers()) {
          guard_holds = GuardIsFinite();
        } else {
          result.applied = guard_holds = GuardHoldsInAll();
        }
        if (guard_holds && gate_) gate_->BeforeRowUpdates();
      }
      if (phase.level == Level::kUpdate) pass_gate();
      if (IsOfUpdates(phase) && !(result.applied && guard_holds)) continue;
      RunPhase(p);
    }
    fetches_->ReleaseRemote();
    if (bound_.guard.valid() && !guarded) result.applied = GuardHoldsInAll();
    pass_gate();
    if (gate_ && guarded && result.applied) apply(gate_->AfterUpdates());
    if (plan_.counts_rows) variables_.EndStep(result.applied);
    for (size_t i = 0; i < bound_.fetches.size(); ++i) {
      result.fetches.push_back(Fetch(bound_.fetches[i], plan_.fetches[i]));
    }
    if (options_.collective != nullptr) GatherFetches(result);
    return result;
  }

  void CheckFeeds(const StepFeeds& feeds) const {
    Check(feeds.size() == bound_.feeds.size(), "{} feeds for {} placeholders", feeds.size(),
          bound_.feeds.size());
    for (size_t i = 0; i < feeds.size(); ++i) {
      const Value& placeholder = bound_.feeds[i];
      Check(static_cast<int>(feeds[i].size()) == options_.replicas);
      for (const Tensor& tensor : feeds[i]) {
        Check(tensor.dtype() == placeholder.dtype() && tensor.shape() == placeholder.shape(),
              "'{}' takes {} {}, fed with {} {}", placeholder.name(), NameOf(placeholder.dtype()),
              placeholder.shape().Text(), NameOf(tensor.dtype()), tensor.shape().Text());
      }
    }
  }

  // What the kernels of a phase need of others is there then. All that other processes need of this
  // one is on its way before anything of theirs is waited for.
  void Prepare(size_t index) {
    const PhasePlan& phase = plan_.phases[index];
    fetches_->Prepare(index, !phase.gathers.empty() || guard_phase_ == index);
    if (phase.level < Level::kGlobal) return;
    const auto at = [this](Buffer buffer, int replica) {
      return static_cast<char*>(const_cast<void*>(AddressOf(buffer, replica, 0)));
    };
    AddTerms(index);
    BeginGather(phase.gathers, here_, at, team_, options_.collective);
    const bool asks_for_guards = guard_phase_ == index;
    const bool guard_holds = asks_for_guards && GuardIsFinite();
    if (asks_for_guards) options_.collective->GiveWhetherHolds(guard_holds);
    if (shared_) shared_->Finish(index);
    EndGather(phase.gathers, here_, at, options_.collective);
    if (asks_for_guards) guards_hold_ = options_.collective->TakeWhetherHolds(guard_holds);
  }

  // A task of a kBlock phase is one block of one replica, on whichever thread takes it: all it
  // writes is its block's, its thread's, or its part. ForEach returns when all are done, which is
  // the only barrier.
  void RunPhase(size_t index) {
    const PhasePlan& phase = plan_.phases[index];
    const int blocks = static_cast<int>(schedule_.blocks);
    switch (phase.level) {
      case Level::kBlock:
        if (shared_ && shared_->OffersIn(index)) shared_->BeginOffers();
        team_.ForEach(here_.count * blocks, [&](int i, int thread) {
          RunBlock(index, i / blocks, i % blocks, thread);
          fetches_->AnswerIfAsked();
        });
        AddTerms(index);
        if (!phase.after_sums.empty()) RunReplicas(phase.after_sums);
        break;
      case Level::kReplica:
        RunReplicaStages(index);
        break;
      default:
        RunStages(index);
    }
  }

  // Run by run: as many rows as a phase takes at a time, and at the end what is left.
  void RunBlock(size_t index, int replica, int block, int thread) {
    const PhasePlan& phase = plan_.phases[index];
    const int64_t run_rows = schedule_.phases[index].run_rows;
    Task task = MakeTask(thread, replica, block);
    const size_t end = task.row_begin + task.rows;
    for (; task.row_begin < end; task.row_begin += task.rows) {
      task.rows = std::min(static_cast<size_t>(run_rows), end - task.row_begin);
      const auto& variants = phase.variant_rows;
      const auto variant = static_cast<size_t>(
          std::find(variants.begin(), variants.end(), static_cast<int64_t>(task.rows)) -
          variants.begin());
      const bool is_last = task.row_begin + task.rows >= end;
      if (is_last && shared_ && shared_->OffersIn(index)) {
        shared_->RunAndOffer(variant, task);
      } else {
        RunKernels(phase.kernels[variant], task);
      }
    }
  }

  // Runs what all replicas share, or the only one has: on all threads where that pays.
  void RunStages(size_t phase) {
    for (const Stage& stage : stages_[phase]) {
      if (!stage.shared) {
        RunTasks(stage, MakeTask(0, 0, 0));
        continue;
      }
      team_.ForEach(static_cast<int>(stage.tasks.size()), [&](int i, int thread) {
        const Task task = MakeTask(thread, 0, 0);
        for (const WorkPart& part : stage.tasks[static_cast<size_t>(i)]) part.Run(task);
      });
    }
  }

  void RunReplicaStages(size_t phase) {
    if (here_.count == 1) return RunStages(phase);
    team_.ForEach(here_.count, [&](int replica, int thread) {
      const Task task = MakeTask(thread, replica, 0);
      for (const Stage& stage : stages_[phase]) RunTasks(stage, task);
    });
  }

  static void RunTasks(const Stage& stage, const Task& task) {
    for (const WorkParts& parts : stage.tasks) {
      for (const WorkPart& part : parts) part.Run(task);
    }
  }

  void RunReplicas(const std::vector<Kernel>& kernels) {
    team_.ForEach(here_.count, [&](int replica, int thread) {
      RunKernels(kernels, MakeTask(thread, replica, 0));
    });
  }

  static void RunKernels(const std::vector<Kernel>& kernels, const Task& task) {
    for (const Kernel& kernel : kernels) kernel(task);
  }

  // bases_ is one list a thread, filled anew for each task; a Task points into it, so a thread has
  // one task at a time.
  Task MakeTask(int thread, int replica, int block) {
    const size_t fed = IndexAmongAll(replica);
    const auto t = static_cast<size_t>(thread);
    std::vector<char*>& bases = bases_[t];
    bases[kGlobalArena] = arena_->data();
    bases[kReplicaArena] = OfReplica(replica);
    bases[kBlockArena] = OfThread(thread);
    bases[kParts] = PartsOf(replica, block);
    bases[kSums] = PartsOf(replica, 0);
    for (size_t f = 0; f < feeds_->size(); ++f) {
      bases[kFirstFeed + f] = const_cast<char*>(static_cast<const char*>((*feeds_)[f][fed].raw()));
    }
    Task task;
    task.locations = plan_.locations.data();
    task.bases = bases.data();
    task.thread = thread;
    task.replica = here_.first + replica;
    task.replicas = options_.replicas;
    task.row_begin = static_cast<size_t>(block * schedule_.block_rows);
    task.rows = static_cast<size_t>(schedule_.RowsOf(block));
    task.batch_rows = static_cast<size_t>(schedule_.batch_rows);
    task.step = step_;
    task.seed = options_.seed;
    task.seeds_by_name = options_.seeds_by_name;
    task.strings = &strings_->made;
    return task;
  }

  // The place of a buffer for one replica (and, if it holds parts of a sum, one block), from
  // outside of a task.
  const void* AddressOf(Buffer buffer, int replica, int block) {
    const Task::Location& location = plan_.locations[static_cast<size_t>(buffer.id)];
    const size_t fed = IndexAmongAll(replica);
    const char* base = nullptr;
    switch (location.base) {
      case kAbsolute:
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the offset is an address
        return reinterpret_cast<const void*>(location.offset);
      case kGlobalArena:
        base = arena_->data();
        break;
      case kReplicaArena:
        base = OfReplica(replica);
        break;
      case kSums:
        block = 0;
        [[fallthrough]];
      case kParts:
        base = PartsOf(replica, block);
        break;
      default:
        Check(location.base >= kFirstFeed, "a block's buffer is read from outside");
        base = static_cast<const char*>(
            (*feeds_)[static_cast<size_t>(location.base - kFirstFeed)][fed].raw());
    }
    return base + location.offset;
  }

  // Adds what is here, in parallel over ranges of elements, which no thread count changes. Ranges
  // of all sums are one list of tasks, so that small sums do not wait for each other.
  void AddTerms(size_t phase) {
    const std::vector<SumJob>& sums = plan_.phases[phase].sums;
    const size_t added = shared_ ? shared_->Offered(phase) : 0;
    const int shared = shared_ ? shared_->parts() : 1;
    std::vector<std::pair<const SumJob*, std::pair<int, int64_t>>> tasks;
    for (const SumJob& sum : std::span(sums).subspan(added)) {
      const int results = sum.over_replicas ? shared : here_.count;
      for (int r = 0; r < results; ++r) {
        for (int64_t at = 0; at < sum.elements; at += kTaskElements) {
          tasks.push_back({&sum, {r, at}});
        }
      }
    }
    team_.ForEach(static_cast<int>(tasks.size()), [&](int i, int /*thread*/) {
      const auto& [sum, where] = tasks[static_cast<size_t>(i)];
      const int64_t end = std::min(where.second + kTaskElements, sum->elements);
      if (sum->over_replicas && shared_) {
        shared_->AddPart(phase, *sum, where.first, where.second, end);
      } else {
        RunSum(*sum, where.first, where.second, end);
      }
    });
    if (shared_) shared_->Give(phase);
  }

  void RunSum(const SumJob& sum, int replica, int64_t begin, int64_t end) {
    auto* const out = const_cast<void*>(AddressOf(sum.out, replica, 0));
    if (!sum.over_replicas) {
      TreeSum(
          sum.dtype, static_cast<int>(schedule_.blocks),
          [&](int b) { return AddressOf(sum.in, replica, b); }, out, begin, end);
      return;
    }
    // Blocks first: each replica's own tree is complete.
    if (sum.over_blocks) AddBlocks(terms_, sum, 0, here_.count, begin, end);
    TreeSum(
        sum.dtype, here_.count, [&](int r) { return AddressOf(sum.in, r, 0); }, out, begin, end);
  }

  // Every value of the replicas here is looked at: then the mean over all is finite too.
  bool GuardIsFinite() {
    bool is_finite = true;
    for (int r = 0; r < here_.count; ++r) {
      const Tensor value = CopyOut(bound_.guard, plan_.guard, r);
      is_finite = is_finite && std::isfinite(value.AsDouble(0));
    }
    return is_finite;
  }
  bool GuardHoldsInAll() {
    if (guard_phase_) return guards_hold_;
    const bool here = GuardIsFinite();
    return options_.collective == nullptr ? here : options_.collective->HoldsInAll(here);
  }

  // A result leaves as a copy: the next step writes over the arena. What all replicas share is
  // copied once, and the tensors of the others are the same one.
  std::vector<Tensor> Fetch(const Value& value, Buffer buffer) {
    const bool shared = IsShared(value);
    std::vector<Tensor> tensors;
    for (int r = 0; r < options_.replicas; ++r) {
      const bool is_there = r > 0 && (shared || r >= here_.count);
      tensors.push_back(is_there ? tensors[0] : CopyOut(value, buffer, r));
    }
    return tensors;
  }
  [[nodiscard]] bool IsShared(const Value& value) const {
    return schedule_.nodes[static_cast<size_t>(value.node->id())].result_level >= Level::kGlobal;
  }

  // Puts the fetches of the other processes' replicas into the chief's result: each sends those of
  // its own, one behind the other.
  void GatherFetches(StepResult& result) {
    std::string own;
    for (size_t i = 0; i < bound_.fetches.size(); ++i) {
      if (IsShared(bound_.fetches[i])) continue;
      Check(bound_.fetches[i].dtype() != DType::kString, "strings do not go between processes");
      for (int r = 0; r < here_.count; ++r) {
        const Tensor& tensor = result.fetches[i][static_cast<size_t>(r)];
        own.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
      }
    }
    if (own.empty()) return;
    const std::vector<std::string> all = options_.collective->Gather(own);
    for (size_t process = 1; process < all.size(); ++process) {
      PutFetches(all[process], static_cast<int>(process) * here_.count, result);
    }
  }
  void PutFetches(std::string_view from, int first, StepResult& result) const {
    for (size_t i = 0; i < bound_.fetches.size(); ++i) {
      const Value& value = bound_.fetches[i];
      if (IsShared(value)) continue;
      for (int r = 0; r < here_.count; ++r) {
        Tensor tensor(value.dtype(), value.shape());
        Check(tensor.bytes() <= from.size(), "results of another program were gathered");
        if (tensor.bytes() > 0) std::memcpy(tensor.raw(), from.data(), tensor.bytes());
        from.remove_prefix(tensor.bytes());
        result.fetches[i][static_cast<size_t>(first) + static_cast<size_t>(r)] = std::move(tensor);
      }
    }
  }

  // A string is copied as a view, so the result holds on to all memory that it may point into.
  Tensor CopyOut(const Value& value, Buffer buffer, int replica) {
    Tensor tensor(value.dtype(), value.shape());
    const void* const from = AddressOf(buffer, replica, 0);
    if (value.dtype() != DType::kString) {
      std::memcpy(tensor.raw(), from, tensor.bytes());
      return tensor;
    }
    for (const std::vector<Tensor>& feed : *feeds_) {
      for (const Tensor& fed : feed) {
        if (fed.arena() != nullptr) strings_->fed.push_back(fed.arena());
      }
    }
    const auto* const views = static_cast<const std::string_view*>(from);
    return Tensor::Views(value.shape(), {views, views + tensor.elements()}, strings_);
  }

  const CompileOptions options_;
  VariableStore& variables_;
  const ReplicaRange here_;  // all replicas, or this process's share of them
  ThreadTeam team_;
  BoundGraph bound_;
  Schedule schedule_;
  CpuPlan plan_;
  std::vector<std::vector<Stage>> stages_;  // by phase; they point into plan_
  std::unique_ptr<Arena> arena_;
  SumTerms terms_;
  std::optional<SharedSums> shared_;   // of sums with other processes
  std::optional<RowFetches> fetches_;  // of rows that others have
  size_t replicas_at_ = 0;
  size_t blocks_at_ = 0;
  size_t parts_at_ = 0;
  std::vector<std::vector<char*>> bases_;  // by thread
  const StepFeeds* feeds_ = nullptr;       // of the step that runs
  std::vector<StringArena> constant_strings_;
  bool writes_ = false;  // variables
  std::optional<UpdateGate> gate_;
  std::optional<size_t> guard_phase_;
  bool guards_hold_ = true;  // in all processes, once guard_phase_ is prepared
  std::shared_ptr<Strings> strings_;
  uint64_t step_ = 0;
};

class CpuBackend final : public Backend {
 public:
  std::unique_ptr<Program> Compile(const ProgramSpec& spec, const CompileOptions& options,
                                   VariableStore& variables) override {
    return std::make_unique<CpuProgram>(spec, options, variables);
  }
  [[nodiscard]] bool keeps_rows() const override { return true; }
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend() { return std::make_unique<CpuBackend>(); }

}  // namespace tpuest
