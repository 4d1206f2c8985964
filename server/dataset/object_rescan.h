#ifndef FOREBAY_SERVER_DATASET_OBJECT_RESCAN_H_
#define FOREBAY_SERVER_DATASET_OBJECT_RESCAN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/object_parser.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset {

// Parses one object again, whose ctime alone has changed since it was indexed,
// as ObjectLayout::LookAgain wants it: a chain of reads, each begun by the one
// before. The first takes the object in its present revision. If another read
// finds a different one, the parsing begins anew.
//
// Used by one thread at a time. The read in flight owns it. Never blocks.
// Errors are those that LookAgain tells; RESOURCE_EXHAUSTED: the budget has no
// room for what the parser counts.
class ObjectRescan : public std::enable_shared_from_this<ObjectRescan> {
 public:
  using Done = std::function<void(absl::StatusOr<storage::Revision>)>;

  // `read` is the one that failed. The budget and `source` outlive it, and
  // `what` says what it is, for the budget's errors.
  ObjectRescan(const storage::ReadRequest& read, storage::ByteSource& source,
               base::MemoryBudget* budget, std::string what, Done done);
  virtual ~ObjectRescan() = default;

  void Begin();

 protected:
  const std::string& object() const { return object_; }
  const storage::ObjectVersion& version() const { return version_; }

 private:
  // Makes a parser in place of the last one. It lives as long as this, or until
  // the next call. An error tells that the object is not what was indexed.
  virtual absl::StatusOr<ObjectParser*> Parse(base::WorkingMemory* memory) = 0;
  // Whether that parser has found in this revision what was indexed, which is
  // known by that revision from then on.
  virtual bool Accept(const storage::Revision& revision) = 0;

  void Next();
  void Take(const absl::StatusOr<storage::ReadResult>& result,
            std::uint64_t length);
  void Fail(std::string_view reason);

  base::WorkingMemory memory_;
  const std::shared_ptr<const storage::Root> root_;
  const std::string object_;
  const storage::ObjectVersion version_;
  const storage::ReadPurpose purpose_;
  const std::uint64_t ticket_;
  storage::ByteSource& source_;
  const Done done_;
  int scans_ = 0;
  storage::Revision seen_;
  ObjectParser* parser_ = nullptr;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_RESCAN_H_
