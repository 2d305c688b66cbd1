// A small pool of threads over numbered tasks. Idle threads sleep; a child process after fork starts a pool of its own.
#pragma once
#include <cstdint>
#include <functional>

namespace timelike {

using Poll = std::function<bool(std::int64_t done, std::int64_t total)>;  // false asks to stop

// Runs work(task, worker) for every task on `threads` threads and waits. `poll` is called on the calling thread every
// few milliseconds with the number of finished tasks; when it gives false, *stop is set and tasks not begun are dropped.
// Returns whether everything was done; what a worker throws is thrown here. A second caller, while the pool is busy, has one thread made for it.
// With `threads` 0 the calling thread does it all and polls between tasks only: for small jobs, which have ended before anybody could wish it.
bool run_tasks(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& work,
               const std::function<bool(std::int64_t)>& poll, volatile bool* stop);

}  // namespace timelike
