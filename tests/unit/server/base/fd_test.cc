#include "server/base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace forebay::base {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

int OpenNull() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(FdTest, ClosesOnce) {
  const int raw = OpenNull();
  {
    const Fd fd(raw);
    EXPECT_TRUE(fd);
    EXPECT_EQ(fd.get(), raw);
    EXPECT_TRUE(IsOpen(raw));
  }
  EXPECT_FALSE(IsOpen(raw));
  EXPECT_FALSE(Fd());
}

TEST(FdTest, MovesOwnership) {
  const int first = OpenNull();
  const int second = OpenNull();
  Fd a(first);
  Fd b(std::move(a));
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): that is the question
  Fd c(second);
  c = std::move(b);
  EXPECT_FALSE(IsOpen(second));
  EXPECT_EQ(c.get(), first);
  Fd& same = c;
  c = std::move(same);
  EXPECT_TRUE(IsOpen(first));
}

TEST(FdTest, LetsGo) {
  Fd fd(OpenNull());
  const int raw = fd.Release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(IsOpen(raw));
  Fd again(raw);
  again.Close();
  EXPECT_FALSE(IsOpen(raw));
  again.Close();
}

}  // namespace
}  // namespace forebay::base
