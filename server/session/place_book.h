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

// Finds the place from which a request of a session reads. Stores the places of
// the session's readers, and of the folders from which files were read last.
//
// Thread-safe. The session owns it. Makes no call that a file system or a host
// can delay. Has no errors.
class PlaceBook {
 public:
  // Returns the place of a request that came with the descriptors `fds`.
  // Returns nullopt if the request reads from no place, or the place is not
  // known yet.
  std::optional<AwaitedPlace> Find(const proto::ClientMessage& request,
                                   absl::Span<const base::Fd> fds);

  // Adds the place of the reader that was opened last; readers are numbered
  // from 1.
  void AddReader(std::optional<AwaitedPlace> place);

 private:
  // Returns the place of a folder from which a file is read.
  AwaitedPlace PlaceOfRoot(const std::string& uri, int directory);

  base::Mutex mutex_;
  std::vector<std::optional<AwaitedPlace>> readers_ ABSL_GUARDED_BY(mutex_);
  // The places of folders by their URIs; the one added last comes first.
  std::deque<std::pair<std::string, AwaitedPlace>> roots_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_PLACE_BOOK_H_
