#ifndef FOREBAY_SERVER_STORAGE_HTTP_AWAITED_CALL_H_
#define FOREBAY_SERVER_STORAGE_HTTP_AWAITED_CALL_H_

#include <cstdint>
#include <stop_token>

#include "absl/status/statusor.h"
#include "server/storage/http/client.h"
#include "server/storage/http/message.h"

namespace forebay::storage::http {

// The most attempts of a call whose end a user waits for, such as a call that
// opens a dataset. If all attempts fail, the call ends with an error after
// about half a minute.
inline constexpr int kAwaitedAttempts = 8;
// The Patience of a call whose end a user waits for.
inline constexpr Patience kAwaitedPatience = {
    .silent_host_nanos = 13'000'000'000, .silent_call_nanos = 60'000'000'000};
// If no byte of an answer comes within this time, the request is made once
// more, beside the first. The host's name may stand for several servers, one of
// which hangs.
inline constexpr std::int64_t kAwaitedRepeatNanos = 4'000'000'000;

// Makes a call that has no `done`, and waits for its end. If the call leaves
// `attempts` at INT_MAX, it gets kAwaitedAttempts and kAwaitedPatience. The
// request may be made twice, so `judge` may be called for both answers, one
// after the other.
//
// Any thread but the engine's may call it. The client outlives the call.
// Blocks, but not for long once `stop` is requested. Errors are those of the
// client, and CANCELLED if `stop` was requested.
absl::StatusOr<HttpResponse> Await(Client* client, Call call,
                                   const std::stop_token& stop = {});

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_AWAITED_CALL_H_
