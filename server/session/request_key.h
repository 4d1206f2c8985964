#ifndef FOREBAY_SERVER_SESSION_REQUEST_KEY_H_
#define FOREBAY_SERVER_SESSION_REQUEST_KEY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/session.pb.h"
#include "server/job/loader.h"
#include "server/job/snapshot.h"
#include "server/session/awaited_place.h"
#include "server/session/request_pool.h"

namespace forebay::session {

// The subject of a request, as far as a session knows it before it answers.
struct RequestSubject {
  // "job 7"; a client that has not greeted has none, but its session's name.
  std::string job;
  std::optional<AwaitedPlace> place;    // what it reads from
  std::shared_ptr<job::Loader> loader;  // the loader that it names; null: none
};

// All functions are thread-safe and none blocks or fails.

// Returns the number of the loader that a request is to start, stop or close,
// or whose workers it starts; 0: it does none of this.
std::uint64_t LoaderOf(const proto::ClientMessage& request);

// Returns the resources that the request may wait for.
RequestKey KeyOf(const proto::ClientMessage& request,
                 const RequestSubject& subject);

// Returns how the request is shown while it is not answered; nullopt: it waits
// for nothing that may hang.
std::optional<job::PendingRequest> PendingOf(
    const proto::ClientMessage& request, const RequestSubject& subject,
    std::int64_t now_nanos);

// Returns the UUIDs of the GPUs that the loaders' batches lie on, each once.
std::set<std::string> GpusOf(
    const std::vector<std::shared_ptr<job::Loader>>& loaders);

// Returns the key of the end of a loader, or of all of a session's: that
// unmaps slots, and frees memory of these GPUs.
RequestKey KeyOfEnd(const std::string& job,
                    const std::set<std::string>& gpus = {});

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_REQUEST_KEY_H_
