// One pool of threads for the process, made when it is first needed.
#include "machine/pool.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace timelike {
namespace {

struct Job {
    std::int64_t tasks;
    int threads;
    const std::function<void(std::int64_t, int)>* work;
    volatile bool* stop;
    std::atomic<std::int64_t> next{0}, finished{0};
    std::exception_ptr error{};  // the first that a worker met: it ends the work, and the caller is told

    // Tasks until there are no more; gives what one of them threw.
    std::exception_ptr take_part(int worker) {
        try {
            // tasks are taken, not dealt: they differ in size, and no result depends on who did them
            for (std::int64_t task; !*stop && (task = next++) < tasks; finished++) (*work)(task, worker);
        } catch (...) {
            *stop = true;
            return std::current_exception();
        }
        return {};
    }
};

// Waits until the workers are through, and asks now and then whether the work is still wanted.
template <class Through>
bool await(Job& job, const std::function<bool(std::int64_t)>& poll, std::unique_lock<std::mutex>& lock, std::condition_variable& done,
           const Through& through) {
    bool wanted = true;
    // 20 ms: Ctrl-C is answered at once for a person, and asking Python's lock fifty times a second costs nothing
    while (!done.wait_for(lock, std::chrono::milliseconds(20), through)) {
        if (!wanted) continue;
        lock.unlock();  // poll may run Python code, which may wait for anything
        if (!poll(job.finished)) {
            *job.stop = true;
            wanted = false;
        }
        lock.lock();
    }
    return wanted;
}

class Pool {
  public:
    // one caller at a time: a second one would only divide the same processors
    bool try_claim() { return !busy_.exchange(true); }
    void release() { busy_ = false; }

    bool run(Job& job, const std::function<bool(std::int64_t)>& poll) {
        grow(job.threads);
        std::unique_lock<std::mutex> lock(mutex_);
        job_ = &job;
        running_ = job.threads;
        round_++;
        wake_.notify_all();
        const bool wanted = await(job, poll, lock, done_, [&] { return running_ == 0; });
        job_ = nullptr;
        if (job.error) std::rethrow_exception(job.error);
        return wanted;
    }

  private:
    void grow(int threads) {
        std::lock_guard<std::mutex> lock(mutex_);
        // a thread waits for the next round, so that it does not join the one before it was made
        for (; size_ < threads; size_++) std::thread(&Pool::live, this, size_, round_).detach();
    }

    void live(int worker, std::uint64_t seen) {
        for (;;) {
            Job* job;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [&] { return round_ != seen; });
                seen = round_;
                if (!job_ || worker >= job_->threads) continue;
                job = job_;
            }
            const std::exception_ptr error = job->take_part(worker);
            std::lock_guard<std::mutex> lock(mutex_);
            if (error && !job->error) job->error = error;
            if (--running_ == 0) done_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::atomic<bool> busy_{false};
    Job* job_ = nullptr;
    int size_ = 0, running_ = 0;
    std::uint64_t round_ = 0;
};

// never destroyed: its threads may outlive static destruction
std::atomic<Pool*> the_pool{nullptr};

Pool& pool() {
    Pool* current = the_pool;
    if (!current) {
        Pool* fresh = new Pool;
        if (the_pool.compare_exchange_strong(current, fresh)) {
            current = fresh;
#if !defined(_WIN32)
            // a child has the pool's memory without its threads: it forgets it and makes its own
            static const int once = pthread_atfork(nullptr, nullptr, [] { the_pool = nullptr; });
            (void)once;
#endif
        } else {
            delete fresh;
        }
    }
    return *current;
}

// On one thread made for it, while somebody else has the pool: who waits here hears Ctrl-C in the middle of a task too.
bool run_beside(Job& job, const std::function<bool(std::int64_t)>& poll) {
    std::mutex mutex;
    std::condition_variable done;
    bool through = false;
    std::unique_lock<std::mutex> lock(mutex);
    std::thread worker([&] {
        const std::exception_ptr error = job.take_part(0);
        std::lock_guard<std::mutex> held(mutex);
        job.error = error, through = true;
        done.notify_all();
    });
    const bool wanted = await(job, poll, lock, done, [&] { return through; });
    lock.unlock();
    worker.join();
    if (job.error) std::rethrow_exception(job.error);
    return wanted;
}

// On the calling thread, for what is done in less time than it takes to wake another.
bool run_here(Job& job, const std::function<bool(std::int64_t)>& poll) {
    auto last = std::chrono::steady_clock::now();
    for (std::int64_t task = 0; task < job.tasks; task++) {
        (*job.work)(task, 0);
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(20)) continue;
        last = now;
        if (!poll(task + 1)) return false;
    }
    return true;
}

}  // namespace

bool run_tasks(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& work,
               const std::function<bool(std::int64_t)>& poll, volatile bool* stop) {
    Job job{tasks, threads, &work, stop};
    Pool& shared = pool();
    if (threads < 1) return run_here(job, poll);
    if (!shared.try_claim()) return run_beside(job, poll);
    struct Release {
        Pool& held;
        ~Release() { held.release(); }
    } release{shared};
    return shared.run(job, poll);
}

}  // namespace timelike
