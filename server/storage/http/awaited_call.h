#ifndef FOREBAY_SERVER_STORAGE_HTTP_AWAITED_CALL_H_
#define FOREBAY_SERVER_STORAGE_HTTP_AWAITED_CALL_H_

#include <cstdint>
#include <stop_token>

#include "absl/status/statusor.h"
#include "server/storage/http/client.h"
#include "server/storage/http/message.h"

namespace forebay::storage::http {

// Attempts of a call that a client waits for, such as those that open a
// dataset: half a minute of faults, or less, is an error.
inline constexpr int kAwaitedAttempts = 8;
// The patience of such a call.
inline constexpr Patience kAwaitedPatience = {
    .silent_host_nanos = 13'000'000'000, .silent_call_nanos = 60'000'000'000};
// If no byte has come in this time, the request is made once more, beside the
// first: one server of several behind a name may hang.
inline constexpr std::int64_t kAwaitedRepeatNanos = 4'000'000'000;

// Makes the call, without its `done`, and waits for its end. A call that names
// no number of attempts has those above, and their patience; its `judge` must
// bear the answers of two requests, one after the other.
//
// Any thread but the engine's may call it. The client must outlive the call.
// Blocks, but not for long once `stop` is requested. Errors: the client's;
// CANCELLED, stopped.
absl::StatusOr<Answer> Await(Client* client, Call call,
                             const std::stop_token& stop = {});

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_AWAITED_CALL_H_
