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

// Answers a client's ReadObject requests. Keeps the folders that it has read in
// last, since the next file often lies in one of them, and looking a folder up
// takes longer than a read from memory.
//
// Used by one thread at a time. Owned by the session; `remote` outlives it.
// Read blocks as fetch::ObjectReader does. Errors: INVALID_ARGUMENT, a request
// that is none; else the reader's and the opener's.
class ObjectReads {
 public:
  ObjectReads(std::unique_ptr<fetch::ObjectReader> reader,
              storage::RootOpener* remote)
      : reader_(std::move(reader)), remote_(remote) {}

  // Takes the descriptors that came with the request.
  absl::Status Read(const proto::ReadObject& request, std::vector<base::Fd> fds,
                    const std::stop_token& stop, proto::ObjectRead& read,
                    std::vector<base::Fd>& read_fds);

 private:
  // A folder, as the kernel and the client name it.
  struct RecentRoot {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::shared_ptr<const storage::Root> root;
  };

  absl::StatusOr<std::shared_ptr<const storage::Root>> RootOf(
      const std::string& uri, std::vector<base::Fd> fds,
      const std::stop_token& stop);

  const std::unique_ptr<fetch::ObjectReader> reader_;
  storage::RootOpener* const remote_;
  std::deque<RecentRoot> recent_;  // the last one first
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_OBJECT_READS_H_
