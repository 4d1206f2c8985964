#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_URING_SOURCE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_URING_SOURCE_FIXTURE_H_

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <functional>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/fd.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/ring.h"
#include "server/storage/local/uring_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/local/refused_call.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {

inline std::string RandomText(std::size_t length, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(length, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

// A system call that the kernel refuses to the source's threads, and the errno
// that it returns.
struct Refusal {
  int system_call;
  int error_number;
};

// A new source for each test, with files of its own.
class UringSourceTest {
 protected:
  UringSourceTest() {
    if (const absl::Status status = Ring::Probe(); !status.ok()) SKIP(status);
    scratch_.Write("a/x.jpg", "0123456789");
    root_ = *LocalRoot::Create(scratch_.Open(), scratch_.Path());
    if (!ReadsWithoutWaiting())
      SKIP(scratch_.Path() << ": read by threads anyway");
    Start();
  }

  bool ReadsWithoutWaiting() const {
    const base::Fd file(*root_->Open("a/x.jpg"));
    char byte = 0;
    const iovec part = {&byte, 1};
    return root_->on_this_host() &&
           (preadv2(file.get(), &part, 1, 0, RWF_NOWAIT) >= 0 ||
            errno == EAGAIN);
  }

  // Returns the space of a page cache into which nothing fits.
  static std::uint64_t NoRoom() { return 0; }

  // Makes a new source.
  void Start(const std::vector<Refusal>& refusals = {},
             UringSourceOptions options = {}) {
    source_.reset();
    // The ring's thread inherits the refusals from the thread that starts it.
    options.start_thread = [](const std::function<void()>& body) {
      return std::thread(body);
    };
    absl::Status created;
    std::thread([&] {
      for (const Refusal& refusal : refusals)
        RefuseSystemCall(refusal.system_call, refusal.error_number);
      auto source = UringSource::Create(options);
      created = source.status();
      if (source.ok()) source_ = *std::move(source);
    }).join();
    REQUIRE_THAT(created, tests::IsOk());
  }

  ReadRequest Request(const std::string& object = "a/x.jpg") {
    ReadRequest request;
    request.root = root_;
    request.object = object;
    if (const auto stat = root_->Stat(object); stat.ok())
      request.version = stat->version();
    request.length = request.version.size;
    return request;
  }

  absl::StatusOr<std::string> Read(ReadRequest request,
                                   Revision* seen = nullptr) {
    return ReadText(*source_, std::move(request), seen);
  }

  void ExpectError(ReadRequest request, absl::StatusCode code,
                   const std::string& reason) {
    const std::string object = request.object;
    const absl::Status status = Read(std::move(request)).status();
    CHECK_THAT(status, tests::HasCode(code));
    CHECK(std::string(status.message()) == object + ": " + reason);
  }

  // Drops files from the page cache, and reads them all.
  void ReadManyColdFiles() {
    constexpr int kFiles = 50;
    if (contents_.empty()) WriteFiles(kFiles);
    for (int i = 0; i < kFiles; ++i) {
      const base::Fd file(
          open(scratch_.Path(ColdName(i)).c_str(), O_RDONLY | O_CLOEXEC));
      REQUIRE(posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
    }
    std::latch done(kFiles);
    std::vector<absl::Status> statuses(kFiles);
    std::vector<char> are_right(kFiles);
    std::vector<ReadRequest> requests;
    for (int i = 0; i < kFiles; ++i) {
      requests.push_back(Request(ColdName(i)));
      // Some requests have ranges with odd begins and ends.
      if (i % 3 == 1) {
        requests.back().offset = 5001;
        requests.back().length -= 5101;
      }
      requests.back().done = [&, i](absl::StatusOr<ReadResult> result) {
        statuses[i] = result.status();
        // The bytes are checked here, because the next read reuses their
        // buffer.
        are_right[i] = result.ok() && IsOfColdFile(i, *result);
        done.count_down();
      };
    }
    source_->Read(absl::MakeSpan(requests));
    done.wait();
    for (int i = 0; i < kFiles; ++i) {
      CAPTURE(i);
      REQUIRE_THAT(statuses[i], tests::IsOk());
      CHECK(are_right[i] != 0);
    }
  }

  // Whether a result has the bytes that ReadManyColdFiles requested.
  bool IsOfColdFile(int i, const ReadResult& result) const {
    const std::string text(result.bytes.span().begin(),
                           result.bytes.span().end());
    return text == (i % 3 == 1
                        ? contents_[i].substr(5001, contents_[i].size() - 5101)
                        : contents_[i]);
  }

  const ScratchDir scratch_;
  std::shared_ptr<const LocalRoot> root_;
  std::unique_ptr<UringSource> source_;

 private:
  static std::string ColdName(int number) {
    return "cold/" + std::to_string(number);
  }
  void WriteFiles(int count) {
    for (int i = 0; i < count; ++i) {
      contents_.push_back(RandomText(10'007 * i, i));
      scratch_.Write(ColdName(i), contents_.back());
    }
    // The page cache drops only pages that are on the disk.
    const base::Fd folder(open(scratch_.Path().c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(syncfs(folder.get()) == 0);
  }

  std::vector<std::string> contents_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_URING_SOURCE_FIXTURE_H_
