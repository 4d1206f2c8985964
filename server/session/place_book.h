#ifndef FOREBAY_SERVER_SESSION_PLACE_BOOK_H_
#define FOREBAY_SERVER_SESSION_PLACE_BOOK_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "proto/session.pb.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/session/awaited_place.h"

namespace forebay::session {

// Knows the places that a session's requests read from: of its readers, and of
// the folders that it has read files in last.
//
// Thread-safe; the session owns it. Makes no call that a file system or a host
// can delay. No errors.
class PlaceBook {
 public:
  // Returns the place of a request that came with those descriptors; nullopt:
  // it reads from none, or which one is not known yet.
  std::optional<AwaitedPlace> Find(const proto::ClientMessage& request,
                                   absl::Span<const base::Fd> fds);

  // Adds the place of the reader that was opened last; readers are numbered
  // from 1.
  void AddReader(std::optional<AwaitedPlace> place);

 private:
  AwaitedPlace PlaceOfRoot(const std::string& uri, int directory);

  base::Mutex mutex_;
  std::vector<std::optional<AwaitedPlace>> readers_ ABSL_GUARDED_BY(mutex_);
  // By the URI; the one that was asked for last comes first.
  std::deque<std::pair<std::string, AwaitedPlace>> roots_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_PLACE_BOOK_H_
