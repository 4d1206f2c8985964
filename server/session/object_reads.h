#ifndef FOREBAY_SERVER_SESSION_OBJECT_READS_H_
#define FOREBAY_SERVER_SESSION_OBJECT_READS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/session.pb.h"
#include "server/base/fd.h"
#include "server/fetch/object_reader.h"
#include "server/storage/byte_source.h"
#include "server/storage/root_opener.h"

namespace forebay::session {

// Answers a client's ReadObject requests. The folders that were read last stay
// open. The next file is often in one of them, and opening a folder takes
// longer than a read from memory.
//
// Used by one thread at a time. The session owns it; `remote` outlives it. Read
// blocks as fetch::ObjectReader does. INVALID_ARGUMENT: the request is
// malformed. Other errors are those of the reader and of the opener.
class ObjectReads {
 public:
  ObjectReads(std::unique_ptr<fetch::ObjectReader> reader,
              storage::RootOpener* remote)
      : reader_(std::move(reader)), remote_(remote) {}

  // Reads the range of an object that `request` names, and fills `read`. Takes
  // the descriptors that came with the request. A new window's descriptor goes
  // to `read_fds`.
  absl::Status Read(const proto::ReadObject& request, std::vector<base::Fd> fds,
                    const std::stop_token& stop, proto::ObjectRead& read,
                    std::vector<base::Fd>& read_fds);

 private:
  // A folder that was read, identified by the kernel's numbers for it.
  struct RecentRoot {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::shared_ptr<const storage::Root> root;
  };

  // Returns the root that a request names by `uri` and descriptors. If it is
  // among the recent ones, returns the root that is open already.
  absl::StatusOr<std::shared_ptr<const storage::Root>> RootOf(
      const std::string& uri, std::vector<base::Fd> fds,
      const std::stop_token& stop);

  const std::unique_ptr<fetch::ObjectReader> reader_;
  storage::RootOpener* const remote_;
  std::deque<RecentRoot> recent_;  // the one opened last comes first
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_OBJECT_READS_H_
