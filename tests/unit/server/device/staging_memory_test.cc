#include "server/device/staging_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/device/fake_device.h"

namespace forebay::device {
namespace {

using tests::IsOk;

constexpr std::uint64_t kBytes = 8192;

// A mapping of shared memory as in another process. The object also holds the
// descriptor.
class Other {
 public:
  ~Other() {
    if (data_ != nullptr) munmap(data_, kBytes);
  }

  std::shared_ptr<const void> Share(const StagingMemory& memory) {
    fd_ = base::Fd(fcntl(memory.fd(), F_DUPFD_CLOEXEC, 0));
    data_ = static_cast<std::uint8_t*>(Map());
    CHECK(data_ != MAP_FAILED);
    ++sharing_;
    return {&sharing_, [this](const void*) { --sharing_; }};
  }
  void* Map() const {
    return mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(),
                0);
  }
  int fd() const { return fd_.get(); }
  std::uint8_t* data() const { return data_; }
  int sharing() const { return sharing_; }

 private:
  base::Fd fd_;
  std::uint8_t* data_ = nullptr;
  int sharing_ = 0;
};

TEST_CASE(
    "Staging memory is written only by others that mapped it before it was "
    "sealed",
    "[device][staging_memory]") {
  FakeDevice device{0};
  Other other;
  auto memory = *StagingMemory::Create(device.gpu, /*numa_node=*/-1, kBytes - 1,
                                       /*has_writers=*/true);
  CHECK(memory->bytes() == kBytes);
  REQUIRE_THAT(memory->Seal(other.Share(*memory)), IsOk());
  CHECK(memory->fd() == -1);
  other.data()[kBytes - 1] = 7;
  CHECK(memory->data()[kBytes - 1] == 7);
  CHECK(other.Map() == MAP_FAILED);
  CHECK(errno == EPERM);
  UNSCOPED_INFO("a page that is gone is a fault");
  CHECK(ftruncate(other.fd(), 0) != 0);
  CHECK(other.sharing() == 1);
  memory = nullptr;
  CHECK(other.sharing() == 0);
}

TEST_CASE("Staging memory is its process's alone if nobody shares it",
          "[device][staging_memory]") {
  FakeDevice device{0};
  const auto memory =
      *StagingMemory::Create(device.gpu, /*numa_node=*/-1, kBytes);
  memory->data()[kBytes - 1] = 7;
  CHECK(memory->fd() == -1);
  CHECK(memory->gpu() == device.gpu.get());
}

}  // namespace
}  // namespace forebay::device
