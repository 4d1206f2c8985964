// Tests of transaction ids in files. A program that writes through a mapping
// changes a file without changing its modification time.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/base/fd.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/local_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/local/uring_source_fixture.h"

namespace forebay::storage::local {
namespace {

using tests::Contains;
using tests::HasCode;

constexpr std::size_t kBytes = 1 << 20;
constexpr std::uint64_t kTransactionIdOffset = 4096 + 8;

// A layout whose transaction id is a number at a fixed offset.
class TransactionLayout final : public ObjectLayout {
 public:
  std::optional<std::uint64_t> FindTransactionId(
      const ReadPart& read) const override {
    std::uint64_t transaction_id = 0;
    ++looks;
    if (!read(kTransactionIdOffset,
              {reinterpret_cast<std::uint8_t*>(&transaction_id),
               sizeof(transaction_id)}))
      return std::nullopt;
    return transaction_id;
  }
  void Revalidate(
      const ReadRequest&, ByteSource&,
      std::function<void(absl::StatusOr<Revision>)>) const override {
    FAIL_CHECK("");
  }

  mutable int looks = 0;
};

// A mapping of a file, of which every page was already written. The kernel sets
// the file's time only at the first write to a page.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const base::Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED, file.get(), 0);
    CHECK(mapped != MAP_FAILED);
    bytes_ = static_cast<std::uint8_t*>(mapped);
    SetTransactionId(1);
    Write(0, 'a');
  }
  ~Mapping() { munmap(bytes_, kBytes); }

  void SetTransactionId(std::uint64_t transaction_id) {
    std::memcpy(bytes_ + kTransactionIdOffset, &transaction_id,
                sizeof(transaction_id));
  }
  void Write(std::size_t offset, char value) {
    bytes_[offset] = static_cast<std::uint8_t>(value);
  }

 private:
  std::uint8_t* bytes_ = nullptr;
};

class TransactionIdTest : public UringSourceTest {
 protected:
  TransactionIdTest() { scratch_.Write("database", std::string(kBytes, 'x')); }

  // Returns a request for the first bytes of the version with the transaction
  // id `transaction_id`.
  ReadRequest AtTransaction(std::uint64_t transaction_id,
                            std::uint64_t length = 4) {
    ReadRequest request = Request("database");
    request.version.revision.transaction_id = transaction_id;
    request.layout = layout_;
    request.length = length;
    return request;
  }

  void ExpectChanged(const ReadRequest& request) {
    const absl::Status status = Read(request).status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
    CHECK_THAT(status.message(),
               Contains("database: was replaced or changed since"));
  }

  // Reads before and after a change that leaves the file's times unchanged.
  void TellsOfAChange(std::uint64_t length) {
    Mapping mapping(scratch_.Path("database"));
    ReadRequest request = AtTransaction(1, length);
    Revision seen;
    const std::string before = *Read(request, &seen);
    CHECK(before.substr(0, 4) == "axxx");
    CHECK(seen == request.version.revision);
    mapping.SetTransactionId(2);
    mapping.Write(0, 'b');
    ExpectChanged(request);
    ExpectChanged(AtTransaction(1, length));
    CHECK(Read(AtTransaction(2, length))->substr(0, 4) == "bxxx");
    // Without a transaction id, only the file's times show changes.
    CHECK(Read(AtTransaction(0, length))->substr(0, 4) == "bxxx");
    CHECK(layout_->looks > 2);
  }

  const std::shared_ptr<TransactionLayout> layout_ =
      std::make_shared<TransactionLayout>();
};

TEST_CASE_METHOD(
    TransactionIdTest,
    "The io_uring ring tells of a change of a file's transaction id",
    "[local][transaction_id]") {
  TellsOfAChange(4);
}

TEST_CASE_METHOD(TransactionIdTest,
                 "Threads of the io_uring source tell of a change of a file's "
                 "transaction id",
                 "[local][transaction_id]") {
  // The kernel answers that reads would wait for the disk, so threads make the
  // reads.
  Start({{SYS_preadv2, EAGAIN}});
  TellsOfAChange(4);
}

TEST_CASE_METHOD(
    TransactionIdTest,
    "Reads past the page cache tell of a change of a file's transaction id",
    "[local][transaction_id]") {
  Start({}, {.page_cache_room = NoRoom, .pool = {}});
  ReadManyColdFiles();
  TellsOfAChange(100'000);
  Start({{SYS_preadv2, EAGAIN}}, {.page_cache_room = NoRoom, .pool = {}});
  ReadManyColdFiles();
  TellsOfAChange(100'000);
}

TEST_CASE_METHOD(
    TransactionIdTest,
    "A file's transaction id that cannot be read counts as another mark",
    "[local][transaction_id]") {
  scratch_.Write("database", "short");
  ExpectChanged(AtTransaction(1));
}

}  // namespace
}  // namespace forebay::storage::local
