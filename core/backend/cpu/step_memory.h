#pragma once
// The memory in which the steps of a program compute.

#include <memory>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/cpu/arena.h"
#include "core/backend/cpu/compiled_program.h"

namespace tpuest {

// Owns that memory, in one piece, and knows where each buffer of the running step is. Replicas are
// counted from this process's first one.
class StepMemory {
 public:
  // Allocates what all replicas share, then replicas, threads, and parts of sums by replica and
  // block. The program outlives this.
  StepMemory(const CompiledProgram& program, int threads);

  // Sets the feeds of the step that runs now; they outlive it.
  void SetFeeds(const StepFeeds& feeds);
  [[nodiscard]] const StepFeeds& feeds() const { return *feeds_; }

  // Task::bases for one block of a replica. Each thread has one list, which its next call
  // overwrites: a thread runs one task at a time.
  [[nodiscard]] char* const* BasesFor(int thread, int replica, int block);

  // The address of a buffer for one replica and, if it holds parts of a sum, one block. For use
  // outside of tasks.
  [[nodiscard]] const void* At(Buffer buffer, int replica, int block = 0) const;
  // A copy of a value that is not of strings.
  [[nodiscard]] Tensor CopyOf(const Value& value, Buffer buffer, int replica) const;

  [[nodiscard]] MemoryUse use() const;

 private:
  // The feed's tensor of one replica.
  [[nodiscard]] const char* Fed(size_t feed, int replica) const;
  [[nodiscard]] char* OfReplica(int replica) const;
  [[nodiscard]] char* OfThread(int thread) const;
  [[nodiscard]] char* PartsOf(int replica, int block) const;

  const CompiledProgram& program_;
  const size_t threads_;
  // Offsets in the arena.
  const size_t replicas_at_;
  const size_t blocks_at_;
  const size_t parts_at_;
  const Arena arena_;
  std::vector<std::vector<char*>> bases_;  // by thread
  // By thread: the replica whose feeds are in bases_, or -1 if they are an earlier step's. A step
  // has about as many tasks as feeds, so that a task must not look at every feed.
  std::vector<int> fed_replicas_;
  const StepFeeds* feeds_ = nullptr;
};

}  // namespace tpuest
