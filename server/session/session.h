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

// One client: answers its requests and holds its loaders.
//
// One thread at a time calls Handle; the rest is thread-safe. Shared by the
// server and the thread that answers; the registry and the opener of remote
// roots outlive it. Handle blocks (scans, new slots, fetches), and so does
// CloseAll, for an epoch that starts; Interrupt ends scans and fetches. Errors
// go to the client as replies.
class Session {
 public:
  Session(std::uint64_t id, Peer peer, job::Registry* registry,
          storage::RootOpener* remote)
      : id_(id), peer_(peer), registry_(registry), remote_(remote) {}

  // Shows the request among those that the job waits for, until Handle returns
  // or the client leaves. Returns the resources that it may wait for. To be
  // called before Handle.
  RequestKey Announce(const Request& request, std::int64_t now_nanos);
  Reply Handle(Request request);
  // Makes scans and fetches fail with CANCELLED, now and later. To be called
  // when the client is gone, or the daemon is about to leave.
  void Interrupt() { interruption_.request_stop(); }
  // The job of the client, as keys of requests name it.
  std::string JobName() const;

  // The client's pidfd; -1 before its greeting.
  int pidfd() const;
  // The end of a pipe that tells when the client has nothing mapped any more;
  // -1 before its greeting, and if none came with that.
  int lifeline() const;
  // Returns the open loaders, and closed ones that the client still holds a
  // batch of.
  std::vector<std::shared_ptr<job::Loader>> Loaders() const;
  // Forgets and returns the closed loaders that the client holds nothing of.
  // Their end unmaps memory, which takes milliseconds.
  std::vector<std::shared_ptr<job::Loader>> DropReleased();
  // Closes every loader, also one that is being opened. To be called when the
  // client has hung up.
  void CloseAll();
  // The loaders and readers of a client, whose end may block.
  struct Holdings {
    std::vector<std::shared_ptr<job::Loader>> loaders;
    std::vector<std::shared_ptr<fetch::SampleReader>> readers;
  };
  // Ends the client's part in its job. Returns all that it held, except what a
  // request that is under way still uses.
  Holdings Leave();

 private:
  using Fds = std::vector<base::Fd>;

  Reply AnswerTo(Request request);
  absl::Status Answer(const proto::ClientMessage& request, Fds fds,
                      proto::DaemonMessage& answer, Fds& answer_fds);
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
  // The job and the process, for people.
  std::string Owner() const {
    base::MutexLock lock(&mutex_);
    return attachment_->name();
  }
  // Returns the attachment that may open one more loader or reader.
  absl::StatusOr<job::Attachment*> Admit() const;
  absl::Status StartEpoch(const proto::StartEpoch& request, const Fds& fds,
                          proto::EpochStarted& started, Fds& slot_fds);
  absl::Status CloseLoader(std::uint64_t id, proto::LoaderClosed& closed);
  absl::Status GetStats(std::uint64_t id, proto::Stats& stats);
  absl::Status StartProducers(const proto::StartProducers& request, Fds& fds);
  absl::Status GetSlots(const proto::GetSlots& request, Fds& slot_fds);
  absl::StatusOr<std::shared_ptr<job::Loader>> Find(std::uint64_t id) const;
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
  // Of the request that is being answered.
  std::unique_ptr<job::PendingNote> pending_ ABSL_GUARDED_BY(mutex_);
  bool hung_up_ ABSL_GUARDED_BY(mutex_) = false;  // no loader is added any more
  std::map<std::uint64_t, std::shared_ptr<job::Loader>> open_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<job::Loader>> closed_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_loader_ ABSL_GUARDED_BY(mutex_) = 0;
  // By their numbers, from 1.
  std::vector<std::shared_ptr<fetch::SampleReader>> readers_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_SESSION_H_
