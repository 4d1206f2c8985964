#ifndef FOREBAY_CLIENT_CORE_READER_H_
#define FOREBAY_CLIENT_CORE_READER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "client/base/fork_handlers.h"
#include "client/base/status.h"
#include "client/forebay_reader.h"
#include "client/shm/window.h"
#include "client/wire/dataset.h"
#include "client/wire/session.h"
#include "client/wire/session_codec.h"
#include "proto/fd.h"

namespace forebay::client::core {

// Reads single samples. Its contract on threads, blocking, forks and errors is
// that of forebay_reader in forebay_reader.h. Owns a session of its own and the
// window. A forked child gives up both at once, so that only the parent decides
// how long the daemon keeps them.
class Reader final : private ForkListener {
 public:
  // `dataset`: null for the one that the options describe.
  static Status Create(const forebay_loader_options& options,
                       const wire::Dataset* dataset,
                       const std::string& pipeline, bool decode,
                       std::unique_ptr<Reader>* out);
  ~Reader() { ForkHandlers::Remove(this); }

  Status Open(std::int64_t timeout_nanos);
  // Finds what the daemon answered when it opened the reader. It lives as long
  // as the reader. FAILED_PRECONDITION until Open has succeeded.
  Status GetOpened(const wire::ReaderOpened** out) const;
  Status Ask(const std::int64_t* samples, size_t count);
  Status Await(std::int64_t timeout_nanos);
  Status Field(size_t sample, std::uint32_t index, forebay_field* out) const;

 private:
  Reader(std::unique_ptr<wire::Session> session, std::uint64_t request,
         pid_t process)
      : session_(std::move(session)), request_(request), process_(process) {
    ForkHandlers::Add(this);
  }

  Status CheckOpen() const;
  Status CheckProcess() const;

  void BeforeFork() override { window_mutex_.lock(); }
  void AfterForkInParent() override { window_mutex_.unlock(); }
  void AfterForkInChild() override;

  const std::unique_ptr<wire::Session> session_;
  std::uint64_t request_;  // whose answer is awaited; 0: none
  const pid_t process_;
  bool is_open_ = false;
  wire::ReaderOpened opened_;
  std::mutex window_mutex_;  // held while the rest changes
  // The window to map. The daemon sends it once; a failed mapping is tried
  // again.
  proto::Fd new_window_;
  std::uint64_t new_window_bytes_ = 0;
  shm::Window window_;
  size_t asked_ = 0;  // samples of the last request
  size_t shown_ = 0;  // of them in the window
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_READER_H_
