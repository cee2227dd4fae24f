#pragma once
// Frames between the processes of a group, over the stream sockets that the rendezvous
// (rendezvous.h) made. A frame is a head followed by `bytes` bytes. Between machines both have
// checksums: TCP's own are weak, and a changed number would silently enter every sum.
//
// Sending blocks the caller while the peer's socket is full. A reader thread takes everything that
// arrives, so two processes that send to each other cannot deadlock.

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
#include "core/hosts/transport.h"

namespace tpuest::hosts {

// The purpose of a frame; Group defines the values.
using FrameKind = uint16_t;

class Links {
 public:
  // Callbacks; the reader thread calls all of them.
  struct Listener {
    std::function<void(int from, FrameKind kind, std::string&& bytes)> frame;
    std::function<void(int from, const std::string& why)> closed;  // once per link
    std::function<void()> tick;                                    // about every 20 ms
  };

  // Returns once all processes are linked. Throws kUsage for errors of OpenUnixTransport and
  // OpenGrpcTransport, for a rank that has already joined and for a different group size; kLost,
  // naming the missing ranks, after rendezvous_secs; kPreempted if gives_up() returned true.
  explicit Links(const LinkSettings& settings);
  // Closes all links.
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Starts the reader thread; called once.
  void Listen(Listener listener);

  // Sends the concatenated pieces as one frame. Any thread. Returns false if the link is closed or
  // did not take the frame within `limit_secs`, which closes it.
  bool Send(int to, FrameKind kind, std::span<const std::string_view> pieces, double limit_secs);
  // Sends a small frame if the socket takes it at once and no other thread is sending to that
  // process; otherwise drops it.
  void SendIfReady(int to, FrameKind kind, std::string_view bytes);
  // Returns the memory of a received frame for later frames. Any thread.
  void Reuse(std::string&& bytes);
  // Closes a link; both sides get a `closed` callback.
  void Close(int to);
  // "pid 77", or "pid 77 at 10.0.0.3:41234" for a process of another machine.
  [[nodiscard]] std::string NameOf(int rank) const;
  // Number of connections that came from outside of the group. Without a token only a part of them
  // is recognized.
  [[nodiscard]] int64_t unauthenticated() const { return transport_->refused() + rejected_; }

 private:
  struct Peer {
    Linked linked;
    std::mutex sending;
    std::atomic<bool> closed = false;
    // State of the frame that is being read.
    std::string head;
    FrameKind kind = 0;
    uint32_t crc = 0;
    std::string body;
    size_t has = 0;  // bytes of body
    bool in_body = false;
  };

  // Keeps returned frames and reuses their memory: the system would clear and map fresh memory page
  // by page in every step.
  class SpareFrames {
   public:
    // Returns a string of `bytes` bytes with unspecified content.
    [[nodiscard]] std::string Take(size_t bytes);
    void Give(std::string&& frame);

   private:
    std::mutex mutex_;
    std::vector<std::string> frames_;
    size_t bytes_ = 0;  // of all frames together
  };

  static size_t Index(int rank) { return static_cast<size_t>(rank); }
  void Read();
  // Reads the available bytes. Returns false, with the reason in `why`, if the link has ended.
  bool ReadFrom(int rank, std::string& why);

  LinkSettings settings_;
  const bool is_checked_;  // frames have checksums
  std::unique_ptr<Transport> transport_;
  std::atomic<int64_t> rejected_ = 0;  // connections after the group was complete
  std::array<Descriptor, 2> wake_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null for this process
  SpareFrames spare_;
  Listener listener_;
  std::atomic<bool> ending_ = false;
  std::thread reader_;
};

}  // namespace tpuest::hosts
