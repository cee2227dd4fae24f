#pragma once
// How the processes of a group come together: after it each has a stream socket to each.
//
// Who goes to another, which waits, says first who it is. All is said in Words:
//
//   kHello     of who comes, with the address at which others find it
//   kWelcome   of who was come to; or kRefusal with the reason; or kLate: come again
//
// Where each knows the way to each (processes of one machine), a process goes to those of lower
// ranks and waits for those of higher ones. Where only process 0 can be found, it waits for all
// first, then they do that:
//
//   kRoster    process 0 to each: where a process is, one word for each but itself
//   kReady     each to process 0: it is linked to all
//   kGo        process 0 to each: so are all
//
// An error of one of them is a kRefusal to the others. What comes and says no Hello is hung up on:
// it changes nothing.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/hosts/way.h"

namespace tpuest::hosts {

struct LinkSettings {
  int rank = 0;
  int size = 1;
  Meeting meeting;
  double rendezvous_secs = 300;  // in which all must have come
  // True: give up waiting for the others.
  std::function<bool()> gives_up = [] { return false; };
};

// A process that is linked.
struct Linked {
  Descriptor socket;
  int pid = 0;
  std::string address;  // where others find it; empty: by its rank
};

class Rendezvous {
 public:
  // Both outlive it.
  Rendezvous(const LinkSettings& settings, Way& way) : settings_(settings), way_(way) {}

  // The others, by rank; what stands at this process's own is empty. Errors: see Links.
  [[nodiscard]] std::vector<Linked> Meet();
  // Tells who has come once all have that it is late.
  static void TurnAway(const Descriptor& socket);

 private:
  struct Word;

  [[nodiscard]] Linked& At(int rank) { return linked_[static_cast<size_t>(rank)]; }
  [[nodiscard]] Word NewWord(uint32_t kind, const std::string& text = "") const;
  void MeetByRank();
  void MeetAsChief();
  void MeetAsWorker();
  // Links to a process once it is there. False where that came to an end while it waited itself.
  [[nodiscard]] bool GoTo(int rank);
  void AwaitOthers();
  void DropGone();
  void Welcome(Descriptor socket);
  [[nodiscard]] static bool IsSame(const Linked& linked, const Word& hello);
  // The next word of a process that is linked; nullopt where it has gone.
  [[nodiscard]] std::optional<Word> AwaitWord(int rank);
  [[nodiscard]] std::optional<Word> ReadWord(const Descriptor& socket) const;
  void Say(int rank, const Word& word);
  void TellOthers(const Error& error);
  [[nodiscard]] std::vector<int> Missing();
  // Throws where the wait for these is over: at the deadline, or given up.
  void CheckWait(const std::vector<int>& missing) const;

  const LinkSettings& settings_;
  Way& way_;
  double deadline_ = 0;
  uint64_t group_ = 0;  // that process 0 has drawn for this meeting; 0: none
  std::vector<Linked> linked_;
};

}  // namespace tpuest::hosts
