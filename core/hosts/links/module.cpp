// Links by gRPC. Each side of a link sends what its program writes to its socket, in pieces. An
// empty piece ends that direction: the program has closed its socket. The other side then closes
// its own and answers with an empty piece, so that the process that leaves knows that everything it
// sent has arrived.

#include "core/hosts/links/module.h"

#include <fcntl.h>
#include <grpc/support/log.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/sync_stream.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/hosts/links/identity.h"
#include "core/hosts/links/link.grpc.pb.h"
#include "core/hosts/links/link.pb.h"

namespace tpuest::links {
namespace {

using Clock = std::chrono::system_clock;

constexpr int kMostPieceBytes = 1 << 20;  // that is sent; what is received has gRPC's 4 MB
// Together they keep a line with delay full; only one of them makes it worse.
constexpr int kLookaheadBytes = 4 << 20;
constexpr int kBdpProbe = 0;
// A connection that does not finish its handshake in this time is closed.
constexpr int kHandshakeMs = 10'000;

Clock::time_point After(double secs) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(secs));
}

// A socket whose other end belongs to the program.
class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  ~Socket() { ::close(number_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void HangUp() const { ::shutdown(number_, SHUT_RDWR); }

  // Waits for bytes and moves all that have come, up to kMostPieceBytes, to `piece`; false at the
  // end.
  [[nodiscard]] bool Read(Piece& piece) const {
    while (true) {
      pollfd waited{.fd = number_, .events = POLLIN, .revents = 0};
      if (::poll(&waited, 1, -1) < 0 && errno == EINTR) continue;
      int bytes = 0;
      if (::ioctl(number_, FIONREAD, &bytes) != 0) return false;
      std::string& data = *piece.mutable_data();
      data.resize(static_cast<size_t>(std::clamp(bytes, 1, kMostPieceBytes)));
      const ssize_t got = ::recv(number_, data.data(), data.size(), 0);
      if (got > 0) {
        data.resize(static_cast<size_t>(got));
        return true;
      }
      if (got == 0 || errno != EINTR) return false;
    }
  }

  [[nodiscard]] bool Write(const Piece& piece) const {
    std::string_view left = piece.data();
    while (!left.empty()) {
      const ssize_t sent = ::send(number_, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        left.remove_prefix(static_cast<size_t>(sent));
      } else if (errno != EINTR) {
        return false;
      }
    }
    return true;
  }

 private:
  const int number_;
};

// Carries bytes both ways until both have ended, or the call breaks.
template <class Stream>
void Carry(const Socket& socket, Stream& stream) {
  std::thread sender([&] {
    for (Piece piece; socket.Read(piece);) {
      if (!stream.Write(piece)) break;
    }
    stream.Write(Piece());
  });
  // Past the end of the program's socket what comes is read on: the other side has its end to send.
  Piece piece;
  bool is_open = true;
  while (stream.Read(&piece) && !piece.data().empty()) {
    is_open = is_open && socket.Write(piece);
  }
  socket.HangUp();
  sender.join();
}

// The two ends of a socket pair.
std::optional<std::pair<int, int>> SocketPair() {
  int ends[2] = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  return std::pair(ends[0], ends[1]);
}

// Counts failed handshakes in gRPC's log lines, and drops all lines unless GRPC_VERBOSITY is set;
// gRPC would print them to stderr.
std::atomic<int64_t> refused_handshakes = 0;

void OnGrpcLine(gpr_log_func_args* line) {
  if (std::strstr(line->message, "andshake failed") != nullptr) ++refused_handshakes;
  if (std::getenv("GRPC_VERBOSITY") == nullptr) return;
  std::fprintf(stderr, "gRPC: %s:%d: %s\n", line->file, line->line, line->message);
}

class Server : public Links::Service {
 public:
  Server(const std::string& address, std::optional<Identity> identity)
      : identity_(std::move(identity)) {
    if (::pipe2(accepted_, O_CLOEXEC | O_NONBLOCK) != 0) {
      throw std::runtime_error("cannot create a pipe");
    }
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, ServerCredentials(), &port_);
    builder.RegisterService(this);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, kBdpProbe);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) throw std::runtime_error("cannot listen at this address");
  }

  ~Server() {
    // Closes the links that were never taken.
    for (int socket = Accept(); socket >= 0; socket = Accept()) ::close(socket);
    for (const int end : accepted_) ::close(end);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int waiting() const { return accepted_[0]; }

  [[nodiscard]] int Accept() const {
    int socket = -1;
    return ::read(accepted_[0], &socket, sizeof socket) == sizeof socket ? socket : -1;
  }

  LinksStatus Connect(const std::string& address, double secs, int& socket, std::string& why) {
    const Clock::time_point deadline = After(secs);
    const auto channel =
        grpc::CreateCustomChannel((address.starts_with('[') ? "ipv6:" : "ipv4:") + address,
                                  ChannelCredentials(), Arguments(secs));
    grpc_connectivity_state state = channel->GetState(true);
    while (state != GRPC_CHANNEL_READY && state != GRPC_CHANNEL_TRANSIENT_FAILURE) {
      if (!channel->WaitForStateChange(state, deadline)) {
        why = "no answer";
        return kUnavailable;
      }
      state = channel->GetState(true);
    }
    if (state != GRPC_CHANNEL_READY) {
      why = ConnectError(channel);
      const bool is_other =
          why.find("certificate verify failed") != std::string::npos ||
          why.find("wrong version number") != std::string::npos;  // the peer does not encrypt
      return is_other ? kUnauthenticated : kUnavailable;
    }
    const auto ends = SocketPair();
    if (!ends) {
      why = "no socket can be made";
      return kUnavailable;
    }
    socket = ends->first;
    threads_.emplace_back([this, channel, end = ends->second] { RunCall(channel, end); });
    return kLinked;
  }

  // Waits for the links to end; cancels them after `secs` seconds.
  void Close(double secs) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, After(secs), [this] { return calls_.empty(); });
      closing_ = true;
      for (const auto& cancel : calls_) cancel();
    }
    server_->Shutdown(Clock::now());
    for (std::thread& thread : threads_) thread.join();
    server_->Wait();
  }

 private:
  // A running call that Close can cancel.
  class Call {
   public:
    Call(Server& server, std::function<void()> cancel) : server_(server) {
      const std::lock_guard lock(server_.mutex_);
      if (server_.closing_) cancel();
      at_ = server_.calls_.insert(server_.calls_.end(), std::move(cancel));
    }
    ~Call() {
      const std::lock_guard lock(server_.mutex_);
      server_.calls_.erase(at_);
      server_.changed_.notify_all();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Server& server_;
    std::list<std::function<void()>>::iterator at_;
  };

  grpc::Status Link(grpc::ServerContext* context,
                    grpc::ServerReaderWriter<Piece, Piece>* stream) override {
    const auto ends = SocketPair();
    if (!ends) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "no socket can be made"};
    const Socket socket(ends->second);
    if (::write(accepted_[1], &ends->first, sizeof ends->first) != sizeof ends->first) {
      ::close(ends->first);
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many simultaneous connections"};
    }
    const Call call(*this, [context] { context->TryCancel(); });
    Carry(socket, *stream);
    return grpc::Status::OK;
  }

  void RunCall(const std::shared_ptr<grpc::Channel>& channel, int end) {
    const Socket socket(end);
    grpc::ClientContext context;
    const auto stream = Links::NewStub(channel)->Link(&context);
    const Call call(*this, [&context] { context.TryCancel(); });
    Carry(socket, *stream);
    stream->WritesDone();
    (void)stream->Finish();
  }

  // A call by a channel that has not connected ends at once, and says why.
  static std::string ConnectError(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(After(1));
    const auto stream = Links::NewStub(channel)->Link(&context);
    stream->WritesDone();
    return stream->Finish().error_message();
  }

  [[nodiscard]] std::shared_ptr<grpc::ServerCredentials> ServerCredentials() const {
    if (!identity_) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = identity_->root;
    options.pem_key_cert_pairs = {{identity_->key, identity_->certificate}};
    return grpc::SslServerCredentials(options);
  }

  [[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials() const {
    if (!identity_) return grpc::InsecureChannelCredentials();
    return grpc::SslCredentials({.pem_root_certs = identity_->root,
                                 .pem_private_key = identity_->key,
                                 .pem_cert_chain = identity_->certificate});
  }

  [[nodiscard]] grpc::ChannelArguments Arguments(double secs) const {
    grpc::ChannelArguments arguments;
    if (identity_) arguments.SetSslTargetNameOverride(kIdentityName);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, kBdpProbe);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
    // Each attempt gets its own connection, and ignores proxies set in the environment.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(secs * 1000));
    return arguments;
  }

  const std::optional<Identity> identity_;
  int accepted_[2] = {-1, -1};  // pipe of accepted links' sockets: module to program
  int port_ = 0;
  std::mutex mutex_;  // guards the members up to closing_
  std::condition_variable changed_;
  std::list<std::function<void()>> calls_;
  bool closing_ = false;
  std::vector<std::thread> threads_;  // used only by the program's connecting thread
  std::unique_ptr<grpc::Server> server_;
};

Server& Of(LinksServer* server) { return *reinterpret_cast<Server*>(server); }

void CopyText(const std::string& text, char* why, size_t why_bytes) {
  if (why_bytes > 0) std::snprintf(why, why_bytes, "%s", text.c_str());
}

LinksServer* Open(const char* address, const char* token, size_t token_bytes, char* why,
                  size_t why_bytes) {
  try {
    gpr_set_log_function(OnGrpcLine);
    std::optional<Identity> identity;
    if (token != nullptr) identity = IdentityOf({token, token_bytes});
    return reinterpret_cast<LinksServer*>(new Server(address, std::move(identity)));
  } catch (const std::exception& error) {
    CopyText(error.what(), why, why_bytes);
    return nullptr;
  }
}

LinksStatus Connect(LinksServer* server, const char* address, double secs, int* socket, char* why,
                    size_t why_bytes) {
  std::string text;
  const LinksStatus result = Of(server).Connect(address, secs, *socket, text);
  CopyText(text, why, why_bytes);
  return result;
}

void Close(LinksServer* server, double secs) {
  Of(server).Close(secs);
  delete &Of(server);
}

}  // namespace
}  // namespace tpuest::links

extern "C" __attribute__((visibility("default"))) const LinksModule tpuest_links;
const LinksModule tpuest_links = {
    .version = kLinksVersion,
    .library = "gRPC " TPUEST_GRPC_VERSION,
    .open = tpuest::links::Open,
    .port = [](LinksServer* server) { return tpuest::links::Of(server).port(); },
    .waiting = [](LinksServer* server) { return tpuest::links::Of(server).waiting(); },
    .accept = [](LinksServer* server) { return tpuest::links::Of(server).Accept(); },
    .connect = tpuest::links::Connect,
    .refused = [](LinksServer* /*server*/) { return tpuest::links::refused_handshakes.load(); },
    .close = tpuest::links::Close,
};
