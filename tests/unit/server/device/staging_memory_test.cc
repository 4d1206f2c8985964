#include "server/device/staging_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "server/base/fd.h"
#include "tests/unit/server/device/fake_device.h"

namespace forebay::device {
namespace {

constexpr std::uint64_t kBytes = 8192;

// Another process's mapping of shared memory, which keeps the descriptor.
class Other {
 public:
  ~Other() {
    if (data_ != nullptr) munmap(data_, kBytes);
  }

  std::shared_ptr<const void> Share(const StagingMemory& memory) {
    fd_ = base::Fd(fcntl(memory.fd(), F_DUPFD_CLOEXEC, 0));
    data_ = static_cast<std::uint8_t*>(Map());
    EXPECT_NE(data_, MAP_FAILED);
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

TEST(StagingMemoryTest, OthersWriteWhatTheyMappedInTime) {
  FakeDevice device{0};
  Other other;
  auto memory = *StagingMemory::Create(device.gpu, /*numa_node=*/-1, kBytes - 1,
                                       /*has_writers=*/true);
  EXPECT_EQ(memory->bytes(), kBytes);
  ASSERT_TRUE(memory->Seal(other.Share(*memory)).ok());
  EXPECT_EQ(memory->fd(), -1);
  other.data()[kBytes - 1] = 7;
  EXPECT_EQ(memory->data()[kBytes - 1], 7);
  EXPECT_EQ(other.Map(), MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(ftruncate(other.fd(), 0), 0) << "a page that is gone is a fault";
  EXPECT_EQ(other.sharing(), 1);
  memory = nullptr;
  EXPECT_EQ(other.sharing(), 0);
}

TEST(StagingMemoryTest, IsItsProcesssAloneIfNobodySharesIt) {
  FakeDevice device{0};
  const auto memory =
      *StagingMemory::Create(device.gpu, /*numa_node=*/-1, kBytes);
  memory->data()[kBytes - 1] = 7;
  EXPECT_EQ(memory->fd(), -1);
  EXPECT_EQ(memory->gpu(), device.gpu.get());
}

}  // namespace
}  // namespace forebay::device
