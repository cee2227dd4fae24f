#pragma once
// Waits for pipes, terminals and devices that a signal can end. A blocking read or write would be
// restarted after a signal (SA_RESTART), so code that may wait for another program waits here
// first.

#include <string>

namespace tpuest {

// The exit codes of a process that a signal ended before anything was saved.
inline constexpr int kTerminatedCode = 143;   // SIGTERM, SIGUSR1, SIGHUP
inline constexpr int kInterruptedCode = 130;  // Ctrl-C

// Ends every current and later wait with an Error of this code; the first call's code is kept.
// Async-signal-safe.
void Interrupt(int exit_code) noexcept;

[[nodiscard]] bool IsInterrupted() noexcept;
// Throws if Interrupt was called. For long computations; `what` names the computation.
void NeedNoInterrupt(const std::string& what);

// Waits until a read or write (of at most kReadyBytes) would not block. Returns false if it would
// still block after Interrupt was called.
enum class For { kReading, kWriting };
inline constexpr int kReadyBytes = 4096;
[[nodiscard]] bool WaitUntilReady(int fd, For what);
// The same for reading, at most `wait_ms` (-1: no limit). Returns false after that time; throws if
// interrupted.
[[nodiscard]] bool IsReadyWithin(int fd, int wait_ms, const std::string& name);
// The same; throws if interrupted.
void NeedReady(int fd, For what, const std::string& path);

// Opens an existing file, device or pipe; waits for the other end of a pipe. Returns -1 and sets
// errno if it cannot; throws if interrupted.
[[nodiscard]] int OpenToRead(const std::string& path);
[[nodiscard]] int OpenToWrite(const std::string& path);

}  // namespace tpuest
