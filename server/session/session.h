#ifndef FOREBAY_SERVER_SESSION_SESSION_H_
#define FOREBAY_SERVER_SESSION_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/session.pb.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/fetch/sample_reader.h"
#include "server/job/loader.h"
#include "server/job/registry.h"
#include "server/session/awaited_place.h"
#include "server/session/object_reads.h"
#include "server/session/peer.h"
#include "server/session/place_book.h"
#include "server/session/request.h"
#include "server/session/request_pool.h"
#include "server/storage/root_opener.h"

namespace forebay::session {

// The session of one client: answers its requests and owns its loaders.
//
// One thread at a time calls Handle; all other methods are thread-safe. The
// server and the thread that answers share the session; the registry and the
// opener of remote roots outlive it. Handle blocks for scans, new slots and
// fetches. CloseAll blocks while an epoch starts. Interrupt ends scans and
// fetches. Errors go to the client as replies.
class Session {
 public:
  Session(std::uint64_t id, Peer peer, job::Registry* registry,
          storage::RootOpener* remote)
      : id_(id), peer_(peer), registry_(registry), remote_(remote) {}

  // Shows the request among those that the job waits for, until Handle returns
  // or the client leaves. Returns the resources that the request may wait for.
  // Call it before Handle.
  RequestKey Announce(const Request& request, std::int64_t now_nanos);
  // Answers a request.
  Reply Handle(Request request);
  // Makes scans and fetches fail with CANCELLED, now and later. Call it when
  // the client is gone, or the daemon is about to exit.
  void Interrupt() { interruption_.request_stop(); }
  // Returns the name that keys of requests have for the client's job.
  std::string JobName() const;

  // Returns the client's pidfd; -1 before its greeting.
  int pidfd() const;
  // Returns the daemon's end of a pipe that hangs up when the client has
  // nothing mapped any more. Returns -1 before the greeting, or if the greeting
  // came without a pipe.
  int lifeline() const;
  // Returns the open loaders, and the closed ones of which the client still
  // holds a batch.
  std::vector<std::shared_ptr<job::Loader>> Loaders() const;
  // Removes and returns the closed loaders of which the client holds nothing.
  // Their destruction unmaps memory, which takes milliseconds.
  std::vector<std::shared_ptr<job::Loader>> DropReleased();
  // Closes all loaders, including one that is being opened. Call it when the
  // client has hung up.
  void CloseAll();
  // The loaders and readers of a client, whose destruction may block.
  struct Holdings {
    std::vector<std::shared_ptr<job::Loader>> loaders;
    std::vector<std::shared_ptr<fetch::SampleReader>> readers;
  };
  // Ends the client's part in its job. Returns all loaders and readers that it
  // had, except those that a request under way still uses.
  Holdings Leave();

 private:
  using Fds = std::vector<base::Fd>;

  // Answers a request, after the checks that concern all kinds.
  Reply AnswerTo(Request request);
  // Calls the method for the kind of request.
  absl::Status Answer(const proto::ClientMessage& request, Fds fds,
                      proto::DaemonMessage& answer, Fds& answer_fds);
  // The methods that follow answer one kind of request each. They fill the
  // message for the answer, and the descriptors that go with it.
  absl::Status Greet(const proto::Hello& hello, Fds fds,
                     proto::Welcome& welcome);
  absl::Status OpenLoader(const proto::OpenLoader& request, Fds fds,
                          proto::LoaderOpened& opened, Fds& opened_fds);
  absl::Status OpenReader(const proto::OpenReader& request, Fds fds,
                          proto::ReaderOpened& opened, Fds& opened_fds);
  absl::Status Fetch(const proto::Fetch& request, proto::Fetched& fetched,
                     Fds& fetched_fds);
  absl::Status ReadObject(const proto::ReadObject& request, Fds fds,
                          proto::ObjectRead& read, Fds& read_fds);
  // Returns the names of the job and the process, for messages.
  std::string Owner() const {
    base::MutexLock lock(&mutex_);
    return attachment_->name();
  }
  // Returns the client's attachment to its job, unless the session has too many
  // loaders or readers to open one more.
  absl::StatusOr<job::Attachment*> Admit() const;
  absl::Status StartEpoch(const proto::StartEpoch& request, const Fds& fds,
                          proto::EpochStarted& started, Fds& slot_fds);
  absl::Status CloseLoader(std::uint64_t id, proto::LoaderClosed& closed);
  absl::Status GetStats(std::uint64_t id, proto::LoaderCounters* out);
  absl::Status StartWorkers(const proto::StartWorkers& request, Fds& fds);
  absl::Status GetSlots(const proto::GetSlots& request, Fds& slot_fds);
  // Returns the open loader of that number. NOT_FOUND: no open loader has that
  // number.
  absl::StatusOr<std::shared_ptr<job::Loader>> Find(std::uint64_t id) const;
  // Describes the place for which the current request may have to wait, in the
  // note that shows the request (`pending_`). Does nothing without a place or a
  // note.
  void DescribePending(const std::optional<AwaitedPlace>& place);

  const std::uint64_t id_;
  const Peer peer_;
  job::Registry* const registry_;
  storage::RootOpener* const remote_;
  std::stop_source interruption_;
  std::unique_ptr<ObjectReads> objects_;  // used by Handle's thread alone
  PlaceBook places_;

  mutable base::Mutex mutex_;
  base::Fd pidfd_ ABSL_GUARDED_BY(mutex_);
  base::Fd lifeline_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<job::Attachment> attachment_ ABSL_GUARDED_BY(mutex_);
  // The note that shows the request that is being answered.
  std::unique_ptr<job::PendingNote> pending_ ABSL_GUARDED_BY(mutex_);
  bool hung_up_ ABSL_GUARDED_BY(mutex_) = false;  // if so, no loader is added
  std::map<std::uint64_t, std::shared_ptr<job::Loader>> open_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<job::Loader>> closed_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_loader_ ABSL_GUARDED_BY(mutex_) = 0;
  // The readers in the order of their numbers, which begin at 1.
  std::vector<std::shared_ptr<fetch::SampleReader>> readers_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_SESSION_H_
