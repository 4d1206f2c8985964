#ifndef FOREBAY_SERVER_SESSION_REQUEST_KEY_H_
#define FOREBAY_SERVER_SESSION_REQUEST_KEY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/session.pb.h"
#include "server/job/job_snapshot.h"
#include "server/job/loader.h"
#include "server/session/awaited_place.h"
#include "server/session/request_pool.h"

namespace forebay::session {

// The facts about a request that a session knows before it answers the request.
struct RequestSubject {
  // The client's job, such as "job 7". Before the greeting, the client's
  // session, such as "session 3".
  std::string job;
  std::optional<AwaitedPlace> place;    // the place that the request reads from
  std::shared_ptr<job::Loader> loader;  // the loader that it names, or null
};

// All functions are thread-safe, never block and have no errors.

// Returns the number of the loader that a request starts, stops or closes, or
// whose workers it starts; 0 for other requests.
std::uint64_t LoaderOf(const proto::ClientMessage& request);

// Returns the resources that the request may wait for.
RequestKey KeyOf(const proto::ClientMessage& request,
                 const RequestSubject& subject);

// Returns the note that shows the request to people until it is answered.
// Returns nullopt for a request that waits for nothing that may hang.
std::optional<job::PendingRequest> PendingOf(
    const proto::ClientMessage& request, const RequestSubject& subject,
    std::int64_t now_nanos);

// Returns the UUIDs of the GPUs that the loaders have their batches on.
std::set<std::string> GpusOf(
    const std::vector<std::shared_ptr<job::Loader>>& loaders);

// Returns the key of the work that ends loaders of a job. This work unmaps
// slots, and frees memory of the GPUs whose UUIDs are `gpus`.
RequestKey KeyOfEnd(const std::string& job,
                    const std::set<std::string>& gpus = {});

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_REQUEST_KEY_H_
