#include "server/base/fd.h"

#include <fcntl.h>

#include <utility>

#include "tests/catch/catch.h"

namespace forebay::base {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

int OpenNull() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST_CASE("An Fd closes its descriptor once", "[base][fd]") {
  const int raw = OpenNull();
  {
    const Fd fd(raw);
    CHECK(fd);
    CHECK(fd.get() == raw);
    CHECK(IsOpen(raw));
  }
  CHECK_FALSE(IsOpen(raw));
  CHECK_FALSE(Fd());
}

TEST_CASE("An Fd moves ownership of its descriptor", "[base][fd]") {
  const int first = OpenNull();
  const int second = OpenNull();
  Fd a(first);
  Fd b(std::move(a));
  CHECK_FALSE(a);  // NOLINT(bugprone-use-after-move): this is tested
  Fd c(second);
  c = std::move(b);
  CHECK_FALSE(IsOpen(second));
  CHECK(c.get() == first);
  Fd& same = c;
  c = std::move(same);
  CHECK(IsOpen(first));
}

TEST_CASE("An Fd lets its descriptor go", "[base][fd]") {
  Fd fd(OpenNull());
  const int raw = fd.Release();
  CHECK_FALSE(fd);
  CHECK(IsOpen(raw));
  Fd again(raw);
  again.Close();
  CHECK_FALSE(IsOpen(raw));
  again.Close();
}

}  // namespace
}  // namespace forebay::base
