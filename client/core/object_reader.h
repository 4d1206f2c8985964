#ifndef FOREBAY_CLIENT_CORE_OBJECT_READER_H_
#define FOREBAY_CLIENT_CORE_OBJECT_READER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "client/base/fork_handlers.h"
#include "client/base/status.h"
#include "client/forebay_object.h"
#include "client/shm/window.h"
#include "client/wire/session.h"
#include "proto/fd.h"

namespace forebay::client::core {

// Reads ranges of single files and objects. Its contract on threads, blocking,
// forks and errors is that of forebay_object_reader in forebay_object.h. Owns a
// session of its own and the window in which the daemon shows the bytes. A
// forked child gives up both at once.
class ObjectReader final : private ForkListener {
 public:
  static Status Open(const forebay_loader_options& options,
                     std::unique_ptr<ObjectReader>* out);
  ~ObjectReader() { ForkHandlers::Remove(this); }

  Status Ask(const forebay_object_range& range);
  Status Await(std::int64_t timeout_nanos, forebay_object_part* out);

 private:
  ObjectReader(std::unique_ptr<wire::Session> session, pid_t process)
      : session_(std::move(session)), process_(process) {
    ForkHandlers::Add(this);
  }

  Status CheckProcess() const;
  // Maps the window that came with `reply`, if there is one. INTERNAL if the
  // answer's bytes do not fit into the window.
  Status TakeWindow(wire::Reply reply, const message::ObjectRead& read);

  void BeforeFork() override { window_mutex_.lock(); }
  void AfterForkInParent() override { window_mutex_.unlock(); }
  void AfterForkInChild() override;

  const std::unique_ptr<wire::Session> session_;
  const pid_t process_;
  std::uint64_t request_ = 0;  // id of the request that is awaited; 0: none
  // Guards the fields below. A fork waits for this mutex, so that the child
  // inherits consistent fields.
  std::mutex window_mutex_;
  // The window to map next. The daemon sends each window only once. If mapping
  // it fails, the next answer causes another try.
  proto::Fd new_window_;
  std::uint64_t new_window_bytes_ = 0;
  shm::FetchWindow window_;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_OBJECT_READER_H_
