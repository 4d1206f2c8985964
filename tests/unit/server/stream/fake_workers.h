#ifndef FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_WORKERS_H_
#define FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_WORKERS_H_

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "proto/worker_socket.h"
#include "server/base/fd.h"

namespace forebay::stream {

// A worker pool and its workers, which are processes. They make the samples of
// a NumberedDataset with the fields "image" (the sample's id and its epoch) and
// "label". Used by one thread at a time.
class FakeWorkers {
 public:
  explicit FakeWorkers(base::Fd socket)
      : shared_(new(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared()),
        pid_(fork()) {
    setpgid(pid_, pid_);
    // The child of a process with threads must not allocate memory.
    if (pid_ == 0) RunWorkerPool(socket.get());
  }
  ~FakeWorkers() {
    Leave();
    munmap(shared_, sizeof(Shared));
  }

  // Stops all of the processes, until Continue().
  void Stop() const {
    kill(-pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }
  void Continue() const { kill(-pid_, SIGCONT); }
  // Kills all of the processes.
  void Leave() {
    if (std::exchange(left_, true)) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  // The next orders to fork get this failure as their answer.
  void RefuseForks(const std::string& text) {
    std::memcpy(shared_->refusal.data(), text.c_str(), text.size() + 1);
    shared_->refuses_forks = true;
  }
  // The next orders and tasks get this failure as their answer, unless it is
  // empty.
  void Refuse(const std::string& text) {
    std::memcpy(shared_->refusal.data(), text.c_str(), text.size() + 1);
    shared_->refuses = !text.empty();
  }
  // The next `workers` workers to be forked end at once.
  void EndAtOnce(int workers) { shared_->ending = workers; }
  // Returns how often the worker pool has got `command`.
  int asked(proto::WorkerCommand command) const {
    return shared_->asked[static_cast<std::size_t>(command)];
  }
  // Returns how many samples were made.
  int made() const { return shared_->made; }

 private:
  struct Slot {
    std::uint8_t* data = nullptr;
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, 2> offsets = {};
  };
  // The memory that all processes share.
  struct Shared {
    std::atomic<bool> refuses = false;
    std::atomic<bool> refuses_forks = false;
    std::array<char, 100> refusal = {};
    std::array<std::atomic<int>, 8> asked = {};
    std::atomic<int> made = 0;
    std::atomic<int> ending = 0;
  };
  struct Task {
    proto::WorkerTask head = {};
    std::array<std::uint8_t, 16384> behind = {};
    int fd = -1;
  };

  static bool Receive(int socket, Task* task) {
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    std::array<struct iovec, 2> data = {
        {{.iov_base = &task->head, .iov_len = sizeof(task->head)},
         {.iov_base = task->behind.data(), .iov_len = task->behind.size()}}};
    struct msghdr message = {};
    message.msg_iov = data.data();
    message.msg_iovlen = data.size();
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    if (recvmsg(socket, &message, 0) <= 0) return false;
    task->fd = -1;
    if (const struct cmsghdr* const header = CMSG_FIRSTHDR(&message))
      std::memcpy(&task->fd, CMSG_DATA(header), sizeof(task->fd));
    return true;
  }

  bool Answer(int socket, bool refuses) const {
    struct {
      proto::WorkerAnswer answer;
      proto::WorkerFailure why;
      std::array<char, 100> text;
    } said = {};
    said.answer.cpu_nanos = 1000;
    std::size_t bytes = sizeof(said.answer);
    if (refuses) {
      said.answer.failures = 1;
      said.text = shared_->refusal;
      said.why.bytes =
          static_cast<std::uint32_t>(std::strlen(said.text.data()));
      bytes += sizeof(said.why) + said.why.bytes;
    }
    return send(socket, &said, bytes, MSG_NOSIGNAL) > 0;
  }

  [[noreturn]] void RunWorkerPool(int socket) {
    static Task task;
    while (Receive(socket, &task)) {
      ++shared_->asked[static_cast<std::size_t>(task.head.command)];
      const bool forks = task.head.command == proto::WorkerCommand::kFork;
      const bool refuses =
          shared_->refuses || (forks && shared_->refuses_forks);
      if (!refuses) Obey(socket, task);
      if (task.fd >= 0) close(task.fd);
      if (!Answer(socket, refuses)) break;
    }
    _exit(0);
  }

  void Obey(int socket, const Task& task) {
    Slot& slot = slots_[task.head.slot];
    switch (task.head.command) {
      case proto::WorkerCommand::kMapSlot:
        slot.bytes = task.head.bytes;
        slot.data = static_cast<std::uint8_t*>(mmap(nullptr, slot.bytes,
                                                    PROT_READ | PROT_WRITE,
                                                    MAP_SHARED, task.fd, 0));
        std::memcpy(slot.offsets.data(), task.behind.data(),
                    sizeof(slot.offsets));
        break;
      case proto::WorkerCommand::kUnmapSlot:
        munmap(slot.data, slot.bytes);
        break;
      case proto::WorkerCommand::kFork:
        if (fork() == 0) {
          prctl(PR_SET_PDEATHSIG, SIGKILL);
          close(socket);
          if (shared_->ending-- > 0) _exit(1);
          RunWorker(task.fd);
        }
        break;
      default:
        break;
    }
  }

  [[noreturn]] void RunWorker(int socket) {
    static Task task;
    while (Receive(socket, &task)) {
      const bool on_device =
          task.head.command == proto::WorkerCommand::kMakeOnDevice;
      const std::size_t size = on_device ? sizeof(proto::ProducedOnDevice)
                                         : sizeof(proto::ProducedSample);
      for (std::uint32_t i = 0; i < task.head.count; ++i) {
        proto::ProducedOnDevice asked = {};
        std::memcpy(&asked, task.behind.data() + i * size, size);
        const proto::ProducedSample& sample = asked.sample;
        const Slot& slot = slots_[on_device ? asked.device : sample.slot];
        const std::uint64_t pixels[2] = {sample.id, task.head.epoch};
        const auto label = static_cast<std::int64_t>(10 * sample.id);
        std::memcpy(slot.data + slot.offsets[0] + 16 * sample.row, pixels, 16);
        std::memcpy(slot.data + slot.offsets[1] + 8 * sample.row, &label, 8);
      }
      shared_->made += static_cast<int>(task.head.count);
      if (!Answer(socket, false)) break;
    }
    _exit(0);
  }

  Shared* const shared_;
  std::array<Slot, 64> slots_;  // the slots that the worker pool has mapped
  const pid_t pid_;
  bool left_ = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_WORKERS_H_
