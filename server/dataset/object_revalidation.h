#ifndef FOREBAY_SERVER_DATASET_OBJECT_REVALIDATION_H_
#define FOREBAY_SERVER_DATASET_OBJECT_REVALIDATION_H_

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

// Parses an object again if nothing but its ctime has changed since it was
// indexed. ObjectLayout::Revalidate starts this. The parsing is a chain of
// reads, each started when the read before it is done. The first read accepts
// any present revision of the object. If a later read finds another revision,
// the parsing begins anew.
//
// Used by one thread at a time. The read in flight owns this object. Never
// blocks. Errors are those of ObjectLayout::Revalidate. RESOURCE_EXHAUSTED: the
// budget has no room for the memory that the parser counts.
class ObjectRevalidation
    : public std::enable_shared_from_this<ObjectRevalidation> {
 public:
  using Done = std::function<void(absl::StatusOr<storage::Revision>)>;

  // `read` is the read that failed. `budget` and `source` outlive this object.
  // `what` names the work in the budget's errors.
  ObjectRevalidation(const storage::ReadRequest& read,
                     storage::ByteSource& source, base::MemoryBudget* budget,
                     std::string what, Done done);
  virtual ~ObjectRevalidation() = default;

  // Starts to parse the object from its beginning. `done` is called at the end
  // of the chain, perhaps before Begin returns.
  void Begin();

 protected:
  // Returns the name of the object, and the version that the failed read asked
  // for.
  const std::string& object() const { return object_; }
  const storage::ObjectVersion& version() const { return version_; }

 private:
  // Makes a new parser, which lives until the next call of Parse, or as long as
  // this object. An error says that the object differs from what was indexed.
  virtual absl::StatusOr<ObjectParser*> Parse(base::WorkingMemory* memory) = 0;
  // Returns whether the parser found what was indexed. The parser has read the
  // revision `revision` of the object. If it found the same, records `revision`
  // in the index, and later reads ask for it.
  virtual bool Accept(const storage::Revision& revision) = 0;

  // Starts the next read, or ends the chain when the parser needs no more.
  void Next();
  // Parses the result of a read of `length` bytes.
  void Take(const absl::StatusOr<storage::ReadResult>& result,
            std::uint64_t length);
  // Ends the chain with FAILED_PRECONDITION.
  void Fail(std::string_view reason);

  base::WorkingMemory memory_;
  const std::shared_ptr<const storage::Root> root_;
  const std::string object_;
  const storage::ObjectVersion version_;
  const storage::ReadPurpose purpose_;
  const std::uint64_t ticket_;
  storage::ByteSource& source_;
  const Done done_;
  int scans_ = 0;               // how often Begin was called
  storage::Revision revision_;  // of the object, as the last read found it
  ObjectParser* parser_ = nullptr;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_REVALIDATION_H_
