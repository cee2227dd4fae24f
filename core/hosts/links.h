#pragma once
// Frames between the processes of a group, over the stream sockets by which they have met
// (rendezvous.h). A frame is its head and `bytes` bytes, with checksums of both between machines:
// TCP's own are weak, and a number that is changed on its way is otherwise the same in all sums.
//
// Sending blocks the caller while the other's socket is full; a thread of this class reads whatever
// comes, so that two processes that send to each other do not wait for each other.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/hosts/rendezvous.h"
#include "core/hosts/way.h"

namespace tpuest::hosts {

// What a frame is for: Group knows.
using FrameKind = uint16_t;

class Links {
 public:
  // Both are called by the thread that reads.
  struct Listener {
    std::function<void(int from, FrameKind kind, std::string&& bytes)> frame;
    std::function<void(int from, const std::string& why)> closed;  // once a link
    std::function<void()> tick;                                    // every 20 ms or so
  };

  // Returns once all processes are linked. Error kUsage for what OpenFolderWay and OpenRemoteWay
  // refuse, a rank that is there already or another size; kLost, with the ranks that are missing,
  // where they have not come in time; kPreempted where it gives up.
  explicit Links(const LinkSettings& settings);
  // Ends all links.
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Begins to read, once.
  void Listen(Listener listener);

  // Sends one frame of the pieces in a row. Any thread. False where the link is closed, or did not
  // take the frame in so long (it is closed then).
  bool Send(int to, FrameKind kind, std::span<const std::string_view> pieces, double limit_secs);
  // Sends a small frame if that can be at once, and nobody is sending to that process.
  void SendIfReady(int to, FrameKind kind, std::string_view bytes);
  // The memory of a frame that was received, for those that come. Any thread.
  void Reuse(std::string&& bytes);
  // Ends a link; `closed` tells it on both sides.
  void HangUp(int to);
  // "pid 77", and of another machine's process "pid 77 at 10.0.0.3:41234".
  [[nodiscard]] std::string NameOf(int rank) const;
  // Connections of none of the group's processes, as far as they are told from noise: where there
  // is a token all.
  [[nodiscard]] int64_t strangers() const { return way_->refused() + turned_away_; }

 private:
  struct Peer {
    Linked linked;
    std::mutex sending;
    std::atomic<bool> closed = false;
    // The frame that is being read.
    std::string head;
    FrameKind kind = 0;
    uint32_t crc = 0;
    std::string body;
    size_t has = 0;  // bytes of body
    bool in_body = false;
  };

  // Frames that are given back and read into again: fresh memory of their size would be cleared and
  // mapped page by page in every step.
  class SpareFrames {
   public:
    // Of so many bytes; what they are is left open.
    [[nodiscard]] std::string Take(size_t bytes);
    void Give(std::string&& frame);

   private:
    std::mutex mutex_;
    std::vector<std::string> frames_;
    size_t bytes_ = 0;  // of all of them
  };

  static size_t Index(int rank) { return static_cast<size_t>(rank); }
  void Read();
  // Reads what is there; false at the end, with the reason.
  bool ReadFrom(int rank, std::string& why);

  LinkSettings settings_;
  const bool is_checked_;  // frames have checksums
  std::unique_ptr<Way> way_;
  std::atomic<int64_t> turned_away_ = 0;  // who came after all had
  std::array<Descriptor, 2> wake_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; none for this one
  SpareFrames spare_;
  Listener listener_;
  std::atomic<bool> ending_ = false;
  std::thread reader_;
};

}  // namespace tpuest::hosts
