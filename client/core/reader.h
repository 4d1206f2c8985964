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
#include "proto/fd.h"
#include "proto/job.message.h"
#include "proto/session.message.h"

namespace forebay::client::core {

// Reads single samples. Its contract on threads, blocking, forks and errors is
// that of forebay_reader in forebay_reader.h. Owns a session of its own and the
// window in which the daemon shows samples. A forked child gives up both at
// once, so that only the parent decides how long the daemon keeps them.
class Reader final : private ForkListener {
 public:
  // Connects to a daemon and asks it for a reader. `dataset`: null for the
  // dataset that the options describe.
  static Status Create(const forebay_loader_options& options,
                       const wire::Dataset* dataset,
                       message::PipelineSpec pipeline, bool decode,
                       std::unique_ptr<Reader>* out);
  ~Reader() { ForkHandlers::Remove(this); }

  Status Open(std::int64_t timeout_nanos);
  // Finds the daemon's answer to the request to open the reader. The answer
  // lives as long as the reader. FAILED_PRECONDITION until Open has succeeded.
  Status GetOpened(const message::ReaderOpened** out) const;
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
  std::uint64_t request_;  // id of the request that is awaited; 0: none
  const pid_t process_;
  bool is_open_ = false;
  // The daemon's answer; it has `classes` once the reader is open.
  message::ReaderOpened opened_;
  // Held while the window changes. A fork waits for this mutex, so that the
  // child inherits a consistent window.
  std::mutex window_mutex_;
  // The window to map next. The daemon sends each window only once. If mapping
  // it fails, the next answer causes another try.
  proto::Fd new_window_;
  std::uint64_t new_window_bytes_ = 0;
  shm::FetchWindow window_;
  // The number of samples of the last request.
  size_t requested_count_ = 0;
  // The number of samples that the window shows: `requested_count_`, or 0 while
  // the request's samples are not there yet.
  size_t window_count_ = 0;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_READER_H_
