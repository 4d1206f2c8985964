#include "server/storage/local/writer_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <memory>

#include "server/base/fd.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

class WriterLockTest : public ::testing::Test {
 protected:
  WriterLockTest() { scratch_.Write("a.h5", "rows"); }

  bool IsLocked() { return *IsLockedByWriter(*root_, "a.h5"); }

  // The lock goes with the descriptor.
  base::Fd Locked(int operation) {
    base::Fd file(open(scratch_.Path("a.h5").c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(flock(file.get(), operation | LOCK_NB), 0);
    return file;
  }

  ScratchDir scratch_;
  const std::shared_ptr<const LocalRoot> root_ =
      *LocalRoot::Create(scratch_.Open(), scratch_.Path());
};

TEST_F(WriterLockTest, IsSeenWhileItIsHeld) {
  EXPECT_FALSE(IsLocked());
  {
    const base::Fd writer = Locked(LOCK_EX);
    EXPECT_TRUE(IsLocked());
  }
  EXPECT_FALSE(IsLocked());
}

TEST_F(WriterLockTest, IsNotThatOfReaders) {
  const base::Fd reader = Locked(LOCK_SH);
  EXPECT_FALSE(IsLocked());
}

TEST_F(WriterLockTest, CanBeTakenAfterALook) {
  EXPECT_FALSE(IsLocked());
  Locked(LOCK_EX);
}

TEST_F(WriterLockTest, OfAFileThatIsNotThere) {
  const auto locked = IsLockedByWriter(*root_, "b.h5");
  EXPECT_TRUE(absl::IsNotFound(locked.status())) << locked.status();
}

}  // namespace
}  // namespace forebay::storage::local
