#include "core/backend/cpu/step_memory.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace tpuest {
namespace {

// Parts of sums that a process keeps: one per block of its replicas.
size_t PartsIn(const CompiledProgram& program) {
  return static_cast<size_t>(program.here.count) * static_cast<size_t>(program.schedule.blocks);
}

}  // namespace

StepMemory::StepMemory(const CompiledProgram& program, int threads)
    : program_(program),
      threads_(static_cast<size_t>(threads)),
      replicas_at_(program.plan.global_bytes),
      blocks_at_(replicas_at_ +
                 static_cast<size_t>(program.here.count) * program.plan.replica_bytes),
      parts_at_(blocks_at_ + threads_ * program.plan.block_bytes),
      arena_(parts_at_ + PartsIn(program) * program.plan.parts_bytes),
      bases_(threads_, std::vector<char*>(kFirstFeed + program.bound.feeds.size(), nullptr)),
      fed_replicas_(threads_, -1) {}

void StepMemory::SetFeeds(const StepFeeds& feeds) {
  feeds_ = &feeds;
  std::fill(fed_replicas_.begin(), fed_replicas_.end(), -1);
}

const char* StepMemory::Fed(size_t feed, int replica) const {
  const size_t among_all = static_cast<size_t>(program_.here.first) + static_cast<size_t>(replica);
  return static_cast<const char*>((*feeds_)[feed][among_all].raw());
}
char* StepMemory::OfReplica(int replica) const {
  return arena_.data() + replicas_at_ + static_cast<size_t>(replica) * program_.plan.replica_bytes;
}
char* StepMemory::OfThread(int thread) const {
  return arena_.data() + blocks_at_ + static_cast<size_t>(thread) * program_.plan.block_bytes;
}
char* StepMemory::PartsOf(int replica, int block) const {
  const int64_t unit = replica * program_.schedule.blocks + block;
  return arena_.data() + parts_at_ + static_cast<size_t>(unit) * program_.plan.parts_bytes;
}

char* const* StepMemory::BasesFor(int thread, int replica, int block) {
  std::vector<char*>& bases = bases_[static_cast<size_t>(thread)];
  bases[kGlobalArena] = arena_.data();
  bases[kReplicaArena] = OfReplica(replica);
  bases[kBlockArena] = OfThread(thread);
  bases[kParts] = PartsOf(replica, block);
  bases[kSums] = PartsOf(replica, 0);
  int& fed_replica = fed_replicas_[static_cast<size_t>(thread)];
  if (fed_replica != replica) {
    for (size_t f = 0; f < feeds_->size(); ++f) {
      bases[kFirstFeed + f] = const_cast<char*>(Fed(f, replica));
    }
    fed_replica = replica;
  }
  return bases.data();
}

const void* StepMemory::At(Buffer buffer, int replica, int block) const {
  const Task::Location& location = program_.plan.locations[static_cast<size_t>(buffer.id)];
  const char* base = nullptr;
  switch (location.base) {
    case kAbsolute:
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the offset is an address
      return reinterpret_cast<const void*>(location.offset);
    case kGlobalArena:
      base = arena_.data();
      break;
    case kReplicaArena:
      base = OfReplica(replica);
      break;
    case kSums:
      base = PartsOf(replica, 0);
      break;
    case kParts:
      base = PartsOf(replica, block);
      break;
    default:
      Check(location.base >= kFirstFeed, "a block's buffer is read from outside");
      base = Fed(static_cast<size_t>(location.base - kFirstFeed), replica);
  }
  return base + location.offset;
}

Tensor StepMemory::CopyOf(const Value& value, Buffer buffer, int replica) const {
  Tensor tensor(value.dtype(), value.shape());
  std::memcpy(tensor.raw(), At(buffer, replica), tensor.bytes());
  return tensor;
}

MemoryUse StepMemory::use() const {
  const CpuPlan& plan = program_.plan;
  return {plan.constant_bytes, plan.global_bytes, blocks_at_ - replicas_at_, parts_at_ - blocks_at_,
          PartsIn(program_) * plan.parts_bytes};
}

}  // namespace tpuest
