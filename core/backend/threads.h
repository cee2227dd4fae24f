#pragma once
// The step threads of a program: a fixed team that runs one function at a time.

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tpuest {

class ThreadTeam {
 public:
  // threads >= 1, the caller's among them. Each sets its OpenMP thread count to one, so that oneDNN
  // computes on the thread that calls it.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(task, thread) for every task in 0..tasks-1, each on some thread, and returns when
  // all are done. If tasks throw, all tasks before the first of these are still run, and its
  // exception is rethrown.
  void ForEach(int tasks, const std::function<void(int task, int thread)>& work);

 private:
  void Stop();
  void Serve(int thread);
  void TakeTasks(int thread);

  std::vector<std::thread> workers_;
  const std::function<void(int, int)>* work_ = nullptr;
  int tasks_ = 0;
  std::atomic<int> next_{0};
  std::atomic<int> running_{0};
  std::atomic<uint32_t> round_{0};
  std::atomic<bool> stop_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  int failed_ = 0;  // the task of error_
};

}  // namespace tpuest
