#include "server/storage/local/writer_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <memory>

#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using tests::HasCode;

class WriterLockTest {
 protected:
  WriterLockTest() { scratch_.Write("a.h5", "rows"); }

  bool IsLocked() { return *IsLockedByWriter(*root_, "a.h5"); }

  // Returns a descriptor that holds a lock on the file.
  base::Fd Locked(int operation) {
    base::Fd file(open(scratch_.Path("a.h5").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(flock(file.get(), operation | LOCK_NB) == 0);
    return file;
  }

  ScratchDir scratch_;
  const std::shared_ptr<const LocalRoot> root_ =
      *LocalRoot::Create(scratch_.Open(), scratch_.Path());
};

TEST_CASE_METHOD(WriterLockTest, "A writer's lock is seen while it is held",
                 "[local][writer_lock]") {
  CHECK_FALSE(IsLocked());
  {
    const base::Fd writer = Locked(LOCK_EX);
    CHECK(IsLocked());
  }
  CHECK_FALSE(IsLocked());
}

TEST_CASE_METHOD(WriterLockTest,
                 "A reader's lock is not taken for a writer's lock",
                 "[local][writer_lock]") {
  const base::Fd reader = Locked(LOCK_SH);
  CHECK_FALSE(IsLocked());
}

TEST_CASE_METHOD(WriterLockTest,
                 "A writer's lock can be taken after a look for it",
                 "[local][writer_lock]") {
  CHECK_FALSE(IsLocked());
  Locked(LOCK_EX);
}

TEST_CASE_METHOD(WriterLockTest,
                 "A look for a writer's lock tells of a file that is not there",
                 "[local][writer_lock]") {
  const auto locked = IsLockedByWriter(*root_, "b.h5");
  CHECK_THAT(locked, HasCode(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace forebay::storage::local
