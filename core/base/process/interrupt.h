#pragma once
// Waits for pipes, terminals and devices that a signal ends. A read or write that blocks would be
// gone on with after a signal (SA_RESTART), so whoever may wait for another program asks here
// first.

#include <string>

namespace tpuest {

// The exit codes of a process that a signal ended before anything was saved.
inline constexpr int kTerminatedCode = 143;   // SIGTERM, SIGUSR1, SIGHUP
inline constexpr int kInterruptedCode = 130;  // Ctrl-C

// Ends every wait, from now on, with an Error of this code; the first call stands.
// Async-signal-safe.
void Interrupt(int exit_code) noexcept;

[[nodiscard]] bool IsInterrupted() noexcept;
// Throws where Interrupt was called: for loops that compute for long, with what they compute.
void NeedNoInterrupt(const std::string& what);

// Whether a read or write (of at most kReadyBytes) would not block; waits for that. False once
// Interrupt was called and it would still block.
enum class For { kReading, kWriting };
inline constexpr int kReadyBytes = 4096;
[[nodiscard]] bool WaitUntilReady(int fd, For what);
// The same, for reading and at most so long (ms; -1: for ever). False where the time is over;
// throws where it is interrupted.
[[nodiscard]] bool IsReadyWithin(int fd, int wait_ms, const std::string& name);
// The same; throws where it is interrupted.
void NeedReady(int fd, For what, const std::string& path);

// Opens an existing file, device or pipe, whose other end is waited for. -1 and errno where that
// cannot be; throws where it is interrupted.
[[nodiscard]] int OpenToRead(const std::string& path);
[[nodiscard]] int OpenToWrite(const std::string& path);

}  // namespace tpuest
