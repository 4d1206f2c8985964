// Marks of files: a program that writes through a mapping changes a file
// without a new time.

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
constexpr std::uint64_t kMarkOffset = 4096 + 8;

// The mark is a number at a fixed place.
class MarkedLayout final : public ObjectLayout {
 public:
  std::optional<std::uint64_t> FindMark(const ReadPart& read) const override {
    std::uint64_t mark = 0;
    ++looks;
    if (!read(kMarkOffset,
              {reinterpret_cast<std::uint8_t*>(&mark), sizeof(mark)}))
      return std::nullopt;
    return mark;
  }
  void LookAgain(const ReadRequest&, ByteSource&,
                 std::function<void(absl::StatusOr<Revision>)>) const override {
    FAIL_CHECK("");
  }

  mutable int looks = 0;
};

// A mapping of a file that was written through already: the kernel notes the
// time of a page's first write alone.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const base::Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED, file.get(), 0);
    CHECK(mapped != MAP_FAILED);
    bytes_ = static_cast<std::uint8_t*>(mapped);
    SetMark(1);
    Write(0, 'a');
  }
  ~Mapping() { munmap(bytes_, kBytes); }

  void SetMark(std::uint64_t mark) {
    std::memcpy(bytes_ + kMarkOffset, &mark, sizeof(mark));
  }
  void Write(std::size_t offset, char value) {
    bytes_[offset] = static_cast<std::uint8_t>(value);
  }

 private:
  std::uint8_t* bytes_ = nullptr;
};

class MarkTest : public UringSourceTest {
 protected:
  MarkTest() { scratch_.Write("marked", std::string(kBytes, 'x')); }

  // The first bytes, of the version that has that mark.
  ReadRequest Marked(std::uint64_t mark, std::uint64_t length = 4) {
    ReadRequest request = Request("marked");
    request.version.revision.mark = mark;
    request.layout = layout_;
    request.length = length;
    return request;
  }

  void ExpectChanged(const ReadRequest& request) {
    const absl::Status status = Read(request).status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
    CHECK_THAT(status.message(),
               Contains("marked: was replaced or changed since"));
  }

  // Reads before and after a change that no time tells of.
  void TellsOfAChange(std::uint64_t length) {
    Mapping mapping(scratch_.Path("marked"));
    ReadRequest request = Marked(1, length);
    Revision seen;
    const std::string before = *Read(request, &seen);
    CHECK(before.substr(0, 4) == "axxx");
    CHECK(seen == request.version.revision);
    mapping.SetMark(2);
    mapping.Write(0, 'b');
    ExpectChanged(request);
    ExpectChanged(Marked(1, length));
    CHECK(Read(Marked(2, length))->substr(0, 4) == "bxxx");
    // Without a mark, the file's times alone count.
    CHECK(Read(Marked(0, length))->substr(0, 4) == "bxxx");
    CHECK(layout_->looks > 2);
  }

  const std::shared_ptr<MarkedLayout> layout_ =
      std::make_shared<MarkedLayout>();
};

TEST_CASE_METHOD(MarkTest,
                 "The io_uring ring tells of a change of a file's mark",
                 "[local][mark]") {
  TellsOfAChange(4);
}

TEST_CASE_METHOD(
    MarkTest,
    "Threads of the io_uring source tell of a change of a file's mark",
    "[local][mark]") {
  // They read what would wait for the disk.
  Start({{SYS_preadv2, EAGAIN}});
  TellsOfAChange(4);
}

TEST_CASE_METHOD(MarkTest,
                 "Reads past the page cache tell of a change of a file's mark",
                 "[local][mark]") {
  Start({}, {.page_cache_room = NoRoom, .pool = {}});
  ReadManyColdFiles();
  TellsOfAChange(100'000);
  Start({{SYS_preadv2, EAGAIN}}, {.page_cache_room = NoRoom, .pool = {}});
  ReadManyColdFiles();
  TellsOfAChange(100'000);
}

TEST_CASE_METHOD(MarkTest,
                 "A file's mark that cannot be read counts as another mark",
                 "[local][mark]") {
  scratch_.Write("marked", "short");
  ExpectChanged(Marked(1));
}

}  // namespace
}  // namespace forebay::storage::local
