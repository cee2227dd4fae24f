#pragma once
// Buffers assigns values to buffers, tracks their lifetimes, and finally places them in memory.

#include <map>
#include <utility>
#include <vector>

#include "core/backend/cpu/planner.h"

namespace tpuest {

class Buffers {
 public:
  Buffers(const BoundGraph& bound, const Schedule& schedule);

  // The buffer of a value; read or written by rows if `cut`.
  [[nodiscard]] Buffer Use(const Value& value, bool cut);
  // The buffer in which each block leaves its part of a sum over rows, and the buffer of the sum of
  // the parts. The latter is also the value's buffer, unless the value is bfloat16 (its parts are
  // float).
  [[nodiscard]] Buffer Part(const Value& value);
  [[nodiscard]] Buffer SumOfParts(const Value& value);
  [[nodiscard]] Buffer Address(const void* address);
  // Memory for one call, or with Touch for longer. `node` is the one being planned.
  [[nodiscard]] Buffer Scratch(size_t bytes, Level level, int phase, const Node& node);

  void SetFeed(const Value& value, int feed);
  void SetAddress(const Value& value, const void* address);
  // Notes that this node uses the buffer, or that it is used throughout this phase.
  void Touch(Buffer buffer, const Node& node);
  void TouchPhase(Buffer buffer, int phase);

  // Gives `out` the memory of `in`.
  void Merge(const Value& out, const Value& in);
  void ShareWithSum(const Value& out, const Value& in);
  // Merges `out` with the input if only `node` reads the input from here on.
  void ShareIfLastUse(const Value& out, const Node& node, int input);

  [[nodiscard]] int Readers(const Value& value) const;
  [[nodiscard]] bool IsRead(const Value& value) const;

  // Lays out all arenas, and fills the plan's locations and sizes.
  void Place(CpuPlan& plan);

 private:
  // The last position that reads a buffer, and the reading node; kMany if there are several.
  struct LastRead {
    static constexpr int kMany = -2;
    int position = -1;
    int node = -1;

    void Add(const LastRead& read) {
      if (read.position > position) {
        *this = read;
      } else if (read.position == position && read.node != node) {
        node = kMany;
      }
    }
    // True if only this node reads at its position or later.
    [[nodiscard]] bool IsBy(int at, int by) const {
      return position < at || (position == at && node == by);
    }
  };

  struct Info {
    int parent = -1;       // another buffer that this one is merged into
    int base = -1;         // kAbsolute, a feed, kParts or kSums; -1: an arena, not yet chosen
    int part = -1;         // the buffer of the parts, if this is their sum
    size_t offset = 0;     // address, if kAbsolute
    size_t bytes = 0;      // of the whole tensor
    size_t row_bytes = 0;  // of a row, if it is computed by rows
    Level level = Level::kGlobal;
    bool pinned = false;  // fetched: lives to the end
    LastRead last_read;
    int first = 0;  // positions between which its memory must be its own
    int last = -1;
  };

  int NewBuffer(Info info);
  [[nodiscard]] int Root(int id) const;
  Info& InfoOf(int id) { return infos_[static_cast<size_t>(Root(id))]; }
  int IdOf(const Value& value);
  void MergeIds(int from, int into);
  void Extend(int id, int first, int last);
  [[nodiscard]] int PositionOf(const Node& node) const;
  [[nodiscard]] int PhaseAt(int position) const;
  void TouchAll();
  void PlaceArena(CpuPlan& plan, int base, size_t& bytes);
  [[nodiscard]] int ArenaOf(const Info& info) const;

  const BoundGraph& bound_;
  const Schedule& schedule_;
  std::vector<int> positions_;   // by node id; -1: not in the program
  std::vector<int> phase_ends_;  // position after the last of each phase
  std::map<Value, int> readers_;
  std::map<Value, LastRead> last_reads_;
  std::map<Value, bool> pinned_;
  std::map<Value, int> ids_;
  std::map<Value, int> part_ids_;
  std::map<Value, int> sum_ids_;
  std::map<const void*, int> address_ids_;
  std::vector<Info> infos_;
};

}  // namespace tpuest
