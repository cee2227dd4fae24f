#include "core/base/process/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>

namespace tpuest {
namespace {

// A list that only grows: the handler walks it while others add to it. `begin` is 0 where the entry
// is free; it is written last and cleared first.
struct Watched {
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> size{0};
  std::atomic<bool> is_cut{false};
  Watched* next = nullptr;
};

// A handler reaches nothing but statics.
std::atomic<Watched*> first_watched{nullptr};
uintptr_t page_bytes = 4096;
std::mutex adding;

Watched* Find(uintptr_t at) {
  for (Watched* entry = first_watched; entry != nullptr; entry = entry->next) {
    const uintptr_t begin = entry->begin;
    if (begin != 0 && at >= begin && at < begin + entry->size) return entry;
  }
  return nullptr;
}

void HandleMissingPage(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  Watched* const entry = Find(at);
  if (entry != nullptr) {
    const uintptr_t page = at & ~(page_bytes - 1);
    entry->is_cut = true;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address as the kernel gives it
    void* const zeros = ::mmap(reinterpret_cast<void*>(page), page_bytes, PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros != MAP_FAILED) return;
  }
  std::signal(SIGBUS, SIG_DFL);  // the access is made again, and ends the process
}

void InstallHandler() {
  page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = HandleMissingPage;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

void WatchMapping(const char* data, size_t size) {
  const std::lock_guard lock(adding);
  if (first_watched == nullptr) InstallHandler();
  Watched* entry = first_watched;
  while (entry != nullptr && entry->begin != 0) entry = entry->next;
  if (entry == nullptr) {
    entry = new Watched;  // never freed: the handler may stand on it
    entry->next = first_watched;
    first_watched = entry;
  }
  entry->size = size;
  entry->is_cut = false;
  entry->begin = reinterpret_cast<uintptr_t>(data);
}

void ForgetMapping(const char* data) {
  const std::lock_guard lock(adding);
  if (Watched* const entry = Find(reinterpret_cast<uintptr_t>(data))) entry->begin = 0;
}

bool IsCut(const char* data) {
  const Watched* const entry = Find(reinterpret_cast<uintptr_t>(data));
  return entry != nullptr && entry->is_cut;
}

}  // namespace tpuest
