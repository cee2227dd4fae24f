#pragma once
// Frames between the processes of one machine, over Unix sockets in a folder that only their user
// may enter.
//
// A group of `size` processes has a socket a process, FOLDER/<rank>, on which a process waits for
// those of higher ranks; it goes to those of lower ranks itself. Who comes says first who it is:
//
//   Hello     magic, protocol, rank, size, pid       16 bytes of head, see Frame
//   Welcome   the same of the process that was come to, or a Refusal with the reason as text
//
// From then on both send frames as they like. A frame is its head and `bytes` bytes. What comes on
// the socket and is no Hello is hung up on: it changes nothing.
//
// Sending blocks the caller while the other's socket is full; a thread of this class reads whatever
// comes, so that two processes that send to each other do not wait for each other.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tpuest {

// What a frame is for: Group knows.
using FrameKind = uint16_t;

struct LinkSettings {
  int rank = 0;
  int size = 1;
  std::string folder;            // there, of this user, of mode 0700
  double rendezvous_secs = 300;  // in which all must have come
  // True: give up waiting for the others.
  std::function<bool()> gives_up = [] { return false; };
};

// A descriptor that is closed.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

class Links {
 public:
  // Both are called by the thread that reads.
  struct Listener {
    std::function<void(int from, FrameKind kind, std::string&& bytes)> frame;
    std::function<void(int from, const std::string& why)> closed;  // once a link
    std::function<void()> tick;                                    // every 20 ms or so
  };

  // Returns once all processes are linked. Error kUsage for a folder that others may enter, a rank
  // that is there already or another size; kLost, with the ranks that are missing, where they have
  // not come in time; kPreempted where it gives up.
  explicit Links(const LinkSettings& settings);
  // Ends all links.
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Begins to read, once.
  void Listen(Listener listener);

  // Sends one frame of the parts in a row. Any thread. False where the link is closed, or did not
  // take the frame in so long (it is closed then).
  bool Send(int to, FrameKind kind, std::string_view head, std::string_view body,
            double limit_secs);
  // Sends a small frame if that can be at once, and nobody is sending to that process.
  void SendIfReady(int to, FrameKind kind, std::string_view bytes);
  // Ends a link; `closed` tells it on both sides.
  void HangUp(int to);
  [[nodiscard]] int pid_of(int rank) const { return peers_[Index(rank)]->pid; }

 private:
  struct Peer {
    Descriptor socket;
    int pid = 0;
    std::mutex sending;
    std::atomic<bool> closed = false;
    // The frame that is being read.
    std::string head;
    FrameKind kind = 0;
    std::string body;
    size_t has = 0;  // bytes of body
    bool in_body = false;
  };

  static size_t Index(int rank) { return static_cast<size_t>(rank); }
  void Bind();
  void GoTo(int rank, double deadline);
  void AwaitOthers(double deadline);
  void Welcome(Descriptor socket);
  [[nodiscard]] std::vector<int> Missing() const;
  void Read();
  // Reads what is there; false at the end, with the reason.
  bool ReadFrom(int rank, std::string& why);

  LinkSettings settings_;
  Descriptor folder_;
  Descriptor door_;
  std::array<Descriptor, 2> wake_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; none for this one
  Listener listener_;
  std::atomic<bool> ending_ = false;
  std::thread reader_;
};

}  // namespace tpuest
