// Assigns memory to every value, as little as the lifetimes allow.
//
// Input: the schedule, and the planner's calls for each value while it makes the kernels: a node
// uses it, it is a view of another value, it may share another value's memory. Output of Place: a
// location for each buffer id and the sizes of the arenas.
//
// Positions number the nodes of the program from first to last; the nodes of one stage share a
// position because they may run in parallel. A buffer lives from the first position that touches it
// to the last; a fetched buffer lives to the end of the step.
//
//   position    0    1    2    3    4
//   a = x * 2   ├─────────┤               only c reads a from 2 on, so c may share its memory
//   b = x * 3        ├────┤               (ShareIfLastUse): one buffer, from 0 to 4
//   c = a + b             ├─────────┤
//   d = x * 5                  ├────┤     gets the bytes of b: LayOut puts a buffer at the lowest
//   e = c + d                       ├──▶  offset that is free in its lifetime; e is fetched
//
// A buffer is at an address (constants, variables), in a feed, among the parts of sums over rows,
// or in an arena: a common one, one per replica, or one per thread. A block's value that lives in
// one phase only is in the thread's arena, with memory for one run; otherwise the whole value is in
// the replica's arena.
//
// Guarantees:
//   - Two buffers of an arena overlap only if their lifetimes share no position. Outside of the
//     threads' arenas, values that blocks write or that live across phases live for whole phases,
//     because other blocks and replicas may be at any position of these phases.
//   - Memory outside of the arenas is never shared for writing: only updates write variables.
//   - The running program allocates nothing.

#include "core/backend/cpu/buffers.h"

#include <algorithm>
#include <climits>

#include "core/backend/cpu/memory.h"

namespace tpuest {
namespace {

// The bytes of an element in a buffer: 0 for a resource, those of a view for a string.
size_t ElementBytes(DType dtype) {
  return dtype == DType::kString ? sizeof(std::string_view) : SizeOf(dtype);
}

size_t BytesOf(const Value& value) {
  return static_cast<size_t>(value.shape().elements()) * ElementBytes(value.dtype());
}

}  // namespace

Buffers::Buffers(const BoundGraph& bound, const Schedule& schedule)
    : bound_(bound), schedule_(schedule) {
  positions_.assign(bound.graph->nodes().size(), -1);
  int position = 0;
  for (const Phase& phase : schedule.phases) {
    ++position;  // a phase spans at least one position of its own
    int stage = -1;
    for (const Node* const node : phase.nodes) {
      const int next = schedule.nodes[static_cast<size_t>(node->id())].stage;
      // Nodes that may run at the same time have the same position.
      if (phase.level == Level::kBlock || next != stage) ++position;
      stage = next;
      positions_[static_cast<size_t>(node->id())] = position - 1;
    }
    phase_ends_.push_back(position);
  }
  for (const Phase& phase : schedule.phases) {
    for (const Node* const node : phase.nodes) {
      for (const Value& input : node->inputs()) {
        ++readers_[input];
        last_reads_[input].Add({PositionOf(*node), node->id()});
      }
    }
  }
  for (const Value& fetch : bound.fetches) pinned_[fetch] = true;
  if (bound.guard.valid()) pinned_[bound.guard] = true;
}

int Buffers::PositionOf(const Node& node) const {
  return positions_[static_cast<size_t>(node.id())];
}

// phase_ends_ ascends, so a binary search finds the first phase that ends after the position.
int Buffers::PhaseAt(int position) const {
  return static_cast<int>(std::upper_bound(phase_ends_.begin(), phase_ends_.end(), position) -
                          phase_ends_.begin());
}

// A fetch counts as one reader.
int Buffers::Readers(const Value& value) const {
  const auto found = readers_.find(value);
  const int pinned = pinned_.contains(value) ? 1 : 0;
  return pinned + (found == readers_.end() ? 0 : found->second);
}

bool Buffers::IsRead(const Value& value) const { return Readers(value) > 0; }

int Buffers::NewBuffer(Info info) {
  info.first = INT_MAX;
  infos_.push_back(info);
  return static_cast<int>(infos_.size()) - 1;
}

// Merged buffers form trees whose root has the memory.
int Buffers::Root(int id) const {
  while (infos_[static_cast<size_t>(id)].parent >= 0) id = infos_[static_cast<size_t>(id)].parent;
  return id;
}

// Makes the value's buffer on first use. Rows divide the bytes evenly, since axis 0 is the batch.
int Buffers::IdOf(const Value& value) {
  const auto found = ids_.find(value);
  if (found != ids_.end()) return found->second;
  const NodeSchedule& node = schedule_.nodes[static_cast<size_t>(value.node->id())];
  Info info;
  info.bytes = BytesOf(value);
  info.level = node.result_level;
  if (info.level == Level::kBlock) {
    info.row_bytes = info.bytes / static_cast<size_t>(schedule_.batch_rows);
  }
  info.pinned = pinned_.contains(value);
  const auto last = last_reads_.find(value);
  if (last != last_reads_.end()) info.last_read = last->second;
  return ids_[value] = NewBuffer(info);
}

// A sum over rows is read from the buffer in which its parts were added; only a bfloat16 sum has
// another buffer.
Buffer Buffers::Use(const Value& value, bool cut) {
  const NodeSchedule& node = schedule_.nodes[static_cast<size_t>(value.node->id())];
  if (node.rows == Rows::kSum && value.dtype() != DType::kBfloat16) return SumOfParts(value);
  Buffer buffer{IdOf(value), 0};
  if (cut) buffer.row_bytes = BytesOf(value) / static_cast<size_t>(schedule_.batch_rows);
  return buffer;
}

Buffer Buffers::Part(const Value& value) {
  const auto found = part_ids_.find(value);
  if (found != part_ids_.end()) return {found->second, 0};
  Info info;
  info.base = kParts;
  info.bytes = static_cast<size_t>(value.shape().elements()) *
               (value.dtype() == DType::kBfloat16 ? sizeof(float) : SizeOf(value.dtype()));
  info.level = Level::kReplica;
  return {part_ids_[value] = NewBuffer(info), 0};
}

// The sum replaces the first block's part: it has the same offset (Place) under the base kSums.
Buffer Buffers::SumOfParts(const Value& value) {
  const auto found = sum_ids_.find(value);
  if (found != sum_ids_.end()) return {found->second, 0};
  Info info;
  info.part = Part(value).id;
  info.base = kSums;
  info.bytes = InfoOf(info.part).bytes;
  info.level = Level::kReplica;
  const int id = sum_ids_[value] = NewBuffer(info);
  if (value.dtype() != DType::kBfloat16) ids_[value] = id;
  return {id, 0};
}

Buffer Buffers::Address(const void* address) {
  const auto found = address_ids_.find(address);
  if (found != address_ids_.end()) return {found->second, 0};
  Info info;
  info.base = kAbsolute;
  info.offset = reinterpret_cast<size_t>(address);
  return {address_ids_[address] = NewBuffer(info), 0};
}

// A result derived in an earlier phase is touched there by the caller; here only the node is.
Buffer Buffers::Scratch(size_t bytes, Level level, int phase, const Node& node) {
  Info info;
  info.bytes = std::max<size_t>(bytes, 1);
  info.level = level;
  const Buffer buffer{NewBuffer(info), 0};
  const int position = PositionOf(node);
  if (PhaseAt(position) == phase) Extend(buffer.id, position, position);
  Touch(buffer, node);
  return buffer;
}

void Buffers::SetFeed(const Value& value, int feed) {
  Info info;
  info.base = kFirstFeed + feed;
  ids_[value] = NewBuffer(info);
}

void Buffers::SetAddress(const Value& value, const void* address) {
  ids_[value] = Address(address).id;
}

void Buffers::Extend(int id, int first, int last) {
  Info& info = InfoOf(id);
  info.first = std::min(info.first, first);
  info.last = std::max(info.last, last);
}

void Buffers::Touch(Buffer buffer, const Node& node) {
  Extend(buffer.id, PositionOf(node), PositionOf(node));
}

void Buffers::TouchPhase(Buffer buffer, int phase) {
  const int begin = phase == 0 ? 0 : phase_ends_[static_cast<size_t>(phase) - 1];
  Extend(buffer.id, begin, phase_ends_[static_cast<size_t>(phase)] - 1);
}

// `from` shares the memory of `into` from now on; the lifetime covers both.
void Buffers::MergeIds(int from, int into) {
  from = Root(from);
  into = Root(into);
  if (from == into) return;
  Info& target = infos_[static_cast<size_t>(into)];
  Info& source = infos_[static_cast<size_t>(from)];
  target.pinned |= source.pinned;
  target.last_read.Add(source.last_read);
  target.first = std::min(target.first, source.first);
  target.last = std::max(target.last, source.last);
  source.parent = into;
}

void Buffers::Merge(const Value& out, const Value& in) { MergeIds(IdOf(out), Use(in, false).id); }

void Buffers::ShareWithSum(const Value& out, const Value& in) {
  MergeIds(IdOf(out), SumOfParts(in).id);
}

// Does nothing if sharing would be wrong: the memory is not in an arena, is fetched, is read by
// another node at this position or later, or is also another input of this node (x * x reads both);
// or if sizes or levels differ.
void Buffers::ShareIfLastUse(const Value& out, const Node& node, int input) {
  const Value in = node.input(input);
  const int in_id = Root(Use(in, false).id);
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value& other = node.inputs()[i];
    if (static_cast<int>(i) == input || other.dtype() == DType::kResource) continue;
    if (Root(Use(other, false).id) == in_id) return;
  }
  const int out_id = IdOf(out);
  if (Root(out_id) != out_id) return;  // already shares the memory of another input
  const Info& from = InfoOf(in_id);
  const Info& to = InfoOf(out_id);
  if (from.base != -1 || from.pinned || !from.last_read.IsBy(PositionOf(node), node.id())) return;
  if (from.bytes != to.bytes || from.level != to.level || to.base != -1) return;
  MergeIds(out_id, in_id);
}

// Extends lifetimes to uses that no PlanFn requested: a buffer lives wherever a kernel may read it.
void Buffers::TouchAll() {
  for (const Phase& phase : schedule_.phases) {
    for (const Node* const node : phase.nodes) {
      for (const Value& input : node->inputs()) {
        if (input.dtype() != DType::kResource) Touch(Use(input, false), *node);
      }
      for (int i = 0; i < node->outputs(); ++i) {
        const Value output{const_cast<Node*>(node), i};
        if (output.dtype() != DType::kResource) Touch(Use(output, false), *node);
      }
    }
  }
}

// A block's value that ends in its phase needs memory for one run per thread. A value that another
// phase reads needs memory for the whole batch, because another thread may then compute the block.
int Buffers::ArenaOf(const Info& info) const {
  if (info.level >= Level::kGlobal) return kGlobalArena;
  if (info.level == Level::kReplica || info.pinned) return kReplicaArena;
  return PhaseAt(info.first) == PhaseAt(info.last) ? kBlockArena : kReplicaArena;
}

// Arenas are laid out one by one: buffers of different arenas never share memory.
void Buffers::PlaceArena(CpuPlan& plan, int base, size_t& bytes) {
  std::vector<Lifetime> lifetimes;
  std::vector<size_t> members;
  for (size_t id = 0; id < infos_.size(); ++id) {
    const Info& info = infos_[id];
    if (info.parent >= 0 || info.base != -1 || info.last < 0 || ArenaOf(info) != base) continue;
    Lifetime life{info.bytes, info.first, info.last};
    if (base == kBlockArena && info.row_bytes > 0) {
      const auto phase = static_cast<size_t>(PhaseAt(info.first));
      life.bytes = info.row_bytes * static_cast<size_t>(schedule_.phases[phase].run_rows);
    }
    if (info.pinned) {
      life.last = phase_ends_.back();
    }
    if (base != kBlockArena &&
        (PhaseAt(life.first) != PhaseAt(life.last) || info.level == Level::kBlock)) {
      // Other blocks or replicas may be anywhere in these phases.
      const int from = PhaseAt(life.first);
      const int to = std::min(PhaseAt(life.last), static_cast<int>(phase_ends_.size()) - 1);
      life.first = from == 0 ? 0 : phase_ends_[static_cast<size_t>(from) - 1];
      life.last = phase_ends_[static_cast<size_t>(to)];
    }
    lifetimes.push_back(life);
    members.push_back(id);
  }
  const ArenaLayout layout = LayOut(lifetimes);
  bytes = layout.bytes;
  for (size_t i = 0; i < members.size(); ++i) {
    plan.locations[members[i]] = {base, base == kBlockArena, layout.offsets[i]};
  }
}

// Runs last, when every use is known. Merged buffers get their root's location at the end.
void Buffers::Place(CpuPlan& plan) {
  TouchAll();
  plan.locations.assign(infos_.size(), {});
  for (size_t id = 0; id < infos_.size(); ++id) {
    const Info& info = infos_[id];
    if (info.parent >= 0 || info.base == -1) continue;
    plan.locations[id] = {info.base, false, info.offset};
    if (info.base != kParts) continue;
    plan.locations[id].offset = plan.parts_bytes;
    plan.parts_bytes += (info.bytes + 63) / 64 * 64;
  }
  for (size_t id = 0; id < infos_.size(); ++id) {
    const int part = infos_[id].part;
    if (part >= 0) plan.locations[id].offset = plan.locations[static_cast<size_t>(part)].offset;
  }
  PlaceArena(plan, kGlobalArena, plan.global_bytes);
  PlaceArena(plan, kReplicaArena, plan.replica_bytes);
  PlaceArena(plan, kBlockArena, plan.block_bytes);
  for (size_t id = 0; id < infos_.size(); ++id) {
    const auto root = static_cast<size_t>(Root(static_cast<int>(id)));
    if (root != id) plan.locations[id] = plan.locations[root];
  }
}

}  // namespace tpuest
