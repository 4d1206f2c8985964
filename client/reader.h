#ifndef FOREBAY_CLIENT_READER_H_
#define FOREBAY_CLIENT_READER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "client/dataset.h"
#include "client/fd.h"
#include "client/forebay_reader.h"
#include "client/fork_handlers.h"
#include "client/session.h"
#include "client/session_codec.h"
#include "client/status.h"
#include "client/window.h"

namespace forebay::client {

// A reader of single samples. Its contract on threads, blocking, forks and
// errors is that of forebay_reader in forebay_reader.h. Owns a session of its
// own, and the window; a forked child gives both up at once, so that the parent
// alone says how long the daemon keeps them.
class Reader final : private ForkListener {
 public:
  // `dataset` null: the one that the options describe.
  static Status Create(const forebay_loader_options& options,
                       const Dataset* dataset, const std::string& pipeline,
                       bool decode, std::unique_ptr<Reader>* out);
  ~Reader() { ForkHandlers::Remove(this); }

  Status Open(std::int64_t timeout_nanos);
  // Null until Open has succeeded.
  const ReaderOpened* opened() const { return is_open_ ? &opened_ : nullptr; }
  Status Ask(const std::int64_t* samples, size_t count);
  Status Await(std::int64_t timeout_nanos);
  Status Field(size_t sample, std::uint32_t index, forebay_field* out) const;

 private:
  Reader(std::unique_ptr<Session> session, std::uint64_t request, pid_t process)
      : session_(std::move(session)), request_(request), process_(process) {
    ForkHandlers::Add(this);
  }

  Status CheckOpen() const;
  Status CheckProcess() const;

  void BeforeFork() override { window_mutex_.lock(); }
  void AfterForkInParent() override { window_mutex_.unlock(); }
  void AfterForkInChild() override;

  const std::unique_ptr<Session> session_;
  std::uint64_t request_;  // that is to be awaited; 0: none
  const pid_t process_;
  bool is_open_ = false;
  ReaderOpened opened_;
  std::mutex window_mutex_;  // held while what follows changes
  // Of the window to be mapped: it is sent once, and tried again if it fails.
  Fd new_window_;
  std::uint64_t new_window_bytes_ = 0;
  Window window_;
  size_t asked_ = 0;  // samples
  size_t shown_ = 0;  // of them, in the window
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_READER_H_
