#include "core/backend/threads.h"

#include <omp.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

namespace tpuest {
namespace {

// Looks at an atomic for a few microseconds before it sleeps on it: phases follow each other fast.
template <class T>
void WaitWhile(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < 2000; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    __builtin_ia32_pause();
  }
  value.wait(old, std::memory_order_acquire);
}

// Some of oneDNN's kernels (sgemm's for AVX2) let the stack pointer point into a buffer on the heap
// while they compute: what a signal handler puts on the stack there overwrites what lies below. So
// threads that compute take no signals, while one of these lives. The main thread takes them; its
// handlers have a stack of their own (cli/host/signals.cpp).
class WithoutSignals {
 public:
  WithoutSignals() {
    if (::gettid() == ::getpid()) return;
    sigset_t signals;
    sigfillset(&signals);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&signals, fault);
    }
    is_blocked_ = pthread_sigmask(SIG_BLOCK, &signals, &before_) == 0;
  }
  ~WithoutSignals() {
    if (is_blocked_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
  bool is_blocked_ = false;
};

}  // namespace

ThreadTeam::ThreadTeam(int threads) {
  omp_set_num_threads(1);
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { Serve(i); });
  } catch (...) {
    Stop();  // the system has no thread more; those that there are wait
    throw;
  }
}

ThreadTeam::~ThreadTeam() { Stop(); }

// Workers wait for round_ to change and look at stop_ then.
void ThreadTeam::Stop() {
  stop_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// work_, tasks_ and next_ are written before round_ goes up, which publishes them to the workers;
// running_ comes back to 0 when every worker has looked for tasks and found none left, so nobody
// reads them after this returns.
void ThreadTeam::ForEach(int tasks, const std::function<void(int, int)>& work) {
  const WithoutSignals without;
  if (tasks <= 1 || workers_.empty()) {
    for (int task = 0; task < tasks; ++task) work(task, 0);
    return;
  }
  work_ = &work;
  tasks_ = tasks;
  next_ = 0;
  running_ = static_cast<int>(workers_.size());
  ++round_;
  round_.notify_all();
  TakeTasks(0);
  while (true) {
    const int running = running_.load(std::memory_order_acquire);
    if (running == 0) break;
    WaitWhile(running_, running);
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// A worker sees each round once: the next one cannot begin before it has counted itself out.
void ThreadTeam::Serve(int thread) {
  const WithoutSignals without;
  omp_set_num_threads(1);
  uint32_t seen = 0;
  while (true) {
    WaitWhile(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (stop_) return;
    TakeTasks(thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  }
}

void ThreadTeam::TakeTasks(int thread) {
  while (true) {
    const int task = next_.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks_) return;
    try {
      (*work_)(task, thread);
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_ || task < failed_) {
        error_ = std::current_exception();
        failed_ = task;
      }
      next_ = tasks_;  // all tasks before this one are taken already
    }
  }
}

}  // namespace tpuest
